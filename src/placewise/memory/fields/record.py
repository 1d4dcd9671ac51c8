"""The accesses of a few blocks to arrays of structs, as fields of elements.

The record is independent of the layout that the kernel had when it ran: the bytes of each access
are turned into (element, field) pairs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site, TraceChunk, lane_offsets
from placewise.kernel.launch import Launch
from placewise.space.layout import PADDING, Record, field_at

BLOCKS = 4
"""Blocks that are traced, spread over the grid."""
MOST_ACCESSES = 40_000
"""Most warp accesses that are kept; further accesses of a block are dropped."""
SECTOR = 32
"""Bytes of a sector, of all GPUs since Kepler."""


@dataclass(frozen=True, eq=False)
class FieldAccesses:
    """``n`` warp accesses to the arrays of one struct type, in program order within each warp.

    ``m`` is the number of distinct (element, field) pairs of all accesses together; access k has
    pairs ``first[k]`` to ``first[k + 1]``.
    """

    site: NDArray[np.int32]
    """(n,) index into ``sites``."""
    warp: NDArray[np.int64]
    """(n,) warp, counted over all traced blocks."""
    array: NDArray[np.int32]
    """(n,) array, as a position in ``arrays``."""
    first: NDArray[np.int64]
    """(n + 1,) where the pairs of an access begin."""
    element: NDArray[np.int64]
    """(m,) element of the array."""
    field: NDArray[np.int64]
    """(m,) position in the record's fields."""
    used_bytes: NDArray[np.int64]
    """(n,) number of different bytes of fields that the access's lanes ask for."""
    sectors: NDArray[np.int64]
    """(n,) 32-byte sectors that these lie in, in the layout that the kernel had."""
    sites: tuple[Site, ...]
    arrays: tuple[str, ...]


@dataclass(frozen=True)
class LineUse:
    """Bytes that one source line uses and moves of an array, in the layout that the kernel has."""

    array: str
    line: int | None
    kind: str
    """load, store or atomic."""
    fields: tuple[str, ...]
    requests: int
    used_bytes: int
    """Bytes that lanes ask for; a byte that several lanes of a warp's access ask for counts
    once."""
    moved_bytes: int
    """Bytes of the 32-byte sectors that these lie in."""

    def to_dict(self) -> dict[str, Any]:
        """The line as JSON types."""
        return {
            "array": self.array,
            "line": self.line,
            "kind": self.kind,
            "fields": list(self.fields),
            "requests": self.requests,
            "used_bytes": self.used_bytes,
            "moved_bytes": self.moved_bytes,
        }


class FieldRecorder:
    """A trace consumer that keeps the accesses of a few blocks to the named arrays."""

    def __init__(self, record: Record, arrays: tuple[str, ...], launch: Launch) -> None:
        self._record = record
        self._names = arrays
        self._launch = launch
        self._sites: tuple[Site, ...] = ()
        self._wanted: NDArray[np.int32] = np.zeros(0, np.int32)
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._kept = 0
        self._lock = threading.Lock()

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced."""
        chosen = np.linspace(0, self._launch.blocks - 1, min(BLOCKS, self._launch.blocks))
        traced = np.zeros(self._launch.blocks, np.bool_)
        traced[chosen.astype(np.int64)] = True
        return traced

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run: its memory instructions and the names of its arrays."""
        self._sites = sites
        self._wanted = np.array(
            [self._names.index(a) if a in self._names else -1 for a in arrays], np.int32
        )

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep the accesses of a chunk to the arrays that are wanted."""
        known = np.append(self._wanted, np.int32(-1))
        array = known[np.where(chunk.array >= 0, chunk.array, len(self._wanted))]
        kept = np.flatnonzero((array >= 0) & (chunk.mask != 0))
        if not len(kept):
            return
        offsets = lane_offsets(chunk)[kept]
        active = (chunk.mask[kept, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)
        warps = self._launch.warps_per_block
        warp = chunk.block[kept].astype(np.int64) * warps + chunk.warp[kept]
        with self._lock:
            room = MOST_ACCESSES - self._kept
            kept, offsets = kept[:room], offsets[:room]
            active, warp = active[:room], warp[:room]
            self._kept += len(kept)
            self._parts.append(
                (chunk.site[kept].astype(np.int64), warp, array[kept].astype(np.int64), offsets,
                 active)
            )  # fmt: skip

    def accesses(self) -> FieldAccesses:
        """The kept accesses, each as its distinct (element, field) pairs."""
        if self._parts:
            site, warp, array, offsets, active = (
                np.concatenate(columns) for columns in zip(*self._parts, strict=True)
            )
        else:
            site = warp = array = np.zeros(0, np.int64)
            offsets, active = np.zeros((0, 32), np.int64), np.zeros((0, 32), np.bool_)
        order = np.argsort(warp, kind="stable")
        site, warp, array, offsets, active = (
            column[order] for column in (site, warp, array, offsets, active)
        )
        first, element, fields, used, sectors = self._fields(site, offsets, active)
        return FieldAccesses(
            site.astype(np.int32), warp, array.astype(np.int32), first, element, fields, used,
            sectors, self._sites, self._names,
        )  # fmt: skip

    def _fields(
        self, site: NDArray[np.int64], offsets: NDArray[np.int64], active: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], ...]:
        """The columns of :class:`FieldAccesses` from ``first`` to ``sectors``."""
        record = self._record
        group = record.declared.groups[0]
        # Every field that an access touches has a byte at a multiple of the smallest alignment.
        step_bytes = min(f.align_bytes for f in record.fields)
        widths = np.array([s.lane_bytes for s in self._sites] or [0])[site]
        rows = []
        for step in range(0, int(widths.max(initial=0)), step_bytes):
            access, lane = np.nonzero(active & (step < widths)[:, None])
            at = offsets[access, lane] + step
            owner, element, _ = field_at(record, group, at)
            held = owner != PADDING
            rows.append(np.stack([access, at, element, owner], axis=1)[held])
        table = np.unique(np.concatenate(rows), axis=0) if rows else np.zeros((0, 4), np.int64)
        count = len(site)
        used = np.bincount(table[:, 0], minlength=count) * step_bytes
        touched = np.unique(np.stack([table[:, 0], table[:, 1] // SECTOR], axis=1), axis=0)
        sectors = np.bincount(touched[:, 0], minlength=count)
        pairs = np.unique(table[:, [0, 2, 3]], axis=0)
        first = np.searchsorted(pairs[:, 0], np.arange(count + 1))
        return first, pairs[:, 1], pairs[:, 2], used, sectors


def line_uses(record: Record, accesses: FieldAccesses) -> tuple[LineUse, ...]:
    """Bytes used and moved by each source line that accesses an array, the line that wastes most
    first."""
    number = np.repeat(np.arange(len(accesses.site)), np.diff(accesses.first))
    lines: dict[tuple[str, int | None, str], list[int]] = {}
    for k, (site, array) in enumerate(zip(accesses.site, accesses.array, strict=True)):
        found = accesses.sites[site]
        key = (accesses.arrays[array], found.source_line, found.kind)
        lines.setdefault(key, []).append(k)
    made = []
    for (array_name, line, kind), members in lines.items():
        chosen = np.isin(number, members)
        fields = tuple(record.names[n] for n in np.unique(accesses.field[chosen]))
        used = int(accesses.used_bytes[members].sum())
        moved = int(accesses.sectors[members].sum()) * SECTOR
        made.append(LineUse(array_name, line, kind, fields, len(members), used, moved))
    return tuple(sorted(made, key=lambda use: use.used_bytes - use.moved_bytes))
