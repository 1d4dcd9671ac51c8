"""Predicted beside measured times of the bundled cases as they are.

``python -m benchmarks.gpu.bundled MEASURED MACHINE OUT`` predicts every case of ``MEASURED``, what
``benchmarks.gpu`` left, in its present placement, with warm caches (``--flushed``: with cold ones)
and at the clock that was measured at. The figures go to ``OUT``. Needs no GPU. The measured kernels
were compiled on the GPU's machine; ``--nvrtc`` names the compiler if it was another version than
the installed one.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.gpu.files import FiguresFile, MachineName, MeasuredFile, Nvrtc, Workers
from benchmarks.results import Figure
from placewise import predict_time

CACHES = {"warm": "warm", "flushed": "cold"}
"""What a prediction calls the state of L2 before a measured launch."""
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Timed:
    """One case."""

    name: str
    measured_ms: float
    predicted_ms: float
    range_ms: tuple[float, float]
    limited_by: str

    @property
    def ratio(self) -> float:
        """Predicted over measured time."""
        return self.predicted_ms / self.measured_ms


def timed(measurement: dict[str, Any], machine: str, nvrtc: str | None, l2: str) -> Timed:
    """Predict the case of ``measurement``, an entry of a file of ``benchmarks.gpu``."""
    # The first record is that of the present placement.
    timings = measurement["records"][0]["timings"]
    measured_ms = next(t["median_ms"] for t in timings if t["l2"] == l2)
    clock = measurement["device"]["clocks_before"]["sm_mhz"]
    found = predict_time(measurement["case"], machine, nvrtc=nvrtc, clock=clock, caches=CACHES[l2])
    return Timed(
        measurement["case"], measured_ms, found.milliseconds, found.range_ms, found.limited_by
    )


def figures(rows: list[Timed]) -> list[Figure]:
    """All together, then each case."""
    error = np.abs([row.ratio - 1.0 for row in rows])
    inside = [row.range_ms[0] <= row.measured_ms <= row.range_ms[1] for row in rows]
    median, within = float(np.median(error)), float(np.mean(error <= 0.25))
    held = sum(inside) / len(inside)
    return [
        Figure(f"median error of {len(rows)}", median, "share", "at most 0.10", median <= 0.10),
        Figure("within 25 %", within, "share", "at least 0.90", within >= 0.90),
        Figure("within the program's intervals", held, "share", "0.75 to 0.88",
               0.75 <= held <= 0.88),
        *(
            Figure(row.name, row.ratio, "predicted over measured",
                   "measured within the interval", found)
            for row, found in zip(rows, inside, strict=True)
        ),
    ]  # fmt: skip


@app.command()
def main(
    measured: MeasuredFile,
    machine: MachineName,
    out: FiguresFile,
    workers: Workers = 1,
    nvrtc: Nvrtc = None,
    flushed: Annotated[bool, typer.Option("--flushed", help="L2 flushed before.")] = False,
) -> None:
    """Compare predictions with measured times."""
    measurements = json.loads(measured.read_text())["measurements"]
    with ProcessPoolExecutor(workers) as pool:
        rows = list(
            pool.map(
                timed,
                measurements,
                repeat(machine),
                repeat(nvrtc),
                repeat("flushed" if flushed else "warm"),
            )
        )
    table = Table("case", "measured", "predicted", "ratio", "limited by", box=None)
    for row in rows:
        table.add_row(
            row.name, f"{1e3 * row.measured_ms:.1f} us", f"{1e3 * row.predicted_ms:.1f} us",
            f"{row.ratio:.2f}", row.limited_by,
        )  # fmt: skip
    out.write_text(json.dumps([asdict(f) for f in figures(rows)], indent=1) + "\n")
    Console().print(table)


if __name__ == "__main__":
    app()
