"""Figs. 7 to 14 and Table 5 of Chen et al. 2017: gains and overheads of choosing placements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean

from placewise.advisor.forms.timing import is_timed
from placewise.cases import case_names, load_case
from placewise.cases.papers import PORPLE, PORPLE_IRREGULAR
from placewise.errors import CaseError, PlacewiseError
from placewise.kernel.cases.case import Case
from placewise.machine import Machine, load_machine
from placewise.progress import Progress, silent
from placewise.reproduce.result import Cell, Reproduction, Table
from placewise.reproduce.speedups.gains import Gains, gains_of
from placewise.reproduce.speedups.inputs import varied_inputs
from placewise.reproduce.speedups.overhead_tables import launches_table, overhead_table, share_table
from placewise.reproduce.speedups.overheads import SCALED, Overheads, measured_overheads

MACHINES = ("A100", "H100", "K20c", "M2075", "C1060")
"""Gains on the first two are predicted by the default model, on the paper's three by the path
model."""
MOST_FORMS = 16
"""Most forms of each kernel that are written and timed for each machine, by default."""
ENGINE = "K20c"
"""Machine of Table 5."""
PRINTED_INPUTS = {"particlefilter": (1.72, 1.07), "spmv": (1.30, 1.24)}
"""Mean gains of PORPLE and of the rules over six inputs (Figs. 12 and 13)."""
PRINTED_MEANS: dict[tuple[str, str], tuple[float, float | None, float | None]] = {
    ("K20c", "regular kernels"): (1.22, 1.05, 1.23),
    ("K20c", "irregular kernels"): (1.68, None, None),
    **{("K20c", f"{name}, six inputs"): (*mean, None) for name, mean in PRINTED_INPUTS.items()},
}
"""Printed mean gains of PORPLE, the rules and the optimum, where the text gives them; the bars of
the figures have no numbers."""
PRINTED_LEADS = {
    ("M2075", "irregular kernels"): 1.33,
    ("C1060", "irregular kernels"): 1.60,
}
"""PORPLE's mean gain over that of the rules, where the text prints nothing else (Figs. 9, 10)."""
Row = tuple[str, Gains | str]
"""Name of a kernel or input, and its gains, or why there are none."""


def porple_speedups(
    cases: Sequence[str] = (),
    machines: Sequence[str] = (),
    most: int = MOST_FORMS,
    progress: Progress = silent,
    *,
    exhaustive: int = 0,
) -> Reproduction:
    """Recompute the figures for the bundled ``cases`` (all by default) on ``machines``, by default
    :data:`MACHINES`.

    On GPUs of the default model at most ``most`` forms of a kernel are written and timed, but all
    of a bundled case that has at most ``exhaustive``. It takes minutes. Results are kept on disk,
    so that an interrupted run can continue. Raises CaseError for an unknown case, MachineError for
    an unknown machine.
    """
    names = tuple(cases) or case_names()
    unknown = [name for name in names if name not in case_names()]
    if unknown:
        raise CaseError(
            f"no bundled case is called '{unknown[0]}'",
            where="--cases",
            hint="`placewise cases` lists them",
        )
    where = [load_machine(name) for name in tuple(machines) or MACHINES]
    jobs = list(_jobs(names, where))
    gains: dict[tuple[str, str], Gains | str] = {}
    for done, (name, machine, make) in enumerate(jobs):
        progress(f"{name} on {machine.name}", done, len(jobs))
        try:
            whole = exhaustive if name in names else 0
            gains[name, machine.name] = gains_of(make(), machine, most, whole)
        except PlacewiseError as error:
            gains[name, machine.name] = error.message
    tables: list[Table] = []
    figures: dict[str, float] = {}
    for machine, title, members in _shown(names, where):
        rows = [(m, gains[m, machine.name]) for m in members]
        tables.append(_gain_table(f"{title} on {machine.name}", rows))
        figures.update(_means(machine.name, title, rows))
    tables += _overheads(names, where, gains, progress)
    return Reproduction(
        "porple-speedups",
        "Chen et al. 2017, Figs. 7 to 14, Table 5",
        (_summary(where, figures), *tables),
        _verdict(where, list(gains.values())),
        missing=(
            "bars of the figures have no printed numbers: paper's means are those of its text",
            "the authors' inputs are not named; kernels and inputs are those of our cases",
            "bfs with a second copy of its levels (section 5.3.1), which changes the program",
            "times are predictions; on GPUs without a default model, ratios of memory time",
        ),
        figures=figures,
    )


def _shown(
    names: Sequence[str], machines: Sequence[Machine]
) -> Iterator[tuple[Machine, str, list[str]]]:
    """Tables of gains: machine, title, and names of the rows."""
    inputs = [name for name, _ in varied_inputs() if name.split(",")[0] in names]
    for machine in machines:
        for title, members in _groups(names).items():
            yield machine, title, members
        for kernel in dict.fromkeys(name.split(",")[0] for name in inputs):
            mine = [name for name in inputs if name.startswith(f"{kernel},")]
            yield machine, f"{kernel}, six inputs", mine


def _overheads(
    names: Sequence[str],
    machines: Sequence[Machine],
    gains: Mapping[tuple[str, str], Gains | str],
    progress: Progress,
) -> list[Table]:
    """Table 5, and Figs. 11 and 14 for each machine with predicted times."""
    overheads: dict[str, Overheads] = {}
    for name in (n for n in SCALED if n in names):
        progress(f"overhead on {name}", len(overheads), len(SCALED))
        overheads[name] = measured_overheads(load_case(name), load_machine(ENGINE))
    if not overheads:
        return []
    tables = [overhead_table(overheads, ENGINE)]
    for machine in machines:
        found = {n: gains[n, machine.name] for n in overheads}
        timed = {n: g for n, g in found.items() if isinstance(g, Gains) and g.porple}
        if is_timed(machine) and timed:
            tables.append(share_table(machine.name, timed, overheads))
            tables.append(launches_table(machine.name, timed, overheads))
    return tables


def _jobs(
    names: Sequence[str], machines: Sequence[Machine]
) -> Iterator[tuple[str, Machine, Callable[[], Case]]]:
    for machine in machines:
        for name in names:
            yield name, machine, partial(load_case, name)
        for name, make in varied_inputs():
            if name.split(",")[0] in names:
                yield name, machine, make


def _groups(names: Sequence[str]) -> dict[str, list[str]]:
    irregular = {PORPLE[name] for name in PORPLE_IRREGULAR}
    of_paper = set(PORPLE.values())
    groups = {
        "regular kernels": [n for n in names if n in of_paper - irregular],
        "irregular kernels": [n for n in names if n in irregular],
        "kernels of other papers": [n for n in names if n not in of_paper],
    }
    return {title: members for title, members in groups.items() if members}


def _gain_table(title: str, rows: Sequence[Row]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for name, found in rows:
        if isinstance(found, str):
            cells.append((name, None, None, None, None, f"not judged: {found}"))
            continue
        seen = f"{found.legal:,}" if found.complete else f"{found.judged:,} of {found.legal:,}"
        cells.append(
            (
                name,
                _gain(found.porple),
                _gain(found.rules),
                _gain(found.optimum),
                seen,
                _moves(found),
            )
        )
    return Table(
        f"Predicted gain: {title}",
        ("", "PORPLE", "rules", "optimum", "of placements", "PORPLE's moves; the optimum's"),
        tuple(cells),
        (
            "times as fast as the kernel as it is, by the "
            + ", ".join(sorted({f.model for _, f in rows if isinstance(f, Gains)}))
            + " model; – where the form was not proven to compute the same",
        ),
    )


def _gain(value: float | None) -> Cell:
    return "–" if value is None else round(value, 3)


def _moves(found: Gains) -> str:
    stays = "stays"
    if found.porple_moves == found.optimum_moves:
        return f"{found.porple_moves or stays}; the same"
    return f"{found.porple_moves or stays}; {found.optimum_moves or stays}"


def _means(machine: str, title: str, rows: Sequence[Row]) -> dict[str, float]:
    """Mean gains. Where a choice was not proven, its gain counts as 1, since the kernel stays as it
    is."""
    found = [g for _, g in rows if isinstance(g, Gains)]
    if not found:
        return {}
    return {
        f"{machine}, {title}: mean gain of PORPLE": fmean(g.porple or 1.0 for g in found),
        f"{machine}, {title}: mean gain of the rules": fmean(g.rules or 1.0 for g in found),
        f"{machine}, {title}: mean gain of the optimum": fmean(g.optimum for g in found),
        f"{machine}, {title}: optima of all legal placements": sum(g.complete for g in found),
        f"{machine}, {title}: kernels": len(found),
    }


def _summary(machines: Sequence[Machine], figures: dict[str, float]) -> Table:
    """The means, beside the paper's where its text has them."""
    cells: list[tuple[Cell, ...]] = []
    for machine in machines:
        for title in (
            "regular kernels",
            "irregular kernels",
            *(f"{k}, six inputs" for k in PRINTED_INPUTS),
        ):
            start = f"{machine.name}, {title}"
            if f"{start}: kernels" not in figures:
                continue
            printed = PRINTED_MEANS.get((machine.name, title))
            lead = PRINTED_LEADS.get((machine.name, title))
            if printed is not None:
                porple, rules, _ = printed
                cells.append((start, "paper", *printed, None if rules is None else porple / rules))
            elif lead is not None:
                cells.append((start, "paper", None, None, None, lead))
            ours = [
                figures[f"{start}: mean gain of {who}"]
                for who in ("PORPLE", "the rules", "the optimum")
            ]
            cells.append(("" if printed or lead else start, "program", *ours, ours[0] / ours[1]))
    return Table(
        "Mean gains (Figs. 7 to 10, 12, 13)",
        ("", "", "PORPLE", "rules", "optimum", "PORPLE over rules"),
        tuple(tuple(round(c, 3) if isinstance(c, float) else c for c in row) for row in cells),
        (
            "times as fast as the kernels as they are",
            "paper, further: PORPLE up to 2.64 (trans) and 2.17 (particlefilter) on the K20c; 45 % "
            "and 18 % faster than the rules on trans and triad; bfs with a second copy of its "
            "levels 30 % faster than the rules, which reach 1.18 with it",
        ),
    )


def _verdict(machines: Sequence[Machine], found: Sequence[Gains | str]) -> str:
    parts = []
    for machine in machines:
        mine = [g for g in found if isinstance(g, Gains) and g.machine == machine.name]
        if mine:
            near = sum((g.porple or 1.0) >= 0.95 * g.optimum for g in mine)
            lost = sum((g.porple or 1.0) < 0.995 for g in mine)
            parts.append(
                f"{machine.name}: PORPLE {fmean(g.porple or 1.0 for g in mine):.2f}, rules "
                f"{fmean(g.rules or 1.0 for g in mine):.2f}, optimum "
                f"{fmean(g.optimum for g in mine):.2f} times as fast in the mean over {len(mine)} "
                f"kernels and inputs; PORPLE within 5 % of the optimum in {near}, slower than the "
                f"kernel as it is in {lost}"
            )
    return ". ".join(parts) + "." if parts else "Nothing could be judged."
