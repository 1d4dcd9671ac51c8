"""From the timeline of one SM's blocks to the whole launch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.warps import Pace, run

INSTRUCTIONS = 250_000
"""Issued in one timeline, about: tens of milliseconds."""


class Course(NamedTuple):
    """Cycles of an SM."""

    first: float
    """Cycles of an SM's first resident blocks, from their start to their end."""
    per_block: float
    """Cycles that each further block adds while the SM is full."""
    total: float


def course(
    table: NDArray[np.float64],
    paths: WarpPaths,
    offsets: NDArray[np.int64],
    resident: int,
    blocks_per_sm: float,
    pace: Pace,
) -> Course:
    """Cycles of the average SM of a launch.

    ``offsets`` (rows of ``table``,) are the instructions' offsets, ascending; ``resident`` blocks
    an SM holds, ``blocks_per_sm`` it runs on the average. The SM is run with its resident blocks
    and with some times as many; further ones take as long as those between the two. Where an SM
    gets no more than it holds, the busiest SM counts.
    """
    path = np.searchsorted(offsets, paths.instructions)

    def cycles(blocks: int, held: int) -> float:
        o = paths
        return float(run(table, path, o.start, o.length, o.warps, held, blocks, pace))

    most = int(np.ceil(blocks_per_sm))
    if most <= resident:
        first = cycles(most, most)
        return Course(first, first / most, first * paths.scale)
    per_block = float(paths.length[paths.warps].sum()) / len(paths.warps)
    more = int(np.clip(INSTRUCTIONS / (per_block * resident), 1, 4)) * resident
    first = cycles(resident, resident)
    if most <= resident + more:
        total = cycles(most, resident)
        rate = (total - first) / (most - resident)
        total -= rate * (most - blocks_per_sm) * _evenness(blocks_per_sm, resident)
        return Course(first, rate, total * paths.scale)
    rate = (cycles(resident + more, resident) - first) / more
    return Course(first, rate, (first + (blocks_per_sm - resident) * rate) * paths.scale)


def _evenness(blocks_per_sm: float, resident: int) -> float:
    """Share of the last, partial turn that SMs make up for: blocks go to whichever SM has room, so
    that over many turns the SMs end together."""
    return float(1.0 - np.exp(-(blocks_per_sm / resident - 1.0)))
