"""The access trace: what the memory system sees of a run, streamed in chunks of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Site:
    """One static memory instruction of a kernel; a chunk's ``site`` column indexes these."""

    opcode: str
    """As in PTX, e.g. ``ld.global.nc.f32``."""
    space: str
    """global, shared, constant, local, texture, or generic."""
    kind: str
    """load, store or atomic."""
    lane_bytes: int
    """Bytes per lane, all vector elements together."""
    ptx_line: int
    source_line: int | None
    source_file: str | None = None


@dataclass(frozen=True, eq=False)
class TraceChunk:
    """``n`` warp accesses. A block's warps run one after another between barriers, so chunks are
    ordered within a warp (program order) but not as a machine would interleave warps.

    Lane l's byte offset from the start of its array is ``base[i] + stride[i] * l`` where
    ``row[i] < 0`` (affine), else ``offsets[row[i], l]``; only lanes set in ``mask[i]`` count, the
    other columns of ``offsets`` repeat an active lane's value.
    """

    site: NDArray[np.int32]
    """(n,) index into the run's sites."""
    block: NDArray[np.int32]
    """(n,) linear block index, x fastest."""
    warp: NDArray[np.int32]
    """(n,) warp within its block."""
    mask: NDArray[np.uint32]
    """(n,) active lanes."""
    array: NDArray[np.int32]
    """(n,) index into the run's ``arrays``; -1 for shared and local memory."""
    base: NDArray[np.int64]
    """(n,) bytes."""
    stride: NDArray[np.int32]
    """(n,) bytes per lane."""
    row: NDArray[np.int32]
    """(n,) row of ``offsets``, or -1 where affine."""
    offsets: NDArray[np.int64]
    """(m, 32) bytes."""


class TraceConsumer(Protocol):
    """Receives a run's accesses; ``begin`` once before the first chunk."""

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """``arrays`` are the names that ``TraceChunk.array`` indexes."""

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk; its arrays are only valid until the call returns."""
