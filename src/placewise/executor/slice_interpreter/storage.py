"""Memory of the traced blocks: loads, stores and atomics of many lanes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, WINDOW_SHIFT, WINDOWS
from placewise.executor.device_memory.device import Bytes
from placewise.executor.slice_interpreter.active_warps import ActiveWarps
from placewise.executor.slice_interpreter.lane_loops import ANY_WINDOW
from placewise.executor.slice_interpreter.lane_loops import load as load_lanes
from placewise.executor.slice_interpreter.operations import Lanes, spread

_SHARED, _LOCAL, _PARAMETERS = (WINDOW_OF_SPACE[s] for s in ("shared", "local", "param"))
_INSIDE = (1 << WINDOW_SHIFT) - 1
_NOTHING = np.zeros(0, np.uint8)


class Storage:
    """Windows of device memory, shared memory of each block, local memory of each thread.

    Reads out of bounds give zero and writes out of bounds are dropped: the slice interpreter does
    not look for mistakes.
    """

    def __init__(
        self,
        windows: Mapping[int, Bytes],
        parameters: Bytes,
        block_of_warp: NDArray[np.int64],
        active: ActiveWarps,
        shared_bytes: int,
        local_bytes: int,
        shared_base: int = 0,
    ) -> None:
        self._active = active
        warps = len(block_of_warp)
        blocks = int(block_of_warp.max(initial=0)) + 1
        self._shared_bytes = -(-shared_bytes // 16) * 16
        self._shared_base = shared_base
        self._local_bytes = -(-local_bytes // 16) * 16
        self._windows = dict(windows)
        self._windows[_PARAMETERS] = _padded(parameters)
        self._windows[_SHARED] = np.zeros(blocks * self._shared_bytes, np.uint8)
        self._windows[_LOCAL] = np.zeros(warps * 32 * self._local_bytes, np.uint8)
        shared_start = (block_of_warp * self._shared_bytes)[:, None]
        self._shared_start = np.broadcast_to(shared_start, (warps, 32))
        self._common_start = np.broadcast_to(np.int64(0), (warps, 32))
        self._local_start = (np.arange(warps * 32) * self._local_bytes).reshape(warps, 32)

    def seen(
        self, space: str, address: Lanes, places: NDArray[np.int64], first: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(windows, offsets) of the addresses of n warps, as a trace records them. ``places`` (n,)
        are those of the warps among the active ones.

        Windows (n,) are those of the lanes ``first`` (n,). Offsets (n, 32) count bytes from the
        window's start, or from that of the block's shared or the thread's local memory.
        """
        wide = np.asarray(address, np.uint64)
        wide = np.broadcast_to(wide[places] if len(wide) > 1 else wide, (len(places), 32))
        if space in ("shared", "local"):
            return np.full(len(places), WINDOW_OF_SPACE[space]), wide.view(np.int64)
        start = wide[np.arange(len(places)), first]
        window = (start >> np.uint64(WINDOW_SHIFT)).view(np.int64)
        return window, (wide & np.uint64(_INSIDE)).view(np.int64)

    def within(self, address: Lanes) -> NDArray[np.bool_]:
        """Whether each address lies in the memory of a window; not for shared and local memory."""
        wide = np.asarray(address, np.uint64)
        sizes = np.zeros(WINDOWS, np.int64)
        for number, data in self._windows.items():
            sizes[number] = len(data)
        window = (wide >> np.uint64(WINDOW_SHIFT)).astype(np.int64)
        inside: NDArray[np.bool_] = (wide & np.uint64(_INSIDE)).astype(np.int64) < sizes[window]
        return inside

    def _places(
        self, space: str, address: Lanes, mask: NDArray[np.bool_]
    ) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[np.int64]]]:
        """For each window that lanes of ``mask`` access: (number, lanes, byte offsets).

        Lanes (warps, 32) are those in bounds; byte offsets (n,) are within the window's array.
        """
        wide = np.broadcast_to(np.asarray(address, np.uint64), mask.shape)
        offset = (wide & np.uint64(_INSIDE)).astype(np.int64)
        if space in ("shared", "local"):
            # The window is known without looking; spilled registers make such accesses frequent.
            found = [(WINDOW_OF_SPACE[space], mask)]
        else:
            window = (wide >> np.uint64(WINDOW_SHIFT)).astype(np.int64)
            active = window[mask]
            if not len(active):
                return
            least, most = int(active.min()), int(active.max())
            # Nearly all accesses are to one array.
            numbers = [least] if least == most else np.unique(active).tolist()
            found = [(w, mask if least == most else mask & (window == w)) for w in numbers]
        for number, lanes in found:
            if number == _SHARED:
                own = offset if space == "shared" else offset - self._shared_base
                here = lanes & (own >= 0) & (own < self._shared_bytes)
                yield number, here, (own + self._active.of(self._shared_start))[here]
            elif number == _LOCAL:
                here = lanes & (offset < self._local_bytes)
                yield number, here, (offset + self._active.of(self._local_start))[here]
            else:
                yield number, lanes, offset[lanes]

    def load(
        self, space: str, address: Lanes, mask: NDArray[np.bool_], bits: int, count: int
    ) -> list[Lanes]:
        """``count`` consecutive elements of ``bits`` for each lane of ``mask`` ((warps, 32))."""
        dtype = np.dtype(f"u{bits // 8}")
        results = [np.zeros(mask.shape, dtype) for _ in range(count)]
        wide = spread(np.asarray(address, np.uint64), mask.shape)
        if space in ("shared", "local"):
            self._load(WINDOW_OF_SPACE[space], ANY_WINDOW, wide, mask, 0, results)
            return results
        left = mask
        while (first := divmod(int(left.argmax()), left.shape[1])) and left[first]:
            window = int(wide[first]) >> WINDOW_SHIFT
            base = self._shared_base if window == _SHARED else 0
            if not self._load(window, window, wide, left, base, results):
                break
            left = left & (wide >> np.uint64(WINDOW_SHIFT) != window)
        return results

    # One parameter for each property of the lanes' memory.
    def _load(
        self,
        number: int,
        window: int,
        address: NDArray[np.uint64],
        mask: NDArray[np.bool_],
        base: int,
        results: list[Lanes],
    ) -> int:
        """Load from memory ``number`` at the addresses in ``window``; how many lie elsewhere."""
        memory = self._windows.get(number, _NOTHING)
        start, size = self._start_and_size(number, len(memory))
        elsewhere = 0
        for n, result in enumerate(results):
            elsewhere = load_lanes(
                memory, window, mask, address, start, base, size, result.itemsize, n,
                result.view(np.uint8),
            )  # fmt: skip
        return elsewhere

    def _start_and_size(self, number: int, size: int) -> tuple[NDArray[np.int64], int]:
        """(warps, 32) where each lane's own part of memory ``number`` of ``size`` bytes starts, and
        how many bytes it has."""
        if number == _SHARED:
            return self._active.of(self._shared_start), self._shared_bytes
        if number == _LOCAL:
            return self._active.of(self._local_start), self._local_bytes
        return self._active.of(self._common_start), size

    def store(
        self,
        space: str,
        address: Lanes,
        mask: NDArray[np.bool_],
        bits: int,
        values: Sequence[Lanes],
    ) -> None:
        """Store elements of ``bits``; of lanes with one address the highest one wins."""
        dtype = np.dtype(f"u{bits // 8}")
        for window, here, offset in self._places(space, address, mask):
            self._own(window)
            memory = self._elements(window, dtype)
            index = offset // dtype.itemsize
            for n, value in enumerate(values):
                inside = index + n < len(memory)
                given = np.broadcast_to(np.asarray(value).astype(dtype), mask.shape)[here]
                memory[index[inside] + n] = given[inside]

    def writable(
        self, space: str, address: Lanes, mask: NDArray[np.bool_], dtype: np.dtype[np.generic]
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.int64]]]:
        """For each window that lanes of ``mask`` access: (elements, lanes, indices).

        The elements may be changed in place. Indices (n,) may lie beyond the last element.
        """
        for window, here, offset in self._places(space, address, mask):
            self._own(window)
            yield self._elements(window, dtype), here, offset // dtype.itemsize

    def _own(self, window: int) -> None:
        """Copy a borrowed array before the first store to it."""
        data = self._windows.get(window)
        if data is not None and not data.flags.writeable:
            self._windows[window] = data.copy()

    def _elements(self, window: int, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        data = self._windows.get(window)
        if data is None:
            return np.zeros(0, dtype)
        return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)


def _padded(data: Bytes) -> Bytes:
    """``data`` padded with zeros to a multiple of 16 bytes."""
    result = np.zeros(-(-data.size // 16) * 16, np.uint8)
    result[: data.size] = data
    return result
