"""Placements' times from one measured sample, beside measured times.

``python -m benchmarks.huang_li --data FOLDER [--rows N]``. The folder holds the measured tables
``convolution_a100.csv.gz``, ``convolution_a4000.csv.gz`` and ``pnpoly_rtx3090.csv.gz`` in
``kernel_tuner``, and ``convolution_rtx2080ti.csv.gz`` and ``pnpoly_rtx2080ti.csv.gz`` in
``ktt_counters``. Without it only the samples of blocks and c_a are looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.huang_li.kernels import POLYGON, event_figures, kernel_figures, observe_forms
from benchmarks.huang_li.pairs import (
    Form,
    Pair,
    Seen,
    Table,
    observe_table,
    rerun_ratio,
    retarget_ratio,
)
from benchmarks.huang_li.samples import burst_figures, sample_figures
from benchmarks.results import Figure, report
from placewise.machine import Machine
from placewise.model.huang_li.model import ABLATIONS, WHOLE, HuangLiModel
from placewise.model.huang_li.overlap import OverlapRegression, fit_overlap, observed_ratio
from placewise.reproduce.event_selection import THRESHOLD

CASES = Path(__file__).parent.parent / "models"
BAR = 9.9
"""Mean error of the paper, in percent."""
TABLES = (
    Table("kernel_tuner/convolution_a4000.csv.gz", "convolution.toml", "A4000"),
    Table("kernel_tuner/convolution_a100.csv.gz", "convolution.toml", "A100"),
    Table("ktt_counters/convolution_rtx2080ti.csv.gz", "convolution_ktt.toml", "RTX2080Ti"),
)
TRAINED_ON = "A4000"
COMPILER_ALONE = "read_only"
"""The switch that moves nothing on these GPUs, whose read-only loads take the path of all others.
It changes what the compiler makes of the kernel, which no retarget sees."""
Group = tuple[tuple[str, object], ...]


def errors(pairs: Sequence[Pair], ratio: Callable[[Pair], float | None]) -> list[float]:
    """|predicted − measured| / measured of the targets' times."""
    found = []
    for pair in pairs:
        predicted = ratio(pair)
        if predicted is not None:
            time = pair.sample.nanoseconds * predicted
            found.append(abs(time - pair.target.nanoseconds) / pair.target.nanoseconds)
    return found


def by_retarget(model: HuangLiModel, machine: Machine) -> Callable[[Pair], float]:
    """The ratio that ``model`` predicts from the sample's code."""
    return lambda pair: retarget_ratio(model, pair, machine)


def timeline_ratio(pair: Pair) -> float | None:
    """The timeline's, from the code of both forms."""
    if pair.sample.timeline is None or pair.target.timeline is None:
        return None
    return pair.target.timeline / pair.sample.timeline


def trained(
    forms: Sequence[Form], machine: Machine, what: str, merge: float | None = None
) -> OverlapRegression:
    """Eqs. 11 and 12 fitted to measured times of ``forms``, events of the similarity ``merge``
    together."""
    clock = machine.limits.clock_mhz or 0.0
    parts = [WHOLE.parts(form.observed, machine) for form in forms]
    ratios = [
        observed_ratio(p.t_comp, p.t_mem, form.nanoseconds * clock / 1e3)
        for p, form in zip(parts, forms, strict=True)
    ]
    return fit_overlap([p.events for p in parts], ratios, [what] * len(forms), merge=merge)


def validated(seen: Seen, groups: Sequence[Group]) -> tuple[OverlapRegression | None, str]:
    """A regression trained on the pairs of ``groups``, if it predicts them better than the overlap
    of Sim et al. where it has not seen them; and both errors in words.

    Each group is predicted by retarget from a regression trained on the other groups. Held-out
    groups and GPUs have no part in this.
    """
    what = f"convolution on {seen.machine.name}"
    without: list[float] = []
    with_it: list[float] = []
    for group in groups:
        others = set(groups) - {group}
        forms = [f for f in seen.forms if _group_of(f, others)]
        if not forms:
            continue
        fitted = replace(WHOLE, regression=trained(forms, seen.machine, what))
        own = [pair for pair in seen.pairs if pair.group == group]
        without += errors(own, by_retarget(WHOLE, seen.machine))
        with_it += errors(own, by_retarget(fitted, seen.machine))
    forms = [f for f in seen.forms if _group_of(f, set(groups))]
    regression = trained(forms, seen.machine, what)
    if not with_it:
        return regression, "one group: not validated"
    before, after = 100 * float(np.mean(without)), 100 * float(np.mean(with_it))
    words = f"on training groups left out {after:.2f} %, overlap of Sim et al. {before:.2f} %"
    return (regression if after < before else None), words


def table_figures(
    seen: Seen,
    regression: OverlapRegression,
    chosen: OverlapRegression | None,
    held: Sequence[Pair],
) -> list[Figure]:
    """Errors of every way of predicting; ``held`` are the pairs that trained nothing, and
    ``chosen`` is the regression if it was validated on training pairs."""
    machine = seen.machine
    figures: list[Figure] = []

    def add(
        what: str, found: Sequence[float], asked: str = "reported", most: float | None = None
    ) -> None:
        if found:
            mean = 100 * float(np.mean(found))
            name = f"{machine.name}: {what}, mean error of {len(found)} targets"
            figures.append(Figure(name, mean, "%", asked, most is None or mean <= most))

    def by(model: HuangLiModel, way: Callable[[HuangLiModel, Pair, Machine], float]) -> list[float]:
        return errors(held, lambda pair: way(model, pair, machine))

    add("'no change'", errors(held, lambda _: 1.0))
    add("timeline, rerun", errors(held, timeline_ratio))
    for model in ABLATIONS:
        add(f"{model.name}, retarget", by(model, retarget_ratio))
    for switch in dict.fromkeys(pair.switch for pair in held):
        of_switch = [pair for pair in held if pair.switch == switch]
        measured = [p.target.nanoseconds / p.sample.nanoseconds for p in of_switch]
        found = errors(of_switch, lambda pair: retarget_ratio(WHOLE, pair, machine))
        add(f"whole model, retarget, {switch} (measured ratio {np.mean(measured):.2f})", found)
    add("whole model, rerun", by(WHOLE, rerun_ratio))
    fitted = replace(WHOLE, regression=regression)
    where = "held-out configurations" if machine.name == TRAINED_ON else "a held-out GPU"
    words = f"overlap trained on {TRAINED_ON}, {where}"
    bar = f"≤ {BAR} (the paper's mean)"
    kept = replace(WHOLE, regression=chosen)
    add(f"whole model, retarget, {words}", by(fitted, retarget_ratio))
    add(f"whole model, retarget, {words}, if validated", by(kept, retarget_ratio), bar, BAR)
    add(f"whole model, rerun, {words}", by(fitted, rerun_ratio), bar, BAR)
    moves = [pair for pair in held if pair.switch != COMPILER_ALONE]
    add("'no change', without read_only alone", errors(moves, lambda _: 1.0))
    found = errors(moves, lambda pair: retarget_ratio(kept, pair, machine))
    add("whole model, retarget, without read_only alone", found)
    return figures


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with measured tables.")] = None,
    rows: Annotated[int, typer.Option(min=2, help="Configurations of each table.")] = 24,
    seed: Annotated[int, typer.Option(help="Of their choice.")] = 3,
) -> None:
    """Predict, print a table, write results/huang_li.json."""
    figures = burst_figures() + sample_figures()
    if data is not None:
        seen = [observe_table(table, data, CASES, rows, seed) for table in TABLES]
        first = next(s for s in seen if s.machine.name == TRAINED_ON)
        groups = list(dict.fromkeys(pair.group for pair in first.pairs))
        training = set(groups[::2])
        forms = [f for f in first.forms if _group_of(f, training)]
        regression = trained(forms, first.machine, f"convolution on {TRAINED_ON}")
        chosen, validation = validated(first, groups[::2])
        figures.append(
            Figure(f"overlap trained on {len(forms)} forms: mean error of the ratio there",
                   regression.training_error, "", "reported", holds=True)
        )  # fmt: skip
        tried = []
        held_out: list[tuple[Seen, Sequence[Pair]]] = []
        for one in seen:
            held = [p for p in one.pairs if one is not first or p.group not in training]
            held_out.append((one, held))
            figures += table_figures(one, regression, chosen, held)
            fitted = replace(WHOLE, regression=regression)
            found = errors(held, by_retarget(fitted, one.machine))
            where = "other configurations" if one is first else "a GPU that it had not seen"
            tried.append(
                f"{one.machine.name} ({where}), {len(found)} targets by retarget: "
                f"mean error {100 * float(np.mean(found)):.1f} %"
            )
        more, words = kernel_figures(
            held_out,
            regression,
            trained(forms, first.machine, f"convolution on {TRAINED_ON}", THRESHOLD),
            [observe_forms(table, data, CASES, rows, seed) for table in POLYGON],
            lambda some, of, merge: trained(
                some, of.machine, f"polygon test on {of.machine.name}", merge
            ),
            errors,
        )
        figures += more + event_figures(data)
        tried.append(words)
        regression = replace(regression, held_out="; ".join(tried))
        typer.echo(f"overlap trained on {len(forms)} forms, held out: {regression.held_out}")
        typer.echo(f"overlap {'kept' if chosen is not None else 'dropped'}: {validation}")
    if not report("huang_li", figures):
        sys.exit(1)


def _group_of(form: Form, groups: set[Group]) -> bool:
    configuration = set(form.measured.configuration)
    return any(set(group) <= configuration for group in groups)


if __name__ == "__main__":
    typer.run(main)
