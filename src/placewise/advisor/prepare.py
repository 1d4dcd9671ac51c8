"""The first steps of advice: read a case, compile it, run it and trace it for one machine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from placewise.advisor.timing import is_timed
from placewise.choose import Legality, chunked_placements, legal_spaces
from placewise.errors import CaseError
from placewise.executor import DEFAULT_LIMIT, Execution, execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.source import SourceView
from placewise.kernel.target import target_for
from placewise.machine import Machine
from placewise.memory import Occupancy, Profile, Profiler, occupancy
from placewise.model.evidence.calibration import NONE, Corrections
from placewise.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case that has been run and traced for a machine."""

    case: Case
    """With its arguments under the parameters' names and the machine's compiler target."""
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
    """What a recorded profile of the present form says of its predicted counters."""


def prepare(
    case: Case,
    machine: Machine,
    progress: Progress = silent,
    *,
    instruction_limit: int = DEFAULT_LIMIT,
) -> Prepared:
    """Compile and run ``case``, trace a sample of its blocks, and say what may move where.

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

    profiler = Profiler(case.launch, machine, resident, view, case.inputs)
    execution = execute(
        kernel,
        case.launch,
        case.inputs,
        consumer=profiler,
        trace_blocks=profiler.trace_blocks,
        progress=lambda done, total: progress("running and tracing", done, total),
        instruction_limit=instruction_limit,
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
        # The time of the form itself tells what lower occupancy costs, where there is one.
        allow_lower_occupancy=is_timed(machine),
        read_only_loads=read_only_loads(profile),
    )
    legality = replace(legality, chunked=chunked_placements(view, machine, execution, legality))
    notes = (*machine.warnings, *([stand_in] if stand_in else []), *read.notes)
    return Prepared(
        case, machine, view, kernel, resident, execution, profile, legality,
        int(profiler.trace_blocks.sum()), notes,
    )  # fmt: skip


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
