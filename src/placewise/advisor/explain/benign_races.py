"""Arrays that threads race on without harm, and what a separate copy for their readers would gain.

Chen et al. 2017 (section 5.3) make a copy of such an array, the levels of a breadth-first search,
for the threads that only read it; the copy may be in memory that kernels cannot write to. Placewise
finds such arrays and says what the copy would gain, but does not make it: only someone who knows
the algorithm can tell whether a race is benign on other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from placewise.advisor.explain.gain import chance, speedup, speedup_range
from placewise.advisor.forms.device_copy import device_copy_ns
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.executor.check.finding import Finding, Kind, Severity
from placewise.executor.compare import compare
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.kernel import Kernel
from placewise.model import Ratio
from placewise.model.uncertainty import ratio_of_sums
from placewise.progress import Progress, silent
from placewise.rewriter import rewrite
from placewise.rewriter.ways.duplicate import Duplicated, duplicate_for_readers
from placewise.space import Placement

CHECKED_INSTRUCTIONS = 20_000_000
"""Most thread instructions of a run that are checked for races; this takes about two seconds."""


@dataclass(frozen=True, eq=False)
class ReadersCopy:
    """A form in which loads of an array read a copy that was made before the launch."""

    space: str
    """Where the copy is."""
    case: Case
    """The case whose kernel takes the copy as a further parameter, right after the array."""
    ratio: Ratio | None
    """Predicted time over that of the present form, including the copy before each launch; None
    where times are not predicted."""


@dataclass(frozen=True, eq=False)
class BenignRace:
    """An array that threads race on, and whose result on these inputs does not depend on it."""

    array: str
    same_value: bool
    """Threads write the same value to one element."""
    read_beside: bool
    """Threads read elements that others write, and nothing orders the two accesses."""
    lines: tuple[int, ...]
    """Source lines of the accesses."""
    copy_bytes: int
    copy_ns: float
    """Predicted nanoseconds to make the copy before each launch."""
    copies: tuple[ReadersCopy, ...]
    """Forms with a copy for the readers, the fastest first."""

    @property
    def text(self) -> str:
        """The race, and what a copy would gain, in sentences."""
        what = [
            *(["read elements while others write them"] if self.read_beside else []),
            *(["write the same value to one element"] if self.same_value else []),
        ]
        lines = ", ".join(map(str, self.lines))
        said = f"{self.array}: threads {' and '.join(what)} (lines {lines})."
        if not self.copies:
            return said
        said += (
            " On these inputs the result is the same if readers get a copy of it that was made "
            "before the launch"
        )
        best = self.copies[0]
        if best.ratio is None:
            return f"{said}; what that gains is predicted from compute capability 7.0 on."
        gain = f"{speedup(best.ratio.ratio)} times as fast"
        where = f"with the copy in {best.space} memory, {self.copy_ns * 1e-3:.3g} µs to make it"
        if best.ratio.ratio >= 1.0:
            return f"{said}, but that gains nothing: predicted {gain} {where} included."
        sure = (
            ""
            if best.ratio.faster is None
            else f", {chance(best.ratio.faster)} likely to be faster"
        )
        return (
            f"{said}: predicted {gain} ({speedup_range(best.ratio)}){sure}, {where} included. It "
            "is not done: only you can say whether the race is benign on all inputs."
        )

    def to_dict(self) -> dict[str, Any]:
        """The race as JSON types."""
        return {
            "array": self.array,
            "same_value": self.same_value,
            "read_beside": self.read_beside,
            "lines": list(self.lines),
            "copy_bytes": self.copy_bytes,
            "copy_ms": self.copy_ns * 1e-6,
            "copies": [
                {
                    "space": c.space,
                    "ratio": None if c.ratio is None else c.ratio.ratio,
                    "ratio_range": None if c.ratio is None else [c.ratio.low, c.ratio.high],
                    "faster": None if c.ratio is None else c.ratio.faster,
                    "source": c.case.source,
                }
                for c in self.copies
            ],
            "text": self.text,
        }


def benign_races(
    prepared: Prepared, present: Timed | None, progress: Progress = silent
) -> tuple[BenignRace, ...]:
    """Arrays of the case that its threads read and write without synchronization and that still
    give one result: it is the same whether readers see the newest value or the one before the
    launch, and threads that write to one element write the same value.

    Only arrays that plain loads and stores of a CUDA C++ source access are checked; of a long
    launch, only the first blocks. ``present`` is the time of the present form, if it has one.
    """
    suspects = _suspects(prepared)
    if not suspects:
        return ()
    progress("looking for benign races", 0, 0)
    found = []
    for array, findings in _raced(prepared, prepared.kernel, prepared.case, suspects).items():
        if any(_differing_writes(f) for f in findings):
            continue
        copies, together = _copies(prepared, array, present)
        if not copies:
            continue  # The result depends on which value readers see, or this cannot be checked.
        found.append(
            BenignRace(
                array,
                any(f.severity is Severity.note for f in (*findings, *together)),
                any(f.severity is not Severity.note for f in findings),
                _lines(findings),
                _size(prepared, array),
                device_copy_ns(_size(prepared, array), prepared.machine),
                copies,
            )
        )
    return tuple(found)


def _size(prepared: Prepared, array: str) -> int:
    return dict(prepared.case.inputs.array_bytes)[array]


def _suspects(prepared: Prepared) -> frozenset[str]:
    """Arrays that the kernel stores to, and loads from or stores to in several threads."""
    if prepared.case.language is not Language.CUDA:
        return frozenset()
    run = prepared.execution
    return frozenset(
        use.name
        for use in prepared.view.arrays
        if use.name in run.written
        and use.name in run.read
        and not any(a.kind == "atomic" for a in use.accesses)
    )


def _raced(
    prepared: Prepared, kernel: Kernel, case: Case, suspects: frozenset[str]
) -> dict[str, list[Finding]]:
    """Races of the suspects in global memory when a form of the case runs, by array."""
    launch, run = case.launch, prepared.execution
    share = CHECKED_INSTRUCTIONS / max(1, run.thread_instructions)
    blocks = None if share >= 1.0 else np.arange(max(2, int(share * launch.blocks)))
    checker = Checker()
    execute(kernel, launch, case.inputs, check=checker, run_blocks=blocks)
    raced: dict[str, list[Finding]] = {}
    for finding in checker.findings:
        if finding.kind is Kind.global_race and finding.array in suspects:
            raced.setdefault(finding.array, []).append(finding)
    return raced


def _differing_writes(finding: Finding) -> bool:
    """Whether threads write to one element values that may differ."""
    other = finding.other_place
    both = [p.instruction for p in (finding.place, other) if p is not None]
    return finding.severity is not Severity.note and all(i.startswith("st") for i in both)


def _lines(findings: Sequence[Finding]) -> tuple[int, ...]:
    places = [p for f in findings for p in (f.place, f.other_place)]
    return tuple(sorted({p.line for p in places if p is not None and p.line is not None}))


def _copies(
    prepared: Prepared, array: str, present: Timed | None
) -> tuple[tuple[ReadersCopy, ...], list[Finding]]:
    """Forms with a copy for the readers that compute the same bits, the fastest first; and the
    races on the array that are left in these forms. There are no forms where threads of them may
    write different values to one element."""
    try:
        duplicated = duplicate_for_readers(prepared.case, prepared.view, array)
        kernel = compile_case(duplicated.case)
    except PlacewiseError:
        return (), []
    # No thread of this run sees what others wrote, so all threads that may write do.
    left = _raced(prepared, kernel, duplicated.case, frozenset({array})).get(array, [])
    if any(_differing_writes(f) for f in left):
        return (), left
    found = []
    for space, case in _written(prepared, duplicated):
        same, timed = _proven_time(prepared, case, present)
        if same:
            ratio = ratio_of_times(timed, present)
            found.append(ReadersCopy(space, case, _with_copy(prepared, array, ratio, present)))
    found.sort(key=lambda c: float("inf") if c.ratio is None else c.ratio.ratio)
    return tuple(found), left


def _with_copy(
    prepared: Prepared, array: str, ratio: Ratio | None, present: Timed | None
) -> Ratio | None:
    """``ratio`` with the time of the copy before each launch added."""
    now = present.ms if present is not None else None
    if ratio is None or not now:
        return None
    copied = device_copy_ns(_size(prepared, array), prepared.machine)
    return ratio_of_sums([(1.0, ratio)], copied / (now * 1e6))


def _written(prepared: Prepared, duplicated: Duplicated) -> list[tuple[str, Case]]:
    """(space, case) for each space in which the copy can be: the one that needs no rewrite, and
    those that kernels cannot write to."""
    machine = prepared.machine
    forms = [(machine.direct_space.name, duplicated.case)]
    read = read_case(duplicated.case)
    for space in machine.spaces:
        if space.writable or space.is_cache_hint:
            continue
        placement = Placement(((duplicated.copy, space.name),))
        try:
            forms.append((space.name, rewrite(read.case, placement, machine, read.view).case))
        except PlacewiseError:
            continue
    return forms


def _proven_time(
    prepared: Prepared, case: Case, present: Timed | None
) -> tuple[bool, Timed | None]:
    """Whether the form computes the same bits, and its time."""
    truth = prepared.execution
    try:
        kernel = compile_case(case)
        run = dict(execute(kernel, case.launch, case.inputs).outputs)
    except PlacewiseError:
        return False, None
    same = all(
        compare(name, data, run[name]).identical
        for name, data in truth.outputs
        if name in truth.written
    )
    if not same:
        return False, None
    timed = time_form(kernel, case, prepared.machine, like=present, corrected=prepared.corrected)
    return True, timed
