"""The access trace: what the memory system sees of a run, streamed in chunks of arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Site:
    """One static memory instruction of a kernel; a chunk's ``site`` column indexes these."""

    opcode: str
    """Opcode of the PTX (``ld.global.nc.f32``) or of the machine code."""
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

    Lane l's byte offset from the start of its array is ``base[i] + stride[i] * l`` for l < 16 and
    ``upper[i] + stride[i] * (l - 16)`` for the others where ``row[i] < 0`` (both half warps
    affine), else it is found in ``offsets``, which from ``row[i]`` on has those of the active lanes
    one after another: see :func:`lane_offsets`. Only lanes set in ``mask[i]`` count. The columns
    may be strided views.
    """

    site: NDArray[np.int32]
    """(n,) index into the run's sites."""
    block: NDArray[np.int32]
    """(n,) linear block index, x fastest."""
    warp: NDArray[np.int32]
    """(n,) warp within its block."""
    phase: NDArray[np.int32]
    """(n,) barriers of the whole block that the warp has passed: accesses of one block in different
    phases are ordered. Barriers that only some of the block's warps wait at do not count."""
    mask: NDArray[np.uint32]
    """(n,) active lanes."""
    array: NDArray[np.int32]
    """(n,) index into the run's ``arrays``; -1 for shared and local memory."""
    base: NDArray[np.int64]
    """(n,) bytes, of lane 0."""
    upper: NDArray[np.int64]
    """(n,) bytes, of lane 16; ``base + 16 * stride`` where the whole warp is affine, and where one
    of the half warps has no active lane."""
    stride: NDArray[np.int32]
    """(n,) bytes per lane."""
    row: NDArray[np.int32]
    """(n,) where the access's offsets begin, or -1 where affine."""
    offsets: NDArray[np.int32] | NDArray[np.int64]
    """(m,) bytes of active lanes, int32 unless an array has 2 GiB or more."""

    def __len__(self) -> int:
        return len(self.site)


def lane_offsets(chunk: TraceChunk) -> NDArray[np.int64]:
    """(n, 32) byte offset of every lane; those of lanes not in the mask mean nothing."""
    ramp = np.arange(16, dtype=np.int64) * np.asarray(chunk.stride, np.int64)[:, None]
    offsets = np.empty((len(chunk), 32), np.int64)
    np.add(ramp, chunk.base[:, None], out=offsets[:, :16])
    np.add(ramp, chunk.upper[:, None], out=offsets[:, 16:])
    irregular = np.flatnonzero(chunk.row >= 0)
    active = chunk.mask[irregular, None] >> np.arange(32, dtype=np.uint32) & 1
    before = np.maximum(np.cumsum(active, axis=1, dtype=np.int64) - 1, 0)
    offsets[irregular] = chunk.offsets[chunk.row[irregular, None] + before]
    return offsets


def some_accesses(chunk: TraceChunk, kept: NDArray[np.integer[Any]]) -> TraceChunk:
    """The accesses ``kept`` ((k,) their numbers) of a chunk, with the offsets of all."""
    columns = {f.name: getattr(chunk, f.name) for f in fields(chunk) if f.name != "offsets"}
    return replace(chunk, **{name: column[kept] for name, column in columns.items()})


def affine(chunk: TraceChunk) -> NDArray[np.bool_]:
    """(n,) whether all lanes lie on one line, so that lane 16 continues lane 15."""
    step = 16 * np.asarray(chunk.stride, np.int64)
    on_line: NDArray[np.bool_] = (chunk.row < 0) & (chunk.upper - chunk.base == step)
    return on_line


@dataclass(frozen=True)
class Taker:
    """A compiled function that takes chunks of one worker."""

    function: int
    """Address of ``int64 take(int64 state, records, int64 n, runs, int64 n, offsets, int64 n)``:
    pointers to :data:`~placewise.executor.device_memory.address_space.TRACE_RECORD`, to
    :data:`~placewise.executor.device_memory.address_space.TRACE_RUN` and to int32 (int64 where an
    array has 2 GiB or more), each with the number of elements, good until the call returns. It
    returns 0, or anything else if it cannot take the chunk now."""
    state: int
    """First argument of the function."""
    kept: object = None
    """An object that must stay alive while the function is in use."""


@runtime_checkable
class CompiledConsumer(Protocol):
    """Takes a run's accesses in compiled code, without Python, in the threads that make them."""

    parallel: bool
    """Whether several workers may deliver at once, each to a taker of its own. Else one worker runs
    all traced blocks, in ascending order."""

    def begin_taking(
        self, sites: tuple[Site, ...], arrays: tuple[str, ...], windows: NDArray[np.int32]
    ) -> None:
        """Once before the first chunk. Addresses of records have the number of a window from bit
        :data:`~placewise.executor.device_memory.address_space.WINDOW_SHIFT` on; ``windows`` tells
        which of ``arrays`` is there, or -1 for shared and local memory. The bits below are the
        offset."""

    def taker(self, worker: int) -> Taker:
        """What takes the chunks of this worker (from 0)."""

    def refused(self, worker: int) -> None:
        """Called when the taker of ``worker`` has refused a chunk, which comes again. May raise."""


class TraceConsumer(Protocol):
    """Receives a run's accesses; ``begin`` once before the first chunk."""

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """``arrays`` are the names that ``TraceChunk.array`` indexes."""

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk; its arrays are only valid until the call returns."""
