"""A sliced trace as a chunk of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOWS
from placewise.executor.slice_interpreter.affine_lanes import describe_lanes
from placewise.executor.slice_interpreter.kept_accesses import Accesses
from placewise.executor.slice_interpreter.run import SlicedTrace
from placewise.executor.trace import TraceChunk

_ROWS = 8192
"""Approximate number of warp accesses whose lanes are worked on together: few enough that they stay
in the processor's caches."""


class _Lanes(NamedTuple):
    """Lanes of n warp accesses, as :class:`TraceChunk` has them; ``start`` (n,) are the places of
    their offsets in ``offsets``, -1 where two half warps with a stride say it all."""

    mask: NDArray[np.uint32]
    base: NDArray[np.int64]
    upper: NDArray[np.int64]
    stride: NDArray[np.int64]
    start: NDArray[np.int64]
    offsets: NDArray[np.int64]


def chunk_of(sliced: SlicedTrace) -> TraceChunk:
    """All accesses of a sliced trace, in the order of an execution's trace.

    That is by block, phase and warp, in program order within a warp. ``TraceChunk.block`` holds the
    launch's block numbers.
    """
    accesses = sliced.accesses
    sizes = np.array([len(a.warps) for a in accesses], np.int64)
    site: NDArray[Any] = np.repeat(np.array([a.site for a in accesses], np.int32), sizes)
    step: NDArray[Any] = np.repeat(np.array([a.step for a in accesses], np.int64), sizes)
    warp = _joined([a.warps for a in accesses], (0,), np.int64)
    window = _joined([a.window for a in accesses], (0,), np.int64)
    row = sliced.block_of_warp[warp]
    phase = sliced.step_phase[step, row] if len(step) else step
    # Stable: accesses of a warp stay in program order.
    order = np.lexsort((warp, phase, row))
    per_block = int(np.count_nonzero(sliced.block_of_warp == 0))
    lanes = _all_lanes(
        _lanes(
            _joined([a.mask for a in some], (0, 32), np.bool_),
            _joined([a.offset for a in some], (0, 32), np.int64),
        )
        for some in _in_parts(accesses)
    )
    return _chunk(
        site[order],
        sliced.blocks[row][order],
        (warp % per_block)[order],
        phase[order],
        _array_of_window(sliced)[window[order]],
        lanes._replace(**{name: getattr(lanes, name)[order] for name in _Lanes._fields[:-1]}),
    )


# Keyword-only: one parameter for each column.
def chunk_of_lanes(
    *,
    site: NDArray[Any],
    block: NDArray[Any],
    warp: NDArray[Any],
    phase: NDArray[Any],
    array: NDArray[Any],
    mask: NDArray[np.bool_],
    offset: NDArray[np.int64],
) -> TraceChunk:
    """A chunk of n accesses from (n,) columns, (n, 32) active lanes and their (n, 32) bytes from
    the start of the array."""
    return _chunk(site, block, warp, phase, array, _lanes(mask, offset))


def _chunk(
    site: NDArray[Any],
    block: NDArray[Any],
    warp: NDArray[Any],
    phase: NDArray[Any],
    array: NDArray[Any],
    lanes: _Lanes,
) -> TraceChunk:
    return TraceChunk(
        site=site.astype(np.int32),
        block=block.astype(np.int32),
        warp=warp.astype(np.int32),
        phase=phase.astype(np.int32),
        mask=lanes.mask,
        array=array.astype(np.int32),
        base=lanes.base,
        upper=lanes.upper,
        stride=lanes.stride.astype(np.int32),
        row=lanes.start.astype(np.int32),
        offsets=lanes.offsets,
    )


def _in_parts(accesses: Sequence[Accesses]) -> Iterator[list[Accesses]]:
    """``accesses`` in stretches of about ``_ROWS`` warp accesses; at least one, perhaps empty."""
    part: list[Accesses] = []
    rows = 0
    for access in accesses:
        part.append(access)
        rows += len(access.warps)
        if rows >= _ROWS:
            yield part
            part, rows = [], 0
    yield part


def _lanes(mask: NDArray[np.bool_], offset: NDArray[np.int64]) -> _Lanes:
    """Mask, start and stride of accesses, from (n, 32) active lanes and their bytes from the start
    of the array."""
    n = len(mask)
    bits, affine = np.zeros(n, np.uint32), np.zeros(n, np.bool_)
    base, upper, stride = np.zeros((3, n), np.int64)
    describe_lanes(mask, offset, bits, base, upper, stride, affine)
    scattered = ~affine
    active = mask[scattered]
    count = active.sum(axis=1)
    start = np.full(n, -1, np.int64)
    start[scattered] = np.cumsum(count) - count
    return _Lanes(bits, base, upper, stride, start, offset[scattered][active])


def _all_lanes(parts: Iterator[_Lanes]) -> _Lanes:
    """The lanes of all parts, one after another."""
    moved, before = [], 0
    for part in parts:
        start = np.where(part.start >= 0, part.start + before, -1)
        moved.append(part._replace(start=start))
        before += len(part.offsets)
    return _Lanes(*(np.concatenate(columns) for columns in zip(*moved, strict=True)))


def _joined(parts: list[NDArray[Any]], empty: tuple[int, ...], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(empty, dtype)


def _array_of_window(sliced: SlicedTrace) -> NDArray[np.int32]:
    arrays = np.full(WINDOWS, -1, np.int32)
    for region in sliced.device.regions:
        arrays[region.window] = region.array
    return arrays
