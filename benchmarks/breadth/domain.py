"""What the launches span whose times were measured: writes ``placewise/model/domain.json``.

``python -m benchmarks.breadth.domain [--rows N] [--anew]``: of the tables of ``benchmarks.models``
(their rows in ``results/models_rows.json``, which that command writes from the measured tables
given by path), and of the first half of ``measurements.csv``, some launches are simulated and their
features kept in ``results/domain_rows.json``, each with its measured over predicted time (one
factor a table and GPU). Launches of an earlier run are not simulated again without ``--anew``.

How much wider intervals must be beyond the domain is found by leaving out one case after the other:
the domain of the others says which of its rows are unlike, and the 80 % quantile of the errors of
all rows found unlike is compared with that of the rows found alike. No less than an assumed factor
is stored.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.breadth.__main__ import FIRST, read_rows
from benchmarks.breadth.measured import HERE, Predicted, read_measurements
from benchmarks.models.__main__ import HERE as MODELS
from benchmarks.models.__main__ import ROWS as MODELS_ROWS
from benchmarks.models.__main__ import TABLES
from benchmarks.results import RESULTS, Figure, report
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case_file import read_case_family
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import target_for
from placewise.machine import load_machine
from placewise.model.domain import Domain, as_stored, features_of, span
from placewise.model.evidence.evidence import evidence_of
from placewise.validate.figures import best_factor

ROWS = RESULTS / "domain_rows.json"
STORED = Path(__file__).parents[2] / "src" / "placewise" / "model" / "domain.json"
GPUS = ("RTX3080", "RTX2060", "A6000", "A100")
"""Of the published measurements: others differ in little but their number of SMs."""
SEED = 5
ASSUMED = 1.5
"""How much wider intervals are at least. What no measurement covers cannot be fitted: leaving out
one case after the other shows no more than that what is unlike need not be worse."""


@dataclass(frozen=True)
class Launch:
    """A measured launch."""

    case: str
    what: str
    """Table or kernel, machine and configuration."""
    features: Mapping[str, float]
    error: float
    """Logarithm of measured over predicted time, with one factor a table and GPU."""


Known = dict[str, dict[str, float]]
"""Features by what they are of."""


def simulated(case: Path, machine: str, configuration: Mapping[str, Any]) -> dict[str, float]:
    """Features of one configuration of a case on a machine."""
    one = read_case_family(case).case(dict(configuration))
    loaded = load_machine(machine)
    arch, _ = target_for(loaded.limits.compute_capability, one.options.nvrtc)
    one = named_case(replace(one, options=replace(one.options, arch=arch)))
    run = evidence_of(compile_case(one), one.launch, one.inputs, loaded).run
    return features_of(run) if run is not None else {}


def looked_up(
    what: str, known: Known, case: Path, machine: str, configuration: Mapping[str, Any]
) -> dict[str, float]:
    """Features that are known, or simulated and then known; none where that fails."""
    if what not in known:
        try:
            known[what] = simulated(case, machine, configuration)
        except PlacewiseError as error:
            print(f"{what}: {error}", flush=True)
            return {}
        print(what, flush=True)
    return known[what]


def of_tables(rows: int, known: Known) -> list[Launch]:
    """Some rows of every table of ``benchmarks.models`` that were predicted there."""
    by_table: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in json.loads(MODELS_ROWS.read_text()):
        by_table[row["table"]].append(row)
    found = []
    for table in TABLES:
        mine = by_table[table.name]
        if not mine or table.clock_mhz == 765.0:
            continue
        predicted, measured = (
            np.array([row[name] for row in mine], np.float64)
            for name in ("predicted_ns", "measured_ns")
        )
        errors = np.log(measured / (best_factor(predicted, measured) * predicted))
        drawn = np.random.default_rng(SEED).permutation(len(mine))[:rows].tolist()
        for at in drawn:
            configuration = mine[at]["configuration"]
            what = f"{table.name}, {configuration}"
            case = MODELS / table.case
            features = looked_up(what, known, case, table.machine, configuration)
            kernel = table.case.split("_")[0].split(".")[0]
            found.append(Launch(kernel, what, features, float(errors[at])))
    return found


def of_published(known: Known) -> list[Launch]:
    """The first half of the published measurements, as first judged."""
    judged = {(row.kernel, row.machine): row for row in read_rows(FIRST)}
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in judged.values():
        ratios[row.machine].append(row.measured / row.predicted)
    found = []
    for one in read_measurements():
        row: Predicted | None = judged.get((one.kernel, one.machine))
        if one.half != "first" or one.machine not in GPUS or row is None:
            continue
        case = HERE / "kernels" / f"{one.case}.toml"
        what = f"{one.kernel} on {one.machine}"
        features = looked_up(what, known, case, one.machine, dict(one.configuration))
        ratio = row.measured / row.predicted / float(np.median(ratios[row.machine]))
        found.append(Launch(one.case, what, features, float(np.log(ratio))))
    return found


def widening(launches: list[Launch]) -> tuple[float, int, int]:
    """(how much wider, rows unlike the other cases, rows alike)."""
    unlike, alike = [], []
    for case in {one.case for one in launches}:
        others = span((o.features for o in launches if o.case != case), made_from="", wider=1.0)
        for one in launches:
            if one.case == case:
                (unlike if others.news(one.features) else alike).append(abs(one.error))
    if not unlike or not alike:
        return 1.0, len(unlike), len(alike)
    ratio = float(np.quantile(unlike, 0.8) / np.quantile(alike, 0.8))
    return ratio, len(unlike), len(alike)


def main(
    rows: Annotated[int, typer.Option(help="Rows of each table.")] = 6,
    anew: Annotated[
        bool, typer.Option("--anew", help="Simulate what an earlier run did, too.")
    ] = False,
) -> None:
    """Simulate, fit, write model/domain.json and results/domain.json."""
    stored = json.loads(ROWS.read_text()) if ROWS.exists() and not anew else []
    known = {row["what"]: row["features"] for row in stored}
    launches = [one for one in (*of_published(known), *of_tables(rows, known)) if one.features]
    lines = ",\n".join(json.dumps(one.__dict__) for one in launches)
    ROWS.write_text(f"[\n{lines}\n]\n")
    wider, unlike, alike = widening(launches)
    cases = ", ".join(dict.fromkeys(one.case for one in launches))
    domain: Domain = span(
        (one.features for one in launches),
        made_from=f"python -m benchmarks.breadth.domain, cases: {cases}",
        wider=round(max(wider, ASSUMED), 2),
    )
    STORED.write_text(json.dumps(as_stored(domain), indent=1) + "\n")
    figures = [
        Figure("launches", domain.launches, "", "", True),
        Figure("rows unlike the other cases", unlike, "", "", True),
        Figure("rows like the other cases", alike, "", "", True),
        Figure("errors of unlike over like rows, 80 % quantiles", wider, "", "", True),
        Figure("interval wider beyond the domain by", domain.wider, "", "", True),
        *(Figure(f"bound of {name}", bound, "", "", True) for name, bound in domain.bounds),
    ]
    report("domain", figures)


if __name__ == "__main__":
    typer.run(main)
