"""The first steps of advice: read a case, compile it, run it and trace it for one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.forms.timing import is_timed
from placewise.choose import Legality, chunked_placements, legal_spaces
from placewise.errors import CaseError, ExecutionError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT, Execution, execute
from placewise.executor.device_memory.fill import constant_notes
from placewise.executor.independent_blocks import blocks_run_alone
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.given_accesses import GivenAccesses
from placewise.kernel.cases.prepare_case import ReadCase, read_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.source import SourceView
from placewise.kernel.target import for_machine
from placewise.machine import Machine
from placewise.memory import Occupancy, Profile, Profiler, occupancy
from placewise.memory.reuse.given_trace import GivenProfiler
from placewise.memory.reuse.index_patterns import take_index_patterns
from placewise.memory.reuse.sampling.active import ActiveProfiler, Looked
from placewise.model.evidence.calibration import NONE, Corrections
from placewise.progress import Progress, silent

NOTHING_PROVEN = "nothing is written out or proven"
"""In notes of launches that were not run."""


class Profiling(StrEnum):
    """How much of a launch is traced."""

    FULL = "full"
    """All blocks, as far as memory allows."""
    ACTIVE = "active"
    """A few blocks, and more as long as they change the profile
    (:mod:`placewise.memory.reuse.sampling.active`)."""
    AFFINE = "affine"
    """No run: accesses follow from thread and loop numbers and scalar arguments
    (:mod:`placewise.memory.reuse.index_patterns`)."""


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
    ran: bool = True
    """The launch itself was run; False where only its profile was handed over, so that nothing can
    be proven."""
    workers: int = 1
    """Processes that write, run and time forms at the same time."""
    seconds: float = 0.0
    """How long it took to read, compile and run the present form."""


# One step after another, each of which may end with a reason of its own.
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
    longer changes. With :attr:`Profiling.AFFINE` none are: their accesses are worked out from index
    patterns, and the run only gives the results; UnsupportedError where an index depends on an
    array's contents.

    A case that brings a profile (:attr:`Case.profile`) is profiled by that: by another launch, in
    which case it is not run itself, or by recorded accesses, with which it need not be able to run.
    A warp that executes more than ``instruction_limit`` instructions is taken to be endless.

    Raises PlacewiseError subclasses: CaseError (launch or arguments do not fit the kernel or the
    machine), CompileError, UnsupportedError, ExecutionError.
    """
    check_case(case, machine.limits)
    case, stand_in = for_machine(case, machine)
    progress("compiling", 0, 0)
    read = read_case(case)
    case, kernel, view = read.case, read.kernel, read.view
    check_case(case, machine.limits, kernel.static_shared_bytes)
    resident = _resident(case, kernel, machine)
    if isinstance(case.profile, Case):
        seen = prepare(
            case.profile, machine, progress,
            profiling=profiling, instruction_limit=instruction_limit,
        )  # fmt: skip
        return _stood_in_for(seen, read, resident)

    given = case.profile if profiling is Profiling.FULL else None
    active = profiling is Profiling.ACTIVE and blocks_run_alone(kernel)
    kind = ActiveProfiler if active else GivenProfiler if given is not None else Profiler
    profiler = kind(case.launch, machine, resident, view, case.inputs)
    run = partial(
        execute, kernel, case.launch, case.inputs, instruction_limit=instruction_limit,
        with_buffers=True,
    )  # fmt: skip
    if isinstance(profiler, GivenProfiler) and given is not None:
        profiler.take(given)
    elif profiling is Profiling.AFFINE:
        progress("working out index patterns", 0, 0)
        take_index_patterns(kernel, case.launch, case.inputs, profiler)
    traced = type(profiler) is Profiler and profiling is not Profiling.AFFINE
    ran, notes = True, (*machine.warnings, *([stand_in] if stand_in else []), *read.notes)
    try:
        execution = run(
            consumer=profiler if traced else None,
            trace_blocks=profiler.trace_blocks if traced else None,
            count_by_block=active,
            progress=lambda done, total: progress("running and tracing", done, total),
        )
    except ExecutionError as error:
        error.hint = "\n  ".join(filter(None, (error.hint, read.joined)))
        raise
    except UnsupportedError as error:
        if given is None:
            raise
        ran, execution = False, _not_run(view)
        notes = (*notes, f"{NOTHING_PROVEN}: the kernel cannot be run here ({error.message})")
    if isinstance(profiler, ActiveProfiler):
        progress("looking at a few blocks", 0, 0)
        learn(profiler, run, execution.block_work)
    progress("counting transactions and reuse", 0, 0)
    profile = profiler.profile(execution if given is None else None)
    legality = _legality(read, machine, execution, profile)
    looked = profiler.looked if isinstance(profiler, ActiveProfiler) else None
    notes += constant_notes(kernel, case.inputs)
    notes += _profile_notes(profile, profiling, looked, given)
    return Prepared(
        case, machine, view, kernel, resident, execution, profile, legality,
        int(profiler.trace_blocks.sum()), notes, looked=looked, ran=ran,
    )  # fmt: skip


def _profile_notes(
    profile: Profile, profiling: Profiling, looked: Looked | None, given: GivenAccesses | None
) -> tuple[str, ...]:
    """What a profile that is not of all traced blocks rests on, in a sentence."""
    if looked is not None:
        return (looked_in_words(looked, profile),)
    if profiling is Profiling.AFFINE:
        return (patterns_in_words(profile),)
    if given is not None:
        return (given_in_words(given, profile),)
    if profiling is Profiling.ACTIVE:
        return ("profiled in full: blocks wait for each other, so a few cannot run alone",)
    return ()


def _legality(read: ReadCase, machine: Machine, execution: Execution, profile: Profile) -> Legality:
    """What may move where."""
    case = read.case
    legality = legal_spaces(
        read.view,
        machine,
        execution,
        case.inputs,
        case.launch,
        read.kernel,
        # Forms that are timed include the cost of lower occupancy in their time.
        allow_lower_occupancy=is_timed(machine),
        read_only_loads=read_only_loads(profile),
    )
    chunked = chunked_placements(read.view, machine, execution, legality)
    return replace(legality, chunked=chunked)


def _stood_in_for(seen: Prepared, read: ReadCase, resident: Occupancy) -> Prepared:
    """A case that was not run, with the profile of ``seen``, another launch of its kernel."""
    case, other = read.case, seen.case
    names = [[a.name for a in c.inputs.arrays] for c in (case, other)]
    if case.kernel != other.kernel or names[0] != names[1]:
        raise CaseError(
            f"'{other.name}' launches {other.kernel} on {', '.join(names[1])}, not {case.kernel} "
            f"on {', '.join(names[0])}",
            where=f"{case.name}: profile",
        )
    execution = replace(seen.execution, outputs=())
    note = (
        f"profiled by another launch of the kernel, '{other.name}', whose traffic is what is "
        f"predicted; {NOTHING_PROVEN}: this launch was not run"
    )
    return replace(
        seen,
        case=case,
        view=read.view,
        kernel=read.kernel,
        occupancy=resident,
        execution=execution,
        legality=_legality(read, seen.machine, execution, seen.profile),
        notes=(*seen.notes, note),
        ran=False,
    )


def _not_run(view: SourceView) -> Execution:
    """What is known of a launch without a run: which arrays the source writes."""
    return Execution(
        (),
        frozenset(use.name for use in view.arrays if use.read),
        frozenset(use.name for use in view.arrays if use.written),
        0,
        0,
        (),
        np.zeros(0, np.int64),
        0.0,
    )


def learn(
    profiler: ActiveProfiler,
    run: Callable[..., Execution],
    block_work: NDArray[np.int64] | None = None,
) -> Looked:
    """Let a profiler choose the blocks that are traced. ``run`` executes the launch and takes the
    options of :func:`placewise.executor.execute`; ``block_work`` is that of an earlier run."""
    return profiler.learn(
        lambda blocks: run(
            consumer=profiler, trace_blocks=profiler.trace_blocks, run_blocks=blocks
        ),
        block_work,
    )


def looked_in_words(looked: Looked, profile: Profile) -> str:
    """How much active profiling traced, and how large its error is, in a sentence."""
    share = looked.accesses / profile.requests if profile.requests else 1.0
    loops = "" if looked.iterations is None else f", {looked.iterations} iterations of loops"
    alone = "" if looked.units > 1 else ", not counting how other SMs differ from the one looked at"
    limit = "" if looked.settled else ", the most that it traces"
    return (
        f"active profile: {looked.accesses:,} warp accesses traced, {share:.2%} of all "
        f"({looked.blocks:,} blocks{loops}{limit}); its reuse distances are off by an estimated "
        f"{looked.error:.1%} of the accesses{alone}"
    )


def patterns_in_words(profile: Profile) -> str:
    """What a profile from index patterns rests on."""
    share = profile.sampled_requests / profile.requests if profile.requests else 1.0
    return (
        f"profile from index patterns: {profile.sampled_requests:,} warp accesses worked out "
        f"without a run, {share:.2%} of all"
    )


def given_in_words(given: GivenAccesses, profile: Profile) -> str:
    """What a profile of recorded accesses rests on."""
    return (
        f"profiled by {len(given.thread):,} accesses of threads from {given.where}, "
        f"{profile.sampled_requests:,} of warps, in {int(profile.sample.traced.sum()):,} blocks"
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
