"""``python -m benchmarks.probe [--count N] [--data FOLDER]``: hidden hierarchies found out.

``--data`` is a folder of gpu-benches' ``gpu-latency_*.txt``. Writes results/probe.json.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.probe.drams import dram
from benchmarks.probe.hierarchies import Hidden, machines, some_hierarchy
from benchmarks.probe.judge import wrong_hierarchy
from benchmarks.probe.published import published
from benchmarks.results import Figure, report
from placewise.probe.averages import saavedra, saavedra_line, wong, wong_line
from placewise.probe.hierarchy import Plan, infer_hierarchy
from placewise.probe.simulated import SimulatedDevice

SEED = 1964
TEXTURE = 12 * 1024
"""Bytes of Fermi's texture L1."""


def main(
    count: Annotated[int, typer.Option(help="Random hierarchies.")] = 200,
    data: Annotated[Path | None, typer.Option(help="Folder of gpu-latency curves.")] = None,
) -> None:
    """Judge the probe, print a table, write results/probe.json."""
    figures = [_machine(hidden) for hidden in machines()]
    figures += _averages()
    figures += dram(SEED)
    figures += _random(count)
    if data is not None:
        figures += published(data)
    if not report("probe", figures):
        sys.exit(1)


def _found(hidden: Hidden, seed: int) -> tuple[list[str], list[str], int]:
    device = SimulatedDevice(
        hidden.hierarchy, bypasses=hidden.bypasses, reach_bytes=hidden.reach_bytes, seed=seed
    )
    found = infer_hierarchy(device, Plan(tlbs=bool(hidden.hierarchy.tlbs)))
    sure, unsure = wrong_hierarchy(found, hidden.hierarchy)
    doubts = sum(bool(s.doubts) for s in (*found.caches, *found.tlbs))
    for text in sure + unsure:
        Console(stderr=True).print(f"{hidden.name}: {text[:160]}", markup=False)
    return sure, unsure, doubts


def _machine(hidden: Hidden) -> Figure:
    sure, unsure, doubts = _found(hidden, SEED)
    wrong = len(sure) + len(unsure)
    return Figure(f"{hidden.name}: wrong parameters", wrong, "", "0", wrong == 0 and not doubts)


def _averages() -> list[Figure]:
    """Fermi's texture L1 by average latencies."""
    texture = machines()[1].hierarchy
    device = SimulatedDevice(replace(texture, tlbs=()), seed=SEED)
    strides = 2 ** np.arange(2, 10)
    by_stride = saavedra_line(saavedra(device, 4 * TEXTURE, strides))
    by_size = wong_line(wong(device, TEXTURE + np.arange(-2, 34) * 16, 16))
    return [
        Figure("texture L1's line after Saavedra", by_stride, "B", "32", by_stride == 32),
        Figure("texture L1's line after Wong", by_size, "B", "128 (wrong)", by_size == 128),
    ]


def _random(count: int) -> list[Figure]:
    right = confident = low = 0
    for number in range(count):
        hidden = some_hierarchy(np.random.default_rng([SEED, number]), number)
        sure, unsure, _ = _found(hidden, number)
        right += not sure and not unsure
        confident += bool(sure)
        low += bool(unsure) and not sure
    share = right / max(count, 1)
    return [
        Figure("random hierarchies", count, "", "200", count >= 200),
        Figure("all parameters right", share, "", ">= 0.95", share >= 0.95),
        Figure("something wrong, low confidence", low, "", "the rest", low == count - right),
        Figure("something wrong with high confidence", confident, "", "0", confident == 0),
    ]


if __name__ == "__main__":
    typer.run(main)
