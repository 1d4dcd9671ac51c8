"""What a kernel asks of the host while it runs: ``printf``, and the texts of failed assertions."""

from __future__ import annotations

import ctypes
import functools
from collections import deque
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory import address_space
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.runtime.printf import Conversion, format_text, parse_format

PRINTF_BYTES = 1 << 20
"""Most bytes of text that are kept of a launch. A device keeps as many bytes of formats and
arguments unless told otherwise (``cudaLimitPrintfFifoSize``), and overwrites the oldest ones as
this does."""

_OPERANDS = ctypes.c_int64 * (4 * 32)
_RESULTS = ctypes.c_int64 * 32
_STRING = 1 << 16
"""Longest string that is read."""


class HostCall(IntEnum):
    """Calls, as compiled code numbers them; a ``host`` node names them in lower case."""

    PRINTF = 0
    """Format, arguments; the result is the number of arguments."""
    ASSERT = 1
    """Expression, file, line, function."""


@dataclass(frozen=True)
class Assertion:
    """A failed ``assert``."""

    expression: str
    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Printed:
    """What a launch printed, in order; only the last part where that was too much."""

    text: str = ""
    dropped: int = 0
    """Calls whose output is not in ``text``, the first ones."""


class HostCalls:
    """Takes the calls of one worker."""

    def __init__(self, ctx: NDArray[np.int64], windows: NDArray[np.int64]) -> None:
        self._ctx = ctx
        self._windows = windows
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0
        self.assertion: Assertion | None = None

    def clear(self) -> None:
        """Forget what earlier launches printed."""
        self._lines.clear()
        self._size = self._dropped = 0
        self.assertion = None

    def printed(self) -> Printed:
        """All that was printed since the last :meth:`clear`."""
        return Printed(b"".join(self._lines).decode(errors="replace"), self._dropped)

    def call(self, number: int, mask: int, arguments: int, results: int) -> None:
        """One call of a warp; ``arguments`` and ``results`` point to 32 words for each operand."""
        operands = _OPERANDS.from_address(arguments)
        values = _RESULTS.from_address(results)
        for lane in range(32):
            if not mask >> lane & 1:
                continue
            given = operands[lane::32]
            if number == HostCall.PRINTF:
                values[lane] = self._printf(given[0], given[1], lane)
            elif self.assertion is None:
                self._assert(given, lane)

    def _printf(self, format_: int, arguments: int, lane: int) -> int:
        pieces = parsed(self._string(format_, lane))
        text = format_text(
            pieces,
            lambda offset, size: self._bytes(arguments + offset, size, lane).ljust(size, b"\0"),
            lambda address: self._string(address, lane),
        )
        self._lines.append(text)
        self._size += len(text)
        while self._size > PRINTF_BYTES:
            self._size -= len(self._lines.popleft())
            self._dropped += 1
        return sum(isinstance(p, Conversion) for p in pieces)

    def _assert(self, operands: list[int], lane: int) -> None:
        expression, file, line, function = operands
        texts = [self._string(a, lane).decode(errors="replace") for a in (expression, file)]
        name = self._string(function, lane).decode(errors="replace")
        self.assertion = Assertion(texts[0], texts[1], line & 0xFFFFFFFF, name)

    def _string(self, address: int, lane: int) -> bytes:
        return self._bytes(address, _STRING, lane).partition(b"\0")[0]

    def _bytes(self, address: int, size: int, lane: int) -> bytes:
        """At most ``size`` bytes at a generic address, fewer at the end of its memory."""
        window, offset = (
            address >> address_space.WINDOW_SHIFT,
            address & ((1 << address_space.WINDOW_SHIFT) - 1),
        )
        if window == address_space.WINDOW_OF_SPACE["local"]:
            room = int(self._ctx[Slot.LOCAL_BYTES])
            thread = 32 * int(self._ctx[Slot.WARP]) + lane
            host = int(self._ctx[Slot.LOCAL_BASE]) + thread * room
        elif 0 < window < address_space.WINDOWS:
            room, host = int(self._windows[window, 1]), int(self._windows[window, 2])
        else:
            return b""
        return ctypes.string_at(host + offset, max(0, min(size, room - offset)))


@functools.lru_cache(maxsize=256)
def parsed(text: bytes) -> tuple[bytes | Conversion, ...]:
    """A format string, parsed once."""
    return parse_format(text)
