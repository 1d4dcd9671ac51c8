"""``make bench-interchange ARGS="FOLDER…"``: every published tuning problem in the T1 format.

The folders are clones of Kernel Tuner's benchmark hub and of KTT. Every JSON file in them that
describes a kernel is read as a case, and where it is CUDA its time is predicted. A file is loaded,
or refused with a reason; anything else is a failure. With ``--accel-sim FOLDER``, the folder of
Accel-Sim's trace parser in a clone of it, that parser reads traces of bundled cases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.interchange.accel_sim import CASES, disagreements
from benchmarks.results import Figure, report
from placewise.cases import load_case
from placewise.errors import PlacewiseError
from placewise.sweep import SweepPlan, SweptKernel, sweep

MACHINE = "A100"


@dataclass(frozen=True)
class Read:
    """One file, and what became of it."""

    file: Path
    language: str
    launch: str = ""
    """Grid and block where it loads."""
    refused: str = ""
    failed: str = ""
    """An exception that is none of Placewise's own."""


def problems(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """(file, language) of every tuning problem."""
    for folder in folders:
        for file in sorted(folder.rglob("*.json")):
            try:
                document = json.loads(file.read_text(encoding="utf-8-sig"))
            except (OSError, ValueError):
                continue
            kernel = document.get("KernelSpecification") if isinstance(document, dict) else None
            if isinstance(kernel, dict) and "ConfigurationSpace" in document:
                yield file, str(kernel.get("Language"))


def read(file: Path, language: str) -> Read:
    """Load one file."""
    try:
        case = load_case(file)
    except PlacewiseError as error:
        return Read(file, language, refused=error.message)
    except Exception as error:
        return Read(file, language, failed=f"{type(error).__name__}: {error}")
    grid, block = ("×".join(map(str, d)) for d in (case.launch.grid, case.launch.block))
    changed = case.description.partition("defaults break")[2]
    return Read(
        file, language, f"{grid} of {block}" + (f"; defaults break{changed}" * bool(changed))
    )


def predicted(files: list[Path], limit: float) -> dict[Path, str]:
    """The predicted time of each file on one machine, or why there is none."""
    if not files:
        return {}
    plan = SweepPlan(machines=[MACHINE], kernels=[SweptKernel(case=str(f)) for f in files])
    with tempfile.TemporaryDirectory() as folder:
        rows = sweep(plan, Path(folder), workers=1, time_limit=limit).rows
    found = {}
    for row in rows:
        ms, why = row.outcome.milliseconds, row.outcome.error or ""
        found[row.task.path] = f"{ms:.3g} ms" if ms is not None else why.partition("\n")[0]
    return found


def main() -> None:
    """Run the benchmark; exit status 1 where a figure does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each prediction")
    parser.add_argument("--accel-sim", type=Path, metavar="FOLDER", help="with trace_parser.cc")
    chosen = parser.parse_args()
    found = [read(file, language) for file, language in problems(chosen.folders)]
    cuda = [one for one in found if one.language == "CUDA"]
    loaded = [one for one in cuda if one.launch]
    times = predicted([one.file.absolute() for one in loaded], chosen.limit)
    table = Table(title=f"tuning problems, and their time on {MACHINE}")
    for column in ("file", "language", "launch", "time, or why not"):
        table.add_column(column, overflow="fold")
    for one in found:
        name = "/".join(one.file.parts[-2:])
        time = times.get(one.file.absolute(), "")
        table.add_row(name, one.language, one.launch, time or one.refused or one.failed)
    Console(width=160).print(table)
    timed = sum(time.endswith(" ms") for time in times.values())
    neither = [one for one in found if one.failed]
    figures = [
        Figure("tuning problems found", len(found), "files", "", True),
        Figure("of them CUDA", len(cuda), "files", "", True),
        Figure("CUDA: loaded", len(loaded), "files", "", True),
        Figure("CUDA: refused with the reason", len(cuda) - len(loaded), "files", "", True),
        Figure("CUDA: time predicted", timed, "files", "", True),
        Figure("neither loaded nor refused", len(neither), "files", "0", not neither),
    ]
    if chosen.accel_sim is not None:
        wrong = {case: why for case, why in disagreements(chosen.accel_sim).items() if why}
        for case, why in wrong.items():
            print(f"{case}: {why}")
        figures.append(
            Figure(
                "traces that Accel-Sim's parser reads otherwise", len(wrong),
                f"of {len(CASES)}", "0", not wrong,
            )
        )  # fmt: skip
    raise SystemExit(not report("interchange", figures))


if __name__ == "__main__":
    main()
