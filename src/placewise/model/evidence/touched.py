"""How many different sectors of each array a launch touches, from the blocks that are looked at.

A block's sectors are counted; how many of them other blocks touch as well is seen where two of the
blocks differ along one axis of the grid alone. Blocks along an axis that all want the same (a row's
multiplier, wanted in every column) add nothing; blocks that share nothing add all of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.slice_interpreter import SlicedTrace
from placewise.executor.trace import TraceChunk, lane_offsets, some_accesses
from placewise.kernel.launch import Launch
from placewise.model.evidence.block_kinds import BlockKinds

MOST_PAIRS = 8
"""Pairs of blocks that are compared along an axis."""
ERRORS = 2.0
"""Standard errors of the sample by which a footprint may be larger than estimated."""
MOST_HALO = 0.5
"""Share of a block's sectors that it has in common with the next block alone, at most: more of them
may be common to several blocks in a row, and are then counted for each."""
Sectors = dict[int, NDArray[np.int64]]
"""Different sectors that blocks touch, ascending, by row of the block."""


@dataclass(frozen=True)
class Touched:
    """What a launch touches of each array, by name."""

    sectors: Mapping[str, float]
    """Different sectors, at most."""
    full: Mapping[str, float]
    """Share of the sectors of the lines touched."""


def touched_sectors(
    seen: SlicedTrace,
    chunk: TraceChunk,
    blocks: BlockKinds,
    launch: Launch,
    whole: Mapping[str, float],
    sector_bytes: int,
    line_bytes: int,
) -> Touched:
    """Different sectors that the launch touches, by array; as many as the array has where its
    blocks are too different, or not all of their accesses were kept.

    ``seen`` is a trace of ``blocks``, ``chunk`` the accesses of all of them, ``whole`` the sectors
    of each array.
    """
    row = np.searchsorted(blocks.numbers, chunk.block)
    kept = np.zeros_like(seen.site_executions)
    np.add.at(kept, (row, chunk.site), 1)
    cut = kept.sum(axis=0) < seen.site_executions.sum(axis=0)
    width = np.array([site.lane_bytes for site in seen.sites] or [4], np.int64)
    found, full = dict(whole), dict.fromkeys(whole, 1.0)
    of_line = max(1, line_bytes // sector_bytes)

    def different(touched: Sectors) -> float:
        counts = np.array([len(touched.get(n, ())) for n in blocks.rows.tolist()], np.float64)
        estimate = blocks.sample.estimate(counts)
        each = float(estimate.total[0] + ERRORS * estimate.standard_error[0])
        return each * _distinct(touched, blocks.numbers, launch)

    for number, name in enumerate(seen.device.arrays):
        own = np.flatnonzero(chunk.array == number)
        if name not in whole or not len(own) or cut[np.unique(chunk.site[own])].any():
            continue
        sectors: Sectors = {}
        for n in np.unique(row[own]).tolist():
            rows = own[row[own] == n]
            some = some_accesses(chunk, rows)
            sectors[n] = _sectors(some, width[some.site], sector_bytes)
        lines = {n: np.unique(own // of_line) for n, own in sectors.items()}
        amount, of_lines = different(sectors), different(lines)
        if amount and of_lines:
            found[name] = min(whole[name], amount)
            room = min(of_lines * of_line, whole[name])
            full[name] = min(1.0, found[name] / room)
    return Touched(found, full)


def _sectors(chunk: TraceChunk, width: NDArray[np.int64], sector_bytes: int) -> NDArray[np.int64]:
    """Different sectors of accesses to one array, ascending; ``width`` (n,) bytes of a lane."""
    full = chunk.mask == np.uint32(0xFFFFFFFF)
    dense = (chunk.row < 0) & full & (np.abs(chunk.stride) <= sector_bytes)
    reach = 15 * chunk.stride[dense].astype(np.int64)
    # Of each half of the warp, all sectors from its first byte to its last one.
    start = np.concatenate([chunk.base[dense], chunk.upper[dense]])
    first = (start + np.tile(np.minimum(reach, 0), 2)) // sector_bytes
    last = start + np.tile(np.maximum(reach, 0) + width[dense] - 1, 2)
    longest = 16 + int(width.max(initial=0)) // sector_bytes + 2
    spans = np.unique(first * longest + last // sector_bytes - first)
    start, count = spans // longest, spans % longest + 1
    inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    found = [np.repeat(start, count) + inside]
    rows = np.flatnonzero(~dense)
    if len(rows):
        others = some_accesses(chunk, rows)
        active = (others.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)
        offsets = lane_offsets(others)
        for reached in (0, 1):
            end = offsets + reached * (width[rows, None] - 1)
            found.append(end[active] // sector_bytes)
    return np.unique(np.concatenate(found))


def _distinct(sectors: Sectors, numbers: NDArray[np.int64], launch: Launch) -> float:
    """Different sectors over the sum of all blocks'."""
    gx, gy, _ = launch.grid
    at = {n: _place(int(numbers[n]), gx, gy) for n in sectors}
    share = 1.0
    for axis, extent in enumerate(launch.grid):
        if extent == 1:
            continue
        pairs = [
            (abs(at[a][axis] - at[b][axis]), a, b)
            for a, b in combinations(sectors, 2)
            if all((at[a][k] == at[b][k]) != (k == axis) for k in range(3))
        ]
        far = [_overlap(sectors[a], sectors[b]) for d, a, b in sorted(pairs)[-MOST_PAIRS:] if d > 1]
        near = [_overlap(sectors[a], sectors[b]) for d, a, b in pairs[:MOST_PAIRS] if d == 1]
        overlap = float(np.mean(far)) if far else 0.0
        beside = float(np.mean(near)) if near else 0.0
        if beside <= MOST_HALO:
            overlap = max(overlap, beside)
        share *= (1.0 + (extent - 1) * (1.0 - overlap)) / extent
    return share


def _place(block: int, gx: int, gy: int) -> tuple[int, int, int]:
    return block % gx, block // gx % gy, block // (gx * gy)


def _overlap(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Sectors of both over those of the larger set."""
    return len(np.intersect1d(a, b, assume_unique=True)) / max(len(a), len(b))
