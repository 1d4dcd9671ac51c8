"""``python -m benchmarks.probe [--count N] [--seed N] [--data FOLDER]``: hidden things found out.

``--data`` is a folder of gpu-benches' ``gpu-latency_*.txt``. Writes results/probe.json, or with
another seed than the usual one results/probe-seed-N.json.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.probe.drams import dram
from benchmarks.probe.hierarchies import Hidden, machines, some_hierarchy
from benchmarks.probe.judge import wrong_hierarchy
from benchmarks.probe.published import published
from benchmarks.probe.session import whole_probe
from benchmarks.results import Figure, report
from placewise.probe.chase import Chase, Timings
from placewise.probe.infer.averages import saavedra, saavedra_line, wong, wong_line
from placewise.probe.infer.hierarchy import Plan, infer_hierarchy
from placewise.probe.simulated.chases import SimulatedDevice

SEED = 1964
LOOP_CYCLES = 30.0
"""Between two loads of a chase, beside the load: as in a simulated probe."""
CLOCK_HZ = 1.5e9
"""Of a device that is rather slow."""
TEXTURE = 12 * 1024
"""Bytes of Fermi's texture L1."""


def main(
    count: Annotated[int, typer.Option(help="Random hierarchies.")] = 200,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = SEED,
    data: Annotated[Path | None, typer.Option(help="Folder of gpu-latency curves.")] = None,
) -> None:
    """Judge the probe, print a table, write results/probe.json."""
    hidden = [*machines()]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        # The longest first, so that none is left over at the end.
        known = pool.map(_found, reversed(hidden), [seed] * len(hidden))
        drawn = pool.map(_drawn, [seed] * count, range(count))
        figures = [
            figure
            for one, outcome in zip(hidden, reversed([*known]), strict=True)
            for figure in _machine(one, outcome)
        ]
        figures += _random([*drawn])
    figures += _averages(seed)
    figures += dram(seed)
    figures += whole_probe(seed)
    if data is not None:
        figures += published(data)
    if not report("probe" if seed == SEED else f"probe-seed-{seed}", figures):
        sys.exit(1)


@dataclass(frozen=True)
class Outcome:
    """What was wrong in what was found of a hierarchy."""

    sure: list[str]
    """Found otherwise, with high confidence."""
    unsure: list[str]
    doubts: int
    """Levels with low confidence."""
    cycles: float
    """What the chases would have taken on the device."""


class Timed(SimulatedDevice):
    """Counts the cycles that its chases take."""

    cycles = 0.0

    def run(self, chase: Chase) -> Timings:
        before = self.loads
        timings = super().run(chase)
        self.cycles += (self.loads - before) * (float(np.mean(timings.cycles)) + LOOP_CYCLES)
        return timings


def _found(hidden: Hidden, seed: int) -> Outcome:
    device = Timed(
        hidden.hierarchy, bypasses=hidden.bypasses, reach_bytes=hidden.reach_bytes, seed=seed
    )
    found = infer_hierarchy(device, Plan(tlbs=bool(hidden.hierarchy.tlbs)))
    sure, unsure = wrong_hierarchy(found, hidden.hierarchy)
    doubts = sum(bool(s.doubts) for s in (*found.caches, *found.tlbs))
    for text in sure + unsure:
        Console(stderr=True).print(f"{hidden.name}: {text[:160]}", markup=False)
    return Outcome(sure, unsure, doubts, device.cycles)


def _drawn(seed: int, number: int) -> Outcome:
    return _found(some_hierarchy(np.random.default_rng([seed, number]), number), number)


def _machine(hidden: Hidden, outcome: Outcome) -> list[Figure]:
    wrong = len(outcome.sure) + len(outcome.unsure)
    seconds = outcome.cycles / CLOCK_HZ
    return [
        Figure(
            f"{hidden.name}: wrong parameters",
            wrong,
            "",
            "0",
            wrong == 0 and not outcome.doubts,
        ),
        Figure(f"{hidden.name}: time on the device", seconds, "s", "< 200", seconds < 200),
    ]


def _averages(seed: int) -> list[Figure]:
    """Fermi's texture L1 by average latencies."""
    texture = machines()[1].hierarchy
    device = SimulatedDevice(replace(texture, tlbs=()), seed=seed)
    strides = 2 ** np.arange(2, 10)
    by_stride = saavedra_line(saavedra(device, 4 * TEXTURE, strides))
    by_size = wong_line(wong(device, TEXTURE + np.arange(-2, 34) * 16, 16))
    return [
        Figure("texture L1's line after Saavedra", by_stride, "B", "32", by_stride == 32),
        Figure("texture L1's line after Wong", by_size, "B", "128 (wrong)", by_size == 128),
    ]


def _random(outcomes: list[Outcome]) -> list[Figure]:
    count = len(outcomes)
    right = sum(not o.sure and not o.unsure for o in outcomes)
    confident = sum(bool(o.sure) for o in outcomes)
    low = sum(bool(o.unsure) and not o.sure for o in outcomes)
    share = right / max(count, 1)
    return [
        Figure("random hierarchies", count, "", "200", count >= 200),
        Figure("all parameters right", share, "", ">= 0.95", share >= 0.95),
        Figure("something wrong, low confidence", low, "", "the rest", low == count - right),
        Figure("something wrong with high confidence", confident, "", "0", confident == 0),
    ]


if __name__ == "__main__":
    typer.run(main)
