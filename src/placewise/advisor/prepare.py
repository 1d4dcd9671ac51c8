"""The first steps of advice: read a case, compile it, run it and trace it for one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from placewise.advisor.forms.timing import is_timed
from placewise.choose import Legality, chunked_placements, legal_spaces
from placewise.errors import CaseError
from placewise.executor import DEFAULT_LIMIT, Execution, execute
from placewise.executor.independent_blocks import blocks_run_alone
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.source import SourceView
from placewise.kernel.target import target_for
from placewise.machine import Machine
from placewise.memory import Occupancy, Profile, Profiler, occupancy
from placewise.memory.reuse.active import ActiveProfiler, Looked
from placewise.model.evidence.calibration import NONE, Corrections
from placewise.progress import Progress, silent


class Profiling(StrEnum):
    """How much of a launch is traced."""

    FULL = "full"
    """All blocks, as far as memory allows."""
    ACTIVE = "active"
    """A few blocks, and more as long as they change the profile
    (:mod:`placewise.memory.reuse.active`)."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case that has been run and traced for a machine."""

    case: Case
    """The case, with arguments named after the kernel's parameters, and compiled for the
    machine."""
    machine: Machine
    view: SourceView
    kernel: Kernel
    occupancy: Occupancy
    execution: Execution
    profile: Profile
    legality: Legality
    traced_blocks: int
    notes: tuple[str, ...]
    corrected: Corrections = NONE
    """Factors for predicted counters, from recorded counters of the present form."""
    looked: Looked | None = None
    """What active profiling traced; None for a full profile."""


def prepare(
    case: Case,
    machine: Machine,
    progress: Progress = silent,
    *,
    profiling: Profiling = Profiling.FULL,
    instruction_limit: int = DEFAULT_LIMIT,
) -> Prepared:
    """Compile and run ``case``, trace a sample of its blocks, and say what may move where.

    With :attr:`Profiling.ACTIVE` only as many blocks are traced as it takes until the profile no
    longer changes.

    A warp that executes more than ``instruction_limit`` instructions is taken to be endless.

    Raises PlacewiseError subclasses: CaseError (launch or arguments do not fit the kernel or the
    machine), CompileError, UnsupportedError, ExecutionError.
    """
    check_case(case, machine.limits)
    arch, stand_in = target_for(machine.limits.compute_capability, case.options.nvrtc)
    case = replace(case, options=replace(case.options, arch=arch))
    progress("compiling", 0, 0)
    read = read_case(case)
    case, kernel, view = read.case, read.kernel, read.view
    check_case(case, machine.limits, kernel.static_shared_bytes)
    resident = _resident(case, kernel, machine)

    active = profiling is Profiling.ACTIVE and blocks_run_alone(kernel)
    kind = ActiveProfiler if active else Profiler
    profiler = kind(case.launch, machine, resident, view, case.inputs)
    run = partial(execute, kernel, case.launch, case.inputs, instruction_limit=instruction_limit)
    if isinstance(profiler, ActiveProfiler):
        progress("looking at a few blocks", 0, 0)
        learn(profiler, run)
    execution = run(
        consumer=None if active else profiler,
        trace_blocks=None if active else profiler.trace_blocks,
        progress=lambda done, total: progress("running and tracing", done, total),
    )
    progress("counting transactions and reuse", 0, 0)
    profile = profiler.profile(execution)
    legality = legal_spaces(
        view,
        machine,
        execution,
        case.inputs,
        case.launch,
        kernel,
        # Forms that are timed include the cost of lower occupancy in their time.
        allow_lower_occupancy=is_timed(machine),
        read_only_loads=read_only_loads(profile),
    )
    legality = replace(legality, chunked=chunked_placements(view, machine, execution, legality))
    notes = (*machine.warnings, *([stand_in] if stand_in else []), *read.notes)
    looked = profiler.looked if isinstance(profiler, ActiveProfiler) else None
    if looked is not None:
        notes = (*notes, looked_in_words(looked, profile))
    elif profiling is Profiling.ACTIVE:
        notes = (*notes, "profiled in full: blocks wait for each other, so a few cannot run alone")
    return Prepared(
        case, machine, view, kernel, resident, execution, profile, legality,
        int(profiler.trace_blocks.sum()), notes, looked=looked,
    )  # fmt: skip


def learn(profiler: ActiveProfiler, run: Callable[..., Execution]) -> Looked:
    """Let a profiler choose the blocks that are traced. ``run`` executes the launch and takes the
    options of :func:`placewise.executor.execute`."""
    return profiler.learn(
        lambda blocks: run(consumer=profiler, trace_blocks=profiler.trace_blocks, run_blocks=blocks)
    )


def looked_in_words(looked: Looked, profile: Profile) -> str:
    """How much active profiling traced, and how large its error is, in a sentence."""
    share = looked.accesses / profile.requests if profile.requests else 1.0
    loops = "" if looked.iterations is None else f", {looked.iterations} iterations of loops"
    limit = "" if looked.settled else ", the most that it traces"
    return (
        f"active profile: {looked.accesses:,} warp accesses traced, {share:.2%} of all "
        f"({looked.blocks:,} blocks{loops}{limit}); its reuse distances are off by an estimated "
        f"{looked.error:.1%} of the accesses"
    )


def read_only_loads(profile: Profile) -> frozenset[str]:
    """Arrays that the compiled kernel only ever loads with ``ld.global.nc``."""
    found = set()
    for array in profile.arrays:
        lines = profile.lines(array.name, profile.machine.memories[0])
        if lines and all(line.site.opcode.startswith("ld.global.nc") for line in lines):
            found.add(array.name)
    return frozenset(found)


def _resident(case: Case, kernel: Kernel, machine: Machine) -> Occupancy:
    found = occupancy(
        case.launch,
        machine,
        registers=kernel.registers,
        shared_bytes=case.launch.shared_bytes + kernel.static_shared_bytes,
    )
    if not found.blocks:
        raise CaseError(
            f"not one block fits on an SM of {machine.name}: {' and '.join(found.binding)}",
            where="launch.block",
            hint=f"the kernel takes {kernel.registers} registers per thread",
        )
    return found
