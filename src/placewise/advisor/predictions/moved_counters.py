"""Counters of a case with some of its arrays in other memories, beside those of the case as it
is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from placewise.advisor.documents.counters import counters_document
from placewise.advisor.explain.hint_notes import fate_words
from placewise.advisor.predictions.predicted_counters import CounterReport, predict_counters
from placewise.cases import CaseLike, load_case
from placewise.choose import in_words
from placewise.choose.capacity import bytes_per_block
from placewise.dataframe import dataframe
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.executor.compare import compare
from placewise.kernel.binary.surviving_hints import hint_fates
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import ReadCase, read_case
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.source import SourceView
from placewise.kernel.target import for_machine
from placewise.machine import Machine, MachineLike, load_machine
from placewise.machine.machine import standard_memory
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
from placewise.notebook import ShownInNotebooks
from placewise.progress import Progress, silent
from placewise.rewriter import rewrite
from placewise.space import Placement, Way

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class MovedCounters(ShownInNotebooks):
    """Counters of a launch as it is, and with some of its arrays in other memories."""

    present: CounterReport
    """Counters of the launch as it is."""
    moved: CounterReport
    """Counters with the arrays of ``moved.moves`` in other memories."""

    def _in_short(self) -> str:
        moves = ", ".join(f"{array} → {space}" for array, space in self.moved.moves)
        run = self.present.run
        return (
            f"{run.kernel.name} on {run.machine.name}, as it is and with {moves}: "
            f"{len(self.moved.metrics)} counters; to_dataframe() lists them"
        )

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise counters --place … --json`` prints."""
        return counters_document(self.moved, present=self.present)

    def to_dataframe(self) -> DataFrame:
        """A row for each counter: ``counter``, ``present``, ``moved``; 0 where only the other form
        has the counter."""
        before = {m.name: m.value for m in self.present.metrics}
        after = {m.name: m.value for m in self.moved.metrics}
        return dataframe(
            [
                {"counter": name, "present": before.get(name, 0.0), "moved": after.get(name, 0.0)}
                for name in {**before, **after}
            ]
        )


# Public and keyword-only: one parameter for each option.
def predict_moved_counters(
    case: CaseLike,
    machine: MachineLike,
    moves: Mapping[str, str],
    *,
    retarget: bool = False,
    nvrtc: str | None = None,
    records: int = RECORDS,
    lines: int = 0,
    instruction_limit: int | None = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> MovedCounters:
    """Predict the counters of ``case`` on ``machine`` as it is, and with arrays moved.

    ``moves`` maps names of arrays to names of the machine's memory spaces, such as
    ``{"x": "texture"}``. The kernel is rewritten with these moves, compiled and executed; a note of
    the result says whether its outputs are the same bits. With ``retarget`` nothing is rewritten:
    the accesses of the present code are counted as those of the other memory (section III-E of
    Huang and Li 2017), which also works for PTX and Numba functions.

    ``nvrtc`` replaces the case's compiler version. About ``records`` warp accesses are simulated,
    and the first ``lines`` lines asked of L2 are kept in the launches' traffic. A warp that
    executes more than ``instruction_limit`` instructions is taken to be endless. ``progress`` is
    called with what is being done, how much of it is done, and how much there is (0 where unknown).
    Raises UnsupportedError where the source cannot be rewritten so, and other PlacewiseErrors for
    bad input.
    """
    loaded = load_case(case)
    known = load_machine(machine)
    check_spaces(moves, known)
    read = read_case(for_machine(loaded, known, nvrtc)[0])
    check_arrays(moves, read.case)

    def counted(which: Case, seen_in: Mapping[str, str] | None = None) -> CounterReport:
        return predict_counters(
            which,
            known,
            seen_in=seen_in,
            records=records,
            lines=lines,
            instruction_limit=instruction_limit,
            progress=progress,
        )

    if retarget:
        present = counted(read.case)
        _check_stores(moves, known, present)
        _check_capacity(moves, known, read.case)
        _check_tiles(moves, known, read)
        return MovedCounters(present, _retargeted(counted(read.case, moves), moves, known))
    if loaded.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {loaded.language}, only CUDA C++ is rewritten here",
            where="--place",
            hint="--retarget (retarget=True in Python) counts its accesses as those of the other "
            "memory",
        )
    written = rewrite(read.case, Placement.of(moves), known, read.view)
    present, moved = counted(read.case), counted(written.case)
    notes = [_comparison(present, moved)]
    fates = hint_fates(moved.run.kernel)
    notes += [fate_words(fates)] if fates else []
    return MovedCounters(
        present, replace(moved, moves=tuple(moves.items()), notes=(*moved.notes, *notes))
    )


def check_spaces(moves: Mapping[str, str], machine: Machine) -> None:
    """Raise CaseError, with the nearest name, where ``moves`` (space by array) names a space that
    the machine does not have."""
    spaces = [space.name for space in machine.spaces]
    for array, space in moves.items():
        if space not in spaces:
            raise CaseError(
                f"{machine.name} has no space '{space}'",
                where=f"--place {array}={space}",
                hint=nearest(space, spaces),
            )


def check_arrays(moves: Mapping[str, str], case: Case) -> None:
    """Raise CaseError, with the nearest name, where ``moves`` (space by array) names an array that
    the kernel does not have."""
    arrays = [a.name for a in _arrays(case)]
    shared = dict(case.inputs.pointer_arguments)
    for array, space in moves.items():
        if array in shared:
            raise CaseError(
                f"it is a pointer into '{shared[array]}', whose memory does not move",
                where=f"--place {array}={space}",
            )
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
    """Raises CaseError where memory that the host fills, such as constant memory, cannot hold the
    moved arrays beside those that the source has there already."""
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


def _check_tiles(moves: Mapping[str, str], machine: Machine, read: ReadCase) -> None:
    """Raises CaseError where the arrays that move into a block's own memory do not fit there: their
    tiles, or whole arrays where the source shows no tile."""
    limited = [s for s in machine.spaces if s.way.facts.per_block]
    for memory in dict.fromkeys(space.levels[-1] for space in limited):
        spaces = {s.name for s in limited if s.levels[-1] == memory}
        moved = [a for a in _arrays(read.case) if moves.get(a.name) in spaces]
        most = bytes_per_block(machine, memory)
        own = memory == standard_memory(machine, Way.KERNEL_BUFFER)
        used = read.case.launch.shared_bytes + read.kernel.static_shared_bytes if own else 0
        taken = sum(_bytes_of_block(a, read.view) for a in moved)
        if moved and most is not None and taken + used > most:
            beside = f" beside {in_words(used)} in use" if used else ""
            raise CaseError(
                f"{in_words(taken)} in {moves[moved[0].name]} memory{beside}; a block may have "
                f"{in_words(most)}",
                where="--place",
                hint="move fewer arrays there, or leave out --retarget (retarget=True in Python) "
                "where loops have tiles",
            )


def _bytes_of_block(argument: ArrayArgument, view: SourceView) -> int:
    """Bytes of an array that one block keeps in memory of its own."""
    use = next((u for u in view.arrays if u.name == argument.name), None)
    if use is None or use.tile is None:
        return argument.data.nbytes
    return use.tile.bytes(use.parameter.element_bytes)


def _retargeted(report: CounterReport, moves: Mapping[str, str], machine: Machine) -> CounterReport:
    """``report`` with the moved arrays' accesses counted as those of their new memory. The
    instructions that compute addresses for that memory are added to the totals, but not to any
    class of instructions."""
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
    note = (
        "accesses of the present code, counted as those of the other memory, with the "
        "instructions that compute addresses there"
    )
    if "shared" in memories.values():
        note += "; filling tiles is not counted"
    return replace(report, run=run, metrics=metrics, notes=(*report.notes, note))


def _arrays(case: Case) -> list[ArrayArgument]:
    return [a for a in case.inputs.arguments if isinstance(a, ArrayArgument)]


def _comparison(present: CounterReport, moved: CounterReport) -> str:
    """A note on whether both runs computed the same outputs."""
    before, after = present.run.execution, moved.run.execution
    left = dict(after.outputs)
    for name, data in before.outputs:
        if name in left and not compare(name, data, left[name]).identical:
            return f"the rewritten kernel computes something else: {name} differs"
    return "the rewritten kernel's outputs are bit-identical"
