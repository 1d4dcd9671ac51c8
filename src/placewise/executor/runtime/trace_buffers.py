"""How full trace buffers pass from a worker's compiled code to their consumer."""

from __future__ import annotations

import ctypes
import queue
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory import address_space
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.trace import Taker, TraceChunk

_TRACE_WORDS = slice(Slot.RECORDS, Slot.ROW_LIMIT + 1)
_RUN_WORDS = slice(Slot.RUNS, Slot.RUN + 1)
_TAKE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)

TRACE_BUFFERS = 3
"""Trace buffers of a worker whose trace Python takes: one is being filled, one consumed, and one
evens out their speeds."""


class TraceBuffer:
    """Records, runs and rows that compiled code fills."""

    def __init__(self, records: int, offsets: int, *, large: bool) -> None:
        room = records + address_space.TRACE_SLACK
        self.records = _in_whole_lines(room)
        self.runs = np.zeros(room + 1, address_space.TRACE_RUN)
        self.rows: NDArray[Any] = np.zeros(
            offsets + address_space.OFFSETS_SLACK, np.int64 if large else np.int32
        )
        record, row = self.records.ctypes.data, self.rows.ctypes.data
        limits = (record + records * self.records.itemsize, row + offsets * self.rows.itemsize)
        self._words = np.array([record, record, limits[0], row, row, limits[1]], np.int64)

    def install(self, ctx: NDArray[np.int64]) -> None:
        """Have the compiled code fill the buffer from its start."""
        ctx[_TRACE_WORDS] = self._words
        ctx[_RUN_WORDS] = self.runs.ctypes.data
        ctx[Slot.OFFSET_SHIFT] = self.rows.itemsize.bit_length() - 1

    def filled(self, ctx: NDArray[np.int64]) -> tuple[int, int, int]:
        """Records, runs and offsets that the compiled code has written."""
        record, next_record, _, row, next_row, _ = ctx[_TRACE_WORDS].tolist()
        first, run = ctx[_RUN_WORDS].tolist()
        return (
            (next_record - record) // self.records.itemsize,
            (run - first) // self.runs.itemsize + 1,
            (next_row - row) // self.rows.itemsize,
        )

    def chunk(self, sizes: tuple[int, int, int], windows: NDArray[np.int32]) -> TraceChunk:
        """A trace chunk of ``sizes`` records, runs and offsets; ``windows`` maps windows to
        arrays."""
        n, runs, rows = sizes
        records = self.records[:n]
        window = records["base"] >> address_space.WINDOW_SHIFT
        start = window << address_space.WINDOW_SHIFT
        who = self.runs[:runs]
        each = np.diff(who["first"], append=n)
        return TraceChunk(
            site=records["site"],
            block=np.repeat(who["block"], each),
            warp=np.repeat(who["warp"], each),
            phase=np.repeat(who["phase"], each),
            mask=records["mask"],
            array=windows[window],
            base=records["base"] - start,
            upper=records["upper"] - start,
            stride=records["stride"],
            row=records["row"],
            offsets=self.rows[:rows],
        )


def _in_whole_lines(n: int) -> NDArray[Any]:
    """(n,) trace records, none of which crosses a boundary of cache lines."""
    size = address_space.TRACE_RECORD.itemsize
    room = np.zeros(n * size + size, np.uint8)
    start = -room.ctypes.data % size
    return room[start : start + n * size].view(address_space.TRACE_RECORD)


class HandOver(Protocol):
    """What a worker does with its trace."""

    def flush(self) -> None:
        """Called by the compiled code when its buffer is full."""

    def finish(self) -> None:
        """Hand over what the buffer holds, at the end."""

    def wake(self) -> None:
        """Have a worker that waits for a buffer go on, because its run has to end."""


class ToPython:
    """Buffers that another thread takes by ``deliver`` and gives back by :meth:`take_back`."""

    def __init__(
        self,
        ctx: NDArray[np.int64],
        deliver: Callable[[TraceBuffer, tuple[int, int, int]], None],
        *,
        large: bool,
    ) -> None:
        self._ctx = ctx
        self._deliver = deliver
        self._free: queue.SimpleQueue[TraceBuffer] = queue.SimpleQueue()
        self._large = large
        for _ in range(TRACE_BUFFERS):
            self._free.put(self._new())
        self._take()

    def _new(self) -> TraceBuffer:
        return TraceBuffer(
            address_space.TRACE_RECORDS, address_space.TRACE_OFFSETS, large=self._large
        )

    def _take(self) -> None:
        self._buffer = self._free.get()
        self._buffer.install(self._ctx)

    def flush(self) -> None:
        """Hand the buffer over and go on with a free one."""
        sizes = self._buffer.filled(self._ctx)
        if self._ctx[Slot.STOP]:
            # The run is ending; what it still records is of no use.
            self._buffer.install(self._ctx)
        elif sizes[0]:
            self._deliver(self._buffer, sizes)
            self._take()

    def finish(self) -> None:
        """Hand over what the buffer holds."""
        self.flush()

    def take_back(self, buffer: TraceBuffer) -> None:
        """Make a buffer whose content was consumed free again."""
        self._free.put(buffer)

    def wake(self) -> None:
        """Give a waiting worker a new buffer, so that it goes on."""
        self._free.put(self._new())


class ToCompiled:
    """One small buffer, taken by a compiled function that the worker itself calls."""

    def __init__(
        self, ctx: NDArray[np.int64], taker: Taker, refused: Callable[[], None], *, large: bool
    ) -> None:
        self._ctx = ctx
        self._taker = taker
        self._refused = refused
        self._buffer = TraceBuffer(
            address_space.TAKEN_RECORDS, address_space.TAKEN_OFFSETS, large=large
        )
        self._buffer.install(ctx)
        ctx[Slot.TAKE] = taker.function
        ctx[Slot.TAKE_STATE] = taker.state

    def flush(self) -> None:
        """Called where the compiled function has refused the buffer, or the run is ending."""
        if self._ctx[Slot.STOP]:
            self._buffer.install(self._ctx)
        else:
            self._refused()

    def finish(self) -> None:
        """Have the function take what the buffer holds."""
        take = _TAKE(self._taker.function)
        buffer = self._buffer
        places = [a.ctypes.data for a in (buffer.records, buffer.runs, buffer.rows)]
        while not self._ctx[Slot.STOP]:
            sizes = buffer.filled(self._ctx)
            pairs = [word for pair in zip(places, sizes, strict=True) for word in pair]
            if not sizes[0] or take(self._taker.state, *pairs) == 0:
                break
            self._refused()
        buffer.install(self._ctx)

    def wake(self) -> None:
        """Do nothing: the compiled taker never waits."""
