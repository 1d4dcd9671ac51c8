"""What a launch sees of device memory: each array and module variable in a window of its own."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.device_memory.address_space import WINDOW_ARRAY, WINDOW_SHIFT, address
from placewise.executor.texture.texture_words import TexelRead

if TYPE_CHECKING:
    from placewise.executor.runtime.worker import Worker

Bytes = NDArray[np.uint8]
IdleKey = Hashable
"""What a worker was made for: translation, block, shared memory, instruction limit."""


@dataclass(frozen=True, eq=False)
class Region:
    """Memory behind one window."""

    window: int
    name: str
    data: Bytes
    array: int
    """Index among the run's arrays."""
    writable: bool
    defined: Bytes | None = None
    """(bytes,) 1 where a byte holds a value, for memory that came uninitialised; None for all."""
    texture: NDArray[np.int64] | None = None
    """Words of a texture or surface object, see :mod:`placewise.executor.texture.texture_words`."""

    @property
    def address(self) -> int:
        """Generic address of the first byte."""
        return address(self.window)


@dataclass(frozen=True, eq=False)
class Device:
    """Everything that the windows and the parameter buffer hold."""

    regions: tuple[Region, ...]
    arrays: tuple[str, ...]
    """Names that the trace's ``array`` column indexes."""
    parameters: Bytes
    textures: dict[int, TexelRead]
    """What is known of textures, by offset of their parameter."""
    first_window: int
    """Window of the first variable of the kernel's module."""
    large: bool
    """Whether some array has 2 GiB or more."""
    freed: dict[int, str]
    """Names of arrays that were freed, by window."""
    windows: NDArray[np.int64]
    """The window table, all but the windows that each worker has of its own."""
    version: int
    """Changes with every change of ``windows``, within one memory."""
    idle: dict[IdleKey, list[Worker]]
    """Workers of earlier launches on this memory, to be used again."""

    @functools.cached_property
    def array_of_window(self) -> NDArray[np.int32]:
        """Which of ``arrays`` lies in each window, or -1."""
        return self.windows[:, WINDOW_ARRAY].astype(np.int32)

    def region_near(self, where: int) -> tuple[Region, int] | None:
        """The region nearest to a generic address, and the byte offset in it (may be negative)."""
        best: tuple[int, Region, int] | None = None
        for region in self.regions:
            offset = where - region.address
            distance = max(-offset, offset - region.data.size, 0)
            if best is None or distance < best[0]:
                best = (distance, region, offset)
        return (best[1], best[2]) if best else None


def room_for(size: int, name: str) -> Bytes:
    """Memory at a multiple of 64 bytes, so that vector loads do not straddle cache lines.

    Raises CaseError where an array of ``size`` bytes has no place.
    """
    where = f"array '{name}'"
    if size > 1 << WINDOW_SHIFT:
        raise CaseError(f"{size:,} bytes; an array has at most {1 << WINDOW_SHIFT:,}", where=where)
    try:
        room = np.empty(size + 64, np.uint8)
    except MemoryError as error:
        raise CaseError(f"this computer has no {size:,} bytes left", where=where) from error
    start = -room.ctypes.data % 64
    return room[start : start + size]
