"""The overlap's regression trained on one kernel and tested on another (Eqs. 11 and 12).

Two kernels were measured in several forms: the convolution, whose forms are placements, and a
point-in-polygon test, whose forms are formulations of one test with the same placement. So the
regression is trained on one of them and predicts the forms of the other from one form's time, each
form by its own code (rerun).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.huang_li.pairs import Form, Pair, Seen, Table, look, prepared_case, rerun_ratio
from benchmarks.results import Figure
from placewise.kernel.cases.case_file import read_case_family
from placewise.machine import load_machine
from placewise.model.huang_li.model import WHOLE, HuangLiModel
from placewise.model.huang_li.observe import observe
from placewise.model.huang_li.overlap import OverlapRegression
from placewise.recorded.recorded_counters import read_measured
from placewise.recorded.recorded_launch import MeasuredLaunch
from placewise.recorded.time_tables import read_times
from placewise.reproduce.event_selection import THRESHOLD, across_kernels, similarities
from placewise.validate.sample import choose_rows

POLYGON = (
    Table("kernel_tuner/pnpoly_rtx3090.csv.gz", "pnpoly.toml", "RTX3090"),
    Table("ktt_counters/pnpoly_rtx2080ti.csv.gz", "pnpoly_ktt.toml", "RTX2080Ti"),
)
FORMS = ("between_method", "use_method")
"""Parameters that say which formulation of the test a row has."""
MOST_POINTS = 4
"""Of a thread."""
COUNTERS = ("ktt_counters/convolution_rtx2080ti.csv.gz", "ktt_counters/pnpoly_rtx2080ti.csv.gz")
LEAST_EVENTS = 2
"""Events that the threshold must leave of each kernel (section II-B)."""
Errors = Callable[[Sequence[Pair], Callable[[Pair], float]], list[float]]


def observe_forms(table: Table, folder: Path, cases: Path, rows: int, seed: int) -> Seen:
    """Look at about ``rows`` forms of a table of the polygon test, drawn with ``seed`` in whole
    groups; the pairs of a group are its first form and each other one."""
    family = read_case_family(cases / table.case)
    machine = load_machine(table.machine)
    times = read_times(folder / table.file, family.parameters).rows
    kept = [r for r in times if int(str(dict(r.configuration)["tile_size"])) <= MOST_POINTS]
    groups: dict[tuple[tuple[str, object], ...], list[Form]] = {}
    for row in choose_rows(kept, FORMS, rows, seed):
        found = look(prepared_case(family, row, machine), machine)
        if found is not None:
            rest = tuple(item for item in row.configuration if item[0] not in FORMS)
            observed = observe(found.simulated("huang-li"), machine)
            groups.setdefault(rest, []).append(Form(row, observed, None))
    pairs = [
        Pair(group, "form", members[0], target, target.observed)
        for group, members in groups.items()
        for target in members[1:]
    ]
    return Seen(machine, tuple(pairs), tuple(f for members in groups.values() for f in members))


def kernel_figures(
    convolution: Sequence[tuple[Seen, Sequence[Pair]]],
    trained_on_convolution: OverlapRegression,
    merged_on_convolution: OverlapRegression,
    polygon: Sequence[Seen],
    trained: Callable[[Sequence[Form], Seen, float | None], OverlapRegression],
    errors: Errors,
) -> tuple[list[Figure], str]:
    """Errors on the forms of each kernel of an overlap that was trained on the other, without and
    with similar events merged, beside 'no change' and the overlap of Sim et al.; and what was held
    out in words."""
    first = polygon[0]
    of_polygon = [trained(first.forms, first, merge) for merge in (None, THRESHOLD)]
    figures: list[Figure] = []
    words: list[str] = []

    def add(
        what: str, seen: Seen, pairs: Sequence[Pair], fits: Sequence[OverlapRegression], on: str
    ) -> None:
        models = {
            "overlap of Sim et al.": WHOLE,
            f"overlap trained on {on}": replace(WHOLE, regression=fits[0]),
            f"overlap trained on {on}, similar events merged": replace(WHOLE, regression=fits[1]),
        }
        start = f"{seen.machine.name}, forms of the {what}"
        figures.append(_mean(f"{start}: 'no change'", errors(pairs, lambda _: 1.0)))
        for name, model in models.items():
            found = errors(pairs, partial(_by, model, seen))
            figures.append(_mean(f"{start}: whole model, rerun, {name}", found))
            if name.endswith(on):
                error = 100 * float(np.mean(found)) if found else float("nan")
                words.append(
                    f"{start}, trained on the {on}: {len(found)} targets by rerun, mean error "
                    f"{error:.1f} %"
                )

    for seen in polygon:
        fits = (trained_on_convolution, merged_on_convolution)
        add("polygon test", seen, seen.pairs, fits, "convolution")
    for seen, pairs in convolution:
        add("convolution", seen, pairs, of_polygon, "polygon test")
    return figures, "; ".join(words)


def _by(model: HuangLiModel, seen: Seen, pair: Pair) -> float:
    return rerun_ratio(model, pair, seen.machine)


def _mean(name: str, found: Sequence[float]) -> Figure:
    value = 100 * float(np.mean(found)) if found else float("nan")
    return Figure(f"across kernels: {name}, mean error of {len(found)} targets", value, "%",
                  "reported", holds=True)  # fmt: skip


def event_figures(folder: Path) -> list[Figure]:
    """Events that pass across both kernels' recorded counters: at the paper's threshold, and at the
    highest one that leaves each kernel two events, by which the paper chose its 0.94."""
    kernels: dict[str, list[MeasuredLaunch]] = {
        name.split("/")[1]: list(read_measured(folder / name)) for name in COUNTERS
    }
    second = [
        sorted((s.cosine for s in similarities(launches, name)), reverse=True)[LEAST_EVENTS - 1]
        for name, launches in kernels.items()
    ]
    lowered = float(np.floor(1000 * min(second)) / 1000)
    figures = []
    for threshold, which in ((THRESHOLD, "the paper's"), (lowered, "two events of each kernel")):
        groups = across_kernels(kernels, threshold)
        names = "; ".join(", ".join(group.events) for group in groups) or "none"
        figures.append(
            Figure(f"events selected in both kernels at {threshold:g} ({which}), merged: {names}",
                   len(groups), "groups", "reported", holds=True)
        )  # fmt: skip
    return figures
