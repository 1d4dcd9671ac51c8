"""What following the program's advice gains on a GPU, on the bundled cases.

``python -m benchmarks.gpu.verdicts MEASURED MACHINE OUT`` asks for advice on every case of
``MEASURED``, the times of all placements that ``benchmarks.gpu`` left, and looks up what the
recommended placement gained there, beside the best of all that were measured. The figures go to
``OUT``. Needs no GPU, but the advice takes minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.gpu.files import FiguresFile, MachineName, MeasuredFile, Nvrtc, Workers, flushed_ms
from benchmarks.results import Figure
from placewise import advise, load_case

FEWEST = 0.02
"""Gain from which a measured placement counts as faster."""
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Verdict:
    """Advice on one case beside what was measured."""

    case: str
    moves: str
    """What was recommended; empty: keep it as it is."""
    predicted: float
    """Present over recommended time."""
    measured: float | None
    """The same as measured; None where that placement was not."""
    best: float
    """Present time over that of the fastest placement."""
    best_moves: str


def verdict(measurement: dict[str, Any], machine: str, nvrtc: str | None) -> Verdict:
    """Advice on the case of ``measurement``, an entry of a file of ``benchmarks.gpu``."""
    name = measurement["case"]
    advice = advise(load_case(name), machine, nvrtc=nvrtc)
    present = advice.present.placement
    # Arrays that a kernel declares itself have spaces in the advice alone.
    arrays = [array for array, _ in measurement["records"][0]["placement"]]
    measured = flushed_ms(measurement).items()
    times = {tuple(space for _, space in placement): ms for placement, ms in measured}
    was = tuple(present[array] for array in arrays)
    now = times[was]
    fastest = min(times, key=lambda spaces: times[spaces])
    chosen = advice.recommended
    there: float | None = now
    if chosen is not None:
        others = {array for array, _, _ in chosen.placement.moved(present)} - set(arrays)
        # The measured tiles hold all of an array; those by chunks of a loop are other code.
        timed = not others and chosen.placement.chunk is None
        there = times.get(tuple(chosen.placement[a] for a in arrays)) if timed else None
    moved = [
        f"{array} → {space}"
        for array, space, before in zip(arrays, fastest, was, strict=True)
        if space != before
    ]
    return Verdict(
        name,
        chosen.placement.describe(present) if chosen else "",
        1 / chosen.ratio if chosen else 1.0,
        None if there is None else now / there,
        now / times[fastest],
        "; ".join(moved),
    )


def figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """How often a recommended move was faster, and the time that the advice leaves on the table."""
    moved = [v for v in verdicts if v.moves and v.measured is not None]
    right = sum((v.measured or 0.0) > 1.0 for v in moved)
    kept = [v for v in verdicts if not v.moves]
    lost = [v.best / (v.measured or 1.0) - 1.0 for v in verdicts if v.measured is not None]
    return [
        Figure("recommended moves that were faster", right / max(len(moved), 1), f"of {len(moved)}",
               "at least 0.95", right >= 0.95 * len(moved)),
        Figure("cases kept where some placement was over 2 % faster",
               sum(v.best > 1 + FEWEST for v in kept), f"of {len(kept)}", "", True),
        Figure("time above the fastest placement's, median", float(np.median(lost)), "",
               "at most 0.03", float(np.median(lost)) <= 0.03),
        Figure("time above the fastest placement's, mean", float(np.mean(lost)), "",
               "at most 0.03", float(np.mean(lost)) <= 0.03),
    ]  # fmt: skip


@app.command()
def main(
    measured: MeasuredFile,
    machine: MachineName,
    out: FiguresFile,
    workers: Workers = 1,
    nvrtc: Nvrtc = None,
) -> None:
    """Compare advice with measured times."""
    measurements = json.loads(measured.read_text())["measurements"]
    table = Table("case", "recommended", "predicted", "measured", "best measured", "by", box=None)
    found: list[Verdict] = []
    with ProcessPoolExecutor(workers) as pool:
        for one in pool.map(verdict, measurements, repeat(machine), repeat(nvrtc)):
            found.append(one)
            print(one, file=sys.stderr, flush=True)
            there = "not measured" if one.measured is None else f"{one.measured:.2f}"
            table.add_row(
                one.case, one.moves or "keep it", f"{one.predicted:.2f}", there,
                f"{one.best:.2f}", one.best_moves,
            )  # fmt: skip
    rows = [
        Figure(f"{v.case}: {v.moves or 'keep it'}", v.measured if v.measured else "not measured",
               "times as fast", f"predicted {v.predicted:.2f}, best {v.best:.2f} ({v.best_moves})",
               v.measured is not None and v.measured > 1 - FEWEST)
        for v in found
    ]  # fmt: skip
    documents = [asdict(figure) for figure in (*figures(found), *rows)]
    out.write_text(json.dumps(documents, indent=1) + "\n")
    Console().print(table)


if __name__ == "__main__":
    app()
