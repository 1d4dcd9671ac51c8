"""Counters of a case with some of its arrays elsewhere, beside those of the case as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from placewise.advisor.predicted_counters import CounterReport, predict_counters
from placewise.cases import load_case
from placewise.choose import in_words
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.executor.compare import compare
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.target import target_for
from placewise.machine import Machine, load_machine
from placewise.machine.msl.located import nearest
from placewise.memory.simulate.metrics.ncu_metrics import (
    LANES_PER_INSTRUCTION,
    THREAD_INSTRUCTIONS,
    WARP_INSTRUCTIONS,
    launch_metrics,
)
from placewise.memory.simulate.system import RECORDS
from placewise.model.huang_li.retarget import (
    AddressInstructions,
    address_instructions,
    memories_of,
    seen_in,
)
from placewise.progress import Progress, silent
from placewise.rewriter import rewrite
from placewise.space import Placement


@dataclass(frozen=True, eq=False)
class MovedCounters:
    """Counters of a launch as it is and with arrays moved."""

    present: CounterReport
    moved: CounterReport
    """``moved.moves`` says what is elsewhere."""


def predict_moved_counters(
    case: str | Case,
    machine: str,
    moves: Mapping[str, str],
    *,
    retarget: bool = False,
    nvrtc: str | None = None,
    records: int = RECORDS,
    instruction_limit: int | None = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> MovedCounters:
    """Counters with every array of ``moves`` in the space that it names, and without moves.

    The kernel is rewritten, compiled and executed, and its outputs are compared. With ``retarget``
    the present kernel's accesses are reckoned there instead (section III-E of Huang and Li 2017),
    as is possible for PTX and Numba functions, too. Raises PlacewiseError for bad input,
    UnsupportedError where the source cannot be rewritten so.
    """
    loaded = load_case(case)
    known = load_machine(machine)
    _check_spaces(moves, known)
    nvrtc = nvrtc or loaded.options.nvrtc
    arch, _ = target_for(known.limits.compute_capability, nvrtc)
    loaded = replace(loaded, options=replace(loaded.options, arch=arch, nvrtc=nvrtc))
    read = read_case(loaded)
    _check_arrays(moves, read.case)

    def counted(which: Case, seen_in: Mapping[str, str] | None = None) -> CounterReport:
        return predict_counters(
            which,
            machine,
            seen_in=seen_in,
            records=records,
            instruction_limit=instruction_limit,
            progress=progress,
        )

    if retarget:
        present = counted(read.case)
        _check_stores(moves, known, present)
        _check_capacity(moves, known, read.case)
        return MovedCounters(present, _retargeted(counted(read.case, moves), moves, known))
    if loaded.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {loaded.language}, only CUDA C++ is rewritten here",
            where="--place",
            hint="--retarget reckons its accesses elsewhere",
        )
    written = rewrite(read.case, Placement.of(moves), known, read.view)
    present, moved = counted(read.case), counted(written.case)
    note = _comparison(present, moved)
    return MovedCounters(
        present, replace(moved, moves=tuple(moves.items()), notes=(*moved.notes, note))
    )


def _check_spaces(moves: Mapping[str, str], machine: Machine) -> None:
    spaces = [space.name for space in machine.spaces]
    for array, space in moves.items():
        if space not in spaces:
            raise CaseError(
                f"{machine.name} has no space '{space}'",
                where=f"--place {array}={space}",
                hint=nearest(space, spaces),
            )


def _check_arrays(moves: Mapping[str, str], case: Case) -> None:
    arrays = [a.name for a in _arrays(case)]
    for array, space in moves.items():
        if array not in arrays:
            raise CaseError(
                f"the kernel has no array '{array}'",
                where=f"--place {array}={space}",
                hint=nearest(array, arrays),
            )


def _check_stores(moves: Mapping[str, str], machine: Machine, present: CounterReport) -> None:
    for array, space in moves.items():
        writable = machine.space(space).writable
        if not writable and array in present.run.execution.written:
            raise CaseError(
                "the kernel writes to it, and the memory is read-only",
                where=f"--place {array}={space}",
            )


def _check_capacity(moves: Mapping[str, str], machine: Machine, case: Case) -> None:
    """Raises CaseError where memory that the host fills cannot hold what moves there, beside what
    the source has there."""
    for space in machine.spaces:
        if not space.way.facts.host_filled:
            continue
        moved = [a.data.nbytes for a in _arrays(case) if moves.get(a.name) == space.name]
        limit = machine.levels(space.name)[-1].size_bytes
        total = sum(moved) + sum(data.nbytes for _, data in case.inputs.constants)
        if moved and limit is not None and total > limit:
            raise CaseError(
                f"{in_words(total)} in {space.name} memory; it holds {in_words(limit)}",
                where="--place",
            )


def _retargeted(report: CounterReport, moves: Mapping[str, str], machine: Machine) -> CounterReport:
    """``report`` with the moved arrays' accesses counted as those of their new memory, and with the
    instructions that their addresses take there, which no class of instructions counts."""
    memories = memories_of(machine, moves)
    run = report.run
    more = AddressInstructions()
    if run.from_machine_code:
        more = address_instructions(run, memories)
    sites = tuple(seen_in(site, memories) for site in run.traffic.sites)
    run = replace(run, traffic=replace(run.traffic, sites=sites))
    found = {m.name: m for m in launch_metrics(run, microseconds=report.microseconds)}
    of_warps = found[WARP_INSTRUCTIONS].value + more.of_warps
    of_threads = found[THREAD_INSTRUCTIONS].value + more.of_threads
    counted = {WARP_INSTRUCTIONS: of_warps, THREAD_INSTRUCTIONS: of_threads}
    if of_warps > 0.0:
        counted[LANES_PER_INSTRUCTION] = of_threads / of_warps
    metrics = tuple(m._replace(value=counted.get(m.name, m.value)) for m in found.values())
    note = "accesses of the present code reckoned elsewhere, with the instructions of their address"
    if "shared" in memories.values():
        note += "; no tile is filled"
    return replace(report, run=run, metrics=metrics, notes=(*report.notes, note))


def _arrays(case: Case) -> list[ArrayArgument]:
    return [a for a in case.inputs.arguments if isinstance(a, ArrayArgument)]


def _comparison(present: CounterReport, moved: CounterReport) -> str:
    """Whether both runs computed the same."""
    before, after = present.run.execution, moved.run.execution
    left = dict(after.outputs)
    for name, data in before.outputs:
        if name in left and not compare(name, data, left[name]).identical:
            return f"the rewritten kernel computes something else: {name} differs"
    return "the rewritten kernel's outputs are bit-identical"
