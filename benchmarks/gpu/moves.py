"""Predicted beside measured gains of moving one array, on the bundled cases.

``python -m benchmarks.gpu.moves MEASURED MACHINE OUT`` takes every placement of ``MEASURED``, what
``benchmarks.gpu`` left, that differs from the present one in one array. It writes that form,
predicts its time over that of the present form, from flushed caches, and compares the ratio with
the measured one. The figures go to ``OUT``. Needs no GPU, but some minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.gpu.files import FiguresFile, MachineName, MeasuredFile, Nvrtc, Workers, flushed_ms
from benchmarks.results import Figure
from placewise import load_case, load_machine
from placewise.advisor.finalists import Demand
from placewise.advisor.forms.timed_form import time_beside, time_of_whole
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.forms.write_form import write_form
from placewise.advisor.prepare import Prepared, prepare
from placewise.errors import UnsupportedError
from placewise.space import Placement

DEMAND = Demand()
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Move:
    """One array of a case in another space; ratios are times over that of the present form."""

    case: str
    array: str
    space: str
    predicted: float
    low: float
    high: float
    """Interval that is to hold the measured ratio with a probability of 80 %."""
    is_recommended: bool
    """Whether the predicted gain and its probability are worth a recommendation."""
    measured: float


def moves_of(measurement: dict[str, Any], machine_name: str, nvrtc: str | None) -> list[Move]:
    """The moves of one array in ``measurement``, an entry of a file of ``benchmarks.gpu``."""
    case, machine = load_case(measurement["case"]), load_machine(machine_name)
    if nvrtc is not None:
        case = replace(case, options=replace(case.options, nvrtc=nvrtc))
    prepared = prepare(case, machine)
    present = time_form(prepared.kernel, prepared.case, machine)
    before = dict(prepared.legality.present)
    times = flushed_ms(measurement)
    now = times[Placement(tuple((array, before[array]) for array, _ in next(iter(times))))]
    whole: Timed | None = None
    found = []
    for placement, ms in times.items():
        moved = [(array, space) for array, space in placement if space != before[array]]
        if len(moved) == 1:
            timed = _timed(prepared, present, Placement(tuple(moved)))
            if timed is None:
                continue
            beside = present
            if timed.whole and not present.whole:
                beside = whole = whole or time_of_whole(prepared, present)
            made = ratio_of_times(timed, beside)
            if made is not None:
                ratios = (round(ratio, 4) for ratio in (made.ratio, made.low, made.high))
                is_recommended = DEMAND.is_met(made.ratio, made.faster)
                found.append(
                    Move(case.name, *moved[0], *ratios, is_recommended, round(ms / now, 4))
                )
    print(f"{case.name}: {len(found)} moves", file=sys.stderr, flush=True)
    return found


def _timed(prepared: Prepared, present: Timed, placement: Placement) -> Timed | None:
    """Time of a form; None where it cannot be written or does not compile."""
    try:
        form = write_form(prepared, placement)
    except UnsupportedError:
        return None
    if form.kernel is None:
        return None
    return time_beside(form.kernel, form.rewritten.case, prepared, present)


def figures(moves: Sequence[Move]) -> list[Figure]:
    """All moves together, then those to each space."""
    error = np.array([abs(m.predicted / m.measured - 1.0) for m in moves])
    widths = [m for m in moves if m.high > m.low]
    held = sum(m.low <= m.measured <= m.high for m in widths) / max(1, len(widths))
    recommended = [m for m in moves if m.is_recommended]
    right = sum(m.measured < 1.0 for m in recommended)
    # Time of what the verdict, or a rule, chooses over that of the faster of the two forms.
    best = [min(1.0, m.measured) for m in moves]
    costs = {
        "verdicts": [m.measured if m.is_recommended else 1.0 for m in moves],
        "never a move": [1.0 for _ in moves],
        "always a move": [m.measured for m in moves],
    }
    lost = {name: float(np.mean(np.divide(cost, best)) - 1.0) for name, cost in costs.items()}
    found = [
        Figure(f"median error of {len(moves)} predicted ratios", float(np.median(error)), "share",
               "", True),
        Figure("within 25 %", float(np.mean(error <= 0.25)), "share", "at least 0.90",
               float(np.mean(error <= 0.25)) >= 0.90),
        Figure(f"inside intervals of 80 %, of {len(widths)}", held, "share", "0.75 to 0.88",
               0.75 <= held <= 0.88),
        Figure(f"recommended moves that were faster, of {len(recommended)}",
               right / max(1, len(recommended)), "share", "at least 0.95",
               right >= 0.95 * len(recommended)),
        *(Figure(f"time lost with {name}", value, "share",
                 "at most 0.03" if name == "verdicts" else "", name != "verdicts" or value <= 0.03)
          for name, value in lost.items()),
    ]  # fmt: skip
    for space in dict.fromkeys(m.space for m in moves):
        own = [m for m in moves if m.space == space]
        error = np.array([abs(m.predicted / m.measured - 1.0) for m in own])
        gained = sum(m.measured * (1 + DEMAND.gain) <= 1.0 for m in own)
        chosen = [m for m in own if m.is_recommended]
        found.append(
            Figure(f"{space}: median error of {len(own)}; {gained} gained {DEMAND.gain:.0%} or "
                   f"more; of {len(chosen)} recommended "
                   f"{sum(m.measured < 1.0 for m in chosen)} were faster",
                   float(np.median(error)), "share", "", True)
        )  # fmt: skip
    return found


@app.command()
def main(
    measured: MeasuredFile,
    machine: MachineName,
    out: FiguresFile,
    workers: Workers = 1,
    nvrtc: Nvrtc = None,
) -> None:
    """Compare predicted with measured gains of moving one array."""
    measurements = json.loads(measured.read_text())["measurements"]
    moves: list[Move] = []
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(moves_of, measurements, repeat(machine), repeat(nvrtc)):
            moves += found
    documents = [asdict(figure) for figure in figures(moves)]
    out.write_text(
        json.dumps({"figures": documents, "moves": [asdict(m) for m in moves]}, indent=1) + "\n"
    )
    table = Table("figure", "value", box=None)
    for figure in figures(moves):
        table.add_row(figure.figure, f"{figure.value:.3f}")
    Console().print(table)


if __name__ == "__main__":
    app()
