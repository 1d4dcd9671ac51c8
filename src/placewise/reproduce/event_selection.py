"""Table I of Huang and Li 2017: events whose counts vary like the time.

For the N recorded forms of a kernel, it computes the cosine similarity of the vector of times and
the vector of each event; an event above 0.94 is selected. The paper's forms are placements of one
kernel; here all recorded configurations of a kernel are its forms. Since all counts are positive,
vectors that hardly vary also have a high similarity. Therefore the tables also show the
correlation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from placewise.errors import CaseError
from placewise.model.huang_li.overlap import cosine_similarity
from placewise.recorded.recorded_counters import read_measured
from placewise.recorded.recorded_launch import DURATION, MeasuredLaunch
from placewise.reproduce.result import Cell, Reproduction, Table

THRESHOLD = 0.94
"""Least cosine similarity of a selected event (section II-B)."""
LEAST_KERNELS = 3
"""Least number of kernels that an event must be selected in; the paper removes events of two
kernels or fewer (section II-B)."""
SHOWN = 30
PRINTED: Mapping[str, tuple[str | float, ...]] = {
    "cfd": (0.993, 0.992, 0.961, 0.946, 0.941),
    "conv1": ("N/A", "N/A", "N/A", 0.949, 0.986),
    "conv2": (0.949, "N/A", 0.969, 0.957, 0.996),
    "md": (0.956, 0.963, 0.963, "N/A", 0.995),
    "matrixMul": (0.980, 0.977, 0.943, 0.990, "N/A"),
    "spmv": (0.983, 0.989, "N/A", "N/A", "N/A"),
    "transpose": (0.992, 0.99, "N/A", 0.980, 0.948),
}
PRINTED_EVENTS = ("issue_slots", "inst_issued", "inst_integer", "ldst_issue", "L2_trans")
LIKE = {
    "inst_issued": "smsp__inst_executed.sum",
    "inst_integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "ldst_issue": "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "L2_trans": "lts__t_sectors_op_read.sum",
}
"""Counters of Nsight Compute that come nearest to the events of Table I."""


@dataclass(frozen=True)
class Similarity:
    """How similar the counts of one event of one kernel are to its times."""

    event: str
    cosine: float
    correlation: float
    """Pearson's correlation of event and time; NaN where the event never varies."""

    @property
    def selected(self) -> bool:
        return self.cosine > THRESHOLD


@dataclass(frozen=True)
class EventGroup:
    """Events that are selected in several kernels and have similar counts."""

    events: tuple[str, ...]
    """Names of the events; first the one that is most similar to the time."""
    kernels: tuple[str, ...]
    """Kernels in which the first event is selected."""
    cosine: float
    """Mean similarity of the first event with the time over these kernels."""


def across_kernels(
    kernels: Mapping[str, Sequence[MeasuredLaunch]], threshold: float = THRESHOLD
) -> tuple[EventGroup, ...]:
    """Events selected across ``kernels`` (launches by name), those of most kernels first.

    Section II-B drops events that appear in two kernels or fewer, and aggregates those with similar
    indications. Here these are events whose vectors have at least the similarity ``threshold`` in
    every kernel that selects the first of them. With three kernels or fewer, an event must be
    selected in all. Raises CaseError where a launch has no time, or a kernel has fewer than two
    launches.
    """
    selected: dict[str, dict[str, float]] = {}
    for kernel, launches in kernels.items():
        for one in similarities(launches, kernel):
            if one.cosine > threshold:
                selected.setdefault(one.event, {})[kernel] = one.cosine
    least = min(LEAST_KERNELS, len(kernels))
    kept = {event: found for event, found in selected.items() if len(found) >= least}
    order = sorted(kept, key=lambda e: (-len(kept[e]), -float(np.mean(list(kept[e].values())))))
    groups: list[EventGroup] = []
    left = list(order)
    while left:
        first = left.pop(0)
        alike = [other for other in left if _alike(first, other, kept[first], kernels, threshold)]
        left = [event for event in left if event not in alike]
        cosines = list(kept[first].values())
        groups.append(EventGroup((first, *alike), tuple(kept[first]), float(np.mean(cosines))))
    return tuple(groups)


def _alike(
    one: str,
    other: str,
    where: Iterable[str],
    kernels: Mapping[str, Sequence[MeasuredLaunch]],
    threshold: float,
) -> bool:
    """Whether two events' vectors are similar in every kernel of ``where``."""
    for kernel in where:
        launches = kernels[kernel]
        if any(other not in launch.values for launch in launches):
            return False
        vectors = [np.array([launch.values[e] for launch in launches]) for e in (one, other)]
        if cosine_similarity(*vectors) <= threshold:
            return False
    return True


def similarities(launches: Sequence[MeasuredLaunch], where: str) -> tuple[Similarity, ...]:
    """Similarities of all events that every launch has, the most similar event first.

    Raises CaseError where a launch has no time, or where there are fewer than two.
    """
    names = set(launches[0].values).intersection(*(one.values for one in launches))
    recorded = [one.microseconds for one in launches if one.microseconds is not None]
    if len(recorded) < len(launches) or len(launches) < 2:
        what = "one launch alone" if len(launches) < 2 else "launches without a time"
        raise CaseError(
            what, where=where, hint=f"give several launches of a kernel, each with {DURATION}"
        )
    times = np.array(recorded)
    found = []
    for event in sorted(name for name in names if "__" in name and name != DURATION):
        counts = np.array([one.values[event] for one in launches])
        if not counts.any():
            continue
        varies = float(np.ptp(counts)) > 0 and float(np.ptp(times)) > 0
        correlation = float(np.corrcoef(times, counts)[0, 1]) if varies else float("nan")
        found.append(Similarity(event, cosine_similarity(times, counts), correlation))
    return tuple(sorted(found, key=lambda s: -s.cosine))


def event_selection(files: Sequence[Path]) -> Reproduction:
    """Recompute the selection of events on files of recorded counters."""
    tables = [
        Table(
            "Table I as printed: cosine similarity of time and event over a kernel's placements",
            ("kernel", *PRINTED_EVENTS),
            tuple((kernel, *row) for kernel, row in PRINTED.items()),
            ("N/A: below the threshold of 0.94; 265 events of a K80 were recorded",),
        )
    ]
    figures: dict[str, float] = {}
    counts = []
    kernels: dict[str, list[MeasuredLaunch]] = {}
    for path in files:
        for name, launches in _kernels(path).items():
            kernels[name] = launches
            found = similarities(launches, str(path))
            selected = [s for s in found if s.selected]
            tables.append(_table(name, len(launches), found))
            figures[f"{name}: events"] = len(found)
            figures[f"{name}: selected"] = len(selected)
            counts.append(f"{len(selected)} of {len(found)} in {name}")
            for event, ours in LIKE.items():
                similar = next((s for s in found if s.event == ours), None)
                if similar is not None:
                    figures[f"{name}: {event}"] = similar.cosine
    if len(kernels) > 1:
        groups = across_kernels(kernels)
        tables.append(_across_table(groups, len(kernels)))
        figures["across kernels: events"] = sum(len(group.events) for group in groups)
        figures["across kernels: after merging"] = len(groups)
    verdict = (
        f"Selected at {THRESHOLD}: {'; '.join(counts)}."
        if files
        else "Nothing to recompute: give recorded counters with --counters FILE."
    )
    return Reproduction(
        "huang-li-events",
        "Huang and Li 2017, Table I",
        tuple(tables),
        verdict,
        missing=(
            "the paper's recordings (six kernels, 34 placements, 265 events on a K80) are not "
            "public: other kernels, another GPU and its counters stand in",
        ),
        figures=figures,
    )


def _kernels(path: Path) -> dict[str, list[MeasuredLaunch]]:
    """Launches of each kernel of a file. The key is the file's name, followed by the kernel's name
    if there are several kernels."""
    launches = read_measured(path)
    several = len({one.kernel for one in launches}) > 1
    found: dict[str, list[MeasuredLaunch]] = {}
    for one in launches:
        name = f"{path.name}, {one.kernel}" if several else path.name
        found.setdefault(name, []).append(one)
    return found


def _across_table(groups: Sequence[EventGroup], kernels: int) -> Table:
    return Table(
        f"Across {kernels} kernels: events selected in enough of them, similar ones merged",
        ("event", "merged with it", "kernels", "mean cosine"),
        tuple(
            (g.events[0], ", ".join(g.events[1:]), len(g.kernels), round(g.cosine, 3))
            for g in groups
        ),
        (
            f"in at least {min(LEAST_KERNELS, kernels)} kernels above {THRESHOLD}; merged where "
            f"two events' vectors are as similar in all of these. The paper comes to five events, "
            "of seven kernels",
        ),
    )


def _table(name: str, forms: int, found: Sequence[Similarity]) -> Table:
    near = {ours: event for event, ours in LIKE.items()}
    rows: list[tuple[Cell, ...]] = [
        (s.event, round(s.cosine, 3), None if np.isnan(s.correlation) else round(s.correlation, 3),
         "yes" if s.selected else "no", near.get(s.event))
        for n, s in enumerate(found)
        if n < SHOWN or s.event in near
    ]  # fmt: skip
    return Table(
        f"{name}: {forms} recorded forms",
        ("event", "cosine", "correlation", "selected", "nearest of Table I"),
        tuple(rows),
        (
            "cosine is the paper's measure; the correlation beside it shows that positive vectors "
            "are similar without following one another",
        ),
    )
