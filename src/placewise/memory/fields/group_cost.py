"""Cost of a group of fields for recorded accesses: the sectors that it moves, and wavefronts.

The cost of a layout is the sum over its groups, so that a search over partitions can combine
groups. It only ranks layouts; the few best are then timed from their code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placewise.memory.fields.record import SECTOR, FieldAccesses
from placewise.space.layout import Group, Record, byte_of, shape_of, vector_align
from placewise.space.layout import Layout as FieldLayout

MOST_WINDOWS = 64
"""Most windows that are used, chosen evenly from all distinct ones."""
WAVEFRONT_SECTORS = 1.0 / 3.0
"""Cost of a wavefront of the L1 cache (a request, or each further 128-byte line of it), in sectors
fetched from DRAM. A wavefront takes one cycle of an SM, while the DRAM of an A100 delivers a sector
to each SM in about three (1,555 GB/s over 108 SMs of 1.41 GHz are 10 bytes a cycle)."""
_LINE = 128
_VECTOR = 16
"""Most bytes that one load of a lane moves."""


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windows: accesses of one warp that find each other's sectors in the L1 cache, taken together.
    The columns have ``p`` distinct (access, array, element, field) rows. An access that a window
    holds several times, as that of a loop may be, is there once."""

    window: NDArray[np.int64]
    """(p,)"""
    access: NDArray[np.int64]
    """(p,) number of the access, from 0 over all windows."""
    array: NDArray[np.int64]
    element: NDArray[np.int64]
    field: NDArray[np.int64]
    weight: NDArray[np.float64]
    """(windows,) how often each window occurs."""
    access_weight: NDArray[np.float64]
    """(accesses,) how often each access occurs."""


@dataclass(frozen=True, eq=False)
class FieldCosts:
    """Costs of groups of a record's fields for the accesses of one or several kernels."""

    record: Record
    windows: _Windows

    def layout(self, layout: FieldLayout) -> float:
        """Sectors, and wavefronts as sectors, of all groups."""
        return sum(self.group(group) for group in layout)

    def sectors(self, layout: FieldLayout) -> float:
        """Sectors alone of all groups."""
        return sum(self._moved(group)[0] for group in layout)

    def group(self, group: Group) -> float:
        """Sectors, and wavefronts as sectors, of one group; 0 where no field of it is accessed."""
        sectors, wavefronts = self._moved(group)
        return sectors + WAVEFRONT_SECTORS * wavefronts

    def _moved(self, group: Group) -> tuple[float, float]:
        """Sectors and wavefronts of one group."""
        rows = self.windows
        inside = np.isin(rows.field, [self.record.names.index(n) for n in group.fields])
        if not inside.any():
            return 0.0, 0.0
        field, element = rows.field[inside], rows.element[inside]
        window, array = rows.window[inside], rows.array[inside]
        at = np.zeros(len(field), np.int64)
        layout = FieldLayout((group,))
        for name in group.fields:
            mine = field == self.record.names.index(name)
            at[mine] = byte_of(self.record, layout, name, element[mine])[1]
        last = at + self._sizes[field] - 1
        ends = np.concatenate([at, last]) // SECTOR
        sectors = _distinct(np.tile(window, 2), np.tile(array, 2), ends)
        total = float(self.windows.weight[sectors[:, 0]].sum())
        unit = self._units(group)[field]
        lines = _distinct(rows.access[inside], unit, array, at // _LINE)
        wavefronts = float(self.windows.access_weight[lines[:, 0]].sum())
        return total, wavefronts

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array([f.size_bytes for f in self.record.fields], np.int64)

    def _units(self, group: Group) -> NDArray[np.int64]:
        """(fields,) number of the request that moves each field. Fields in the same aligned piece
        of the struct (at most 16 bytes) share a request, since the compiler can load them at once;
        else each field has its own."""
        unit = np.arange(len(self.record.fields))
        if group.align_bytes > 1 and group.lanes == 1:
            shape = shape_of(self.record, group)
            for name, offset in zip(group.fields, shape.offsets, strict=True):
                unit[self.record.names.index(name)] = offset // min(_VECTOR, group.align_bytes)
        return unit

    def of_bits(self, bits: int) -> float:
        """Cost of a group given as bits of the record's fields, in their declared order."""
        names = [n for k, n in enumerate(self.record.names) if bits >> k & 1]
        return self.group(Group(tuple(names), vector_align(self.record, names)))


def field_costs(record: Record, accesses: FieldAccesses, reuse_bytes: int) -> FieldCosts:
    """Costs of the record's fields for ``accesses``.

    Accesses of one warp that together touch at most ``reuse_bytes`` of sectors in the declared
    layout count as one window: sectors that they share are moved once. A sensible figure is the L1
    cache's size over the number of resident warps.
    """
    chosen: dict[bytes, int] = {}
    found: list[NDArray[np.int64]] = []
    counts: list[int] = []
    for start, end in _windows(record, accesses, reuse_bytes):
        rows = _rows(accesses, start, end)
        shifted = rows.copy()
        shifted[:, 2] -= rows[:, 2].min(initial=0) // 32 * 32
        key = shifted.tobytes()
        if key in chosen:
            counts[chosen[key]] += 1
        else:
            chosen[key] = len(found)
            found.append(rows)
            counts.append(1)
    total = sum(counts)
    picked = np.unique(np.linspace(0, max(0, len(found) - 1), MOST_WINDOWS).astype(int))
    picked = picked[: len(found)]
    kept = [found[k] for k in picked]
    weight = np.array([counts[k] for k in picked], np.float64)
    weight *= total / weight.sum() if len(weight) else 1.0
    once, repeats, before = [], [], 0
    for rows, occurs in zip(kept, weight, strict=True):
        rows, times = _without_repeats(rows)
        once.append(rows + np.array([before, 0, 0, 0]))
        repeats.append(times * occurs)
        before += len(times)
    number = np.repeat(np.arange(len(once)), [len(rows) for rows in once])
    table = np.concatenate(once) if once else np.zeros((0, 4), np.int64)
    access, array, element, field = table.T
    access_weight = np.concatenate(repeats) if repeats else np.zeros(0)
    found_windows = _Windows(number, access, array, element, field, weight, access_weight)
    return FieldCosts(record, found_windows)


def summed_costs(parts: Sequence[tuple[FieldCosts, float]]) -> FieldCosts:
    """Costs of several launches together; each part is one launch's costs and how often they
    count. All are of one record."""
    found = [costs.windows for costs, _ in parts]
    begin = _begins([len(w.weight) for w in found])
    first = _begins([len(w.access_weight) for w in found])
    weights = [costs.windows.weight * times for costs, times in parts]
    access_weights = [costs.windows.access_weight * times for costs, times in parts]
    windows = _Windows(
        np.concatenate([w.window + at for w, at in zip(found, begin, strict=True)]),
        np.concatenate([w.access + at for w, at in zip(found, first, strict=True)]),
        np.concatenate([w.array for w in found]),
        np.concatenate([w.element for w in found]),
        np.concatenate([w.field for w in found]),
        np.concatenate(weights),
        np.concatenate(access_weights),
    )
    return FieldCosts(parts[0][0].record, windows)


def _begins(counts: list[int]) -> NDArray[np.int64]:
    """(n,) where each of n parts begins that follow one another."""
    return np.cumsum(counts, dtype=np.int64) - counts


def _windows(
    record: Record, accesses: FieldAccesses, reuse_bytes: int
) -> Iterator[tuple[int, int]]:
    """Ranges of accesses; each range is a window."""
    shape = shape_of(record, record.declared.groups[0])
    starts = np.array(shape.offsets, np.int64)
    seen: set[tuple[int, int]] = set()
    begin = 0
    for k in range(len(accesses.site)):
        low, high = accesses.first[k], accesses.first[k + 1]
        at = accesses.element[low:high] * shape.size_bytes + starts[accesses.field[low:high]]
        sectors = {(int(accesses.array[k]), int(s)) for s in np.unique(at // SECTOR)}
        other_warp = k > begin and accesses.warp[k] != accesses.warp[begin]
        if k > begin and (other_warp or len(seen | sectors) * SECTOR > reuse_bytes):
            yield begin, k
            begin, seen = k, set()
        seen |= sectors
    if len(accesses.site):
        yield begin, len(accesses.site)


def _rows(accesses: FieldAccesses, start: int, end: int) -> NDArray[np.int64]:
    """(rows, 4) accesses (from 0), arrays, elements and fields of a range of accesses."""
    low, high = accesses.first[start], accesses.first[end]
    each = np.diff(accesses.first[start : end + 1])
    array = np.repeat(accesses.array[start:end].astype(np.int64), each)
    access = np.repeat(np.arange(end - start), each)
    return np.stack([access, array, accesses.element[low:high], accesses.field[low:high]], axis=1)


def _without_repeats(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows of a window, as :func:`_rows` makes them, with each access once, and (accesses,) how
    often each occurs."""
    begins = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    known: dict[bytes, int] = {}
    kept: list[NDArray[np.int64]] = []
    times: list[int] = []
    for own in np.split(rows, begins[1:]):
        key = own[:, 1:].tobytes()
        if key in known:
            times[known[key]] += 1
            continue
        own = own.copy()
        own[:, 0] = known[key] = len(kept)
        kept.append(own)
        times.append(1)
    return np.concatenate(kept), np.array(times, np.float64)


def _distinct(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """(rows, columns) the distinct rows of the columns."""
    return np.unique(np.stack(columns, axis=1), axis=0)
