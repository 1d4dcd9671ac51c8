"""A sliced trace as a chunk of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOWS
from placewise.executor.slice_interpreter.run import SlicedTrace
from placewise.executor.trace import TraceChunk


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
    mask = _joined([a.mask for a in accesses], (0, 32), np.bool_)
    window = _joined([a.window for a in accesses], (0,), np.int64)
    offset = _joined([a.offset for a in accesses], (0, 32), np.int64)

    row = sliced.block_of_warp[warp]
    phase = sliced.step_phase[step, row] if len(step) else step
    # Stable: accesses of a warp stay in program order.
    order = np.lexsort((warp, phase, row))
    per_block = int(np.count_nonzero(sliced.block_of_warp == 0))
    return chunk_of_lanes(
        site=site,
        block=sliced.blocks[row],
        warp=warp % per_block,
        phase=phase,
        array=_array_of_window(sliced)[window],
        mask=mask,
        offset=offset,
        order=order,
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
    order: NDArray[np.int64] | None = None,
) -> TraceChunk:
    """A chunk of n accesses from (n,) columns, (n, 32) active lanes and their (n, 32) bytes from
    the start of the array. With ``order`` (n,) it has the accesses in that order."""
    # Lanes are put in order only where the chunk keeps them, as there are 32 times as many.
    order = np.arange(len(site)) if order is None else order
    base, upper, stride, of_stride = _affine(offset, mask)
    affine = of_stride[order]
    bits = np.packbits(mask, axis=1, bitorder="little").view("<u4").reshape(-1)
    listed = order[~affine]
    active = mask[listed]
    starts = np.full(len(site), -1, np.int64)
    starts[~affine] = np.cumsum(active.sum(axis=1)) - active.sum(axis=1)
    return TraceChunk(
        site=site[order].astype(np.int32),
        block=block[order].astype(np.int32),
        warp=warp[order].astype(np.int32),
        phase=phase[order].astype(np.int32),
        mask=bits[order],
        array=array[order].astype(np.int32),
        base=base[order],
        upper=upper[order],
        stride=stride[order].astype(np.int32),
        row=starts.astype(np.int32),
        offsets=offset[listed][active],
    )


def _joined(parts: list[NDArray[Any]], empty: tuple[int, ...], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(empty, dtype)


def _array_of_window(sliced: SlicedTrace) -> NDArray[np.int32]:
    arrays = np.full(WINDOWS, -1, np.int32)
    for region in sliced.device.regions:
        arrays[region.window] = region.array
    return arrays


def _affine(
    offset: NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """(first, second, stride, affine) of n accesses.

    ``affine`` (n,) holds for full warps whose two halves have this one stride; then ``first`` and
    ``second`` are the offsets of the half warps' first lanes. Else both are that of the first
    active lane, and the stride is 0: what other lanes hold may be no address at all.
    """
    if not len(offset):
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros(0, np.bool_)
    stride = offset[:, 1] - offset[:, 0]
    steps = np.diff(offset.reshape(-1, 2, 16), axis=2)
    affine = (steps == stride[:, None, None]).all(axis=(1, 2)) & mask.all(axis=1)
    affine &= np.abs(stride) < 1 << 31
    place = np.take_along_axis(offset, mask.argmax(axis=1)[:, None], axis=1)[:, 0]
    first, second = (np.where(affine, offset[:, lane], place) for lane in (0, 16))
    return first, second, np.where(affine, stride, 0), affine
