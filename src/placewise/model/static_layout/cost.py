"""Static cost of a layout: transactions at each memory level times that level's weight.

Loops are unrolled twice: the second iteration finds in the caches what the first one left, and
stands for all later ones. That is exact under the paper's assumptions, since reuse reaches back
only as far as the caches hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import total_ordering

from placewise.kernel.launch import Launch
from placewise.kernel.static_accesses import StaticAccess, StaticIndex, StaticLoop, StaticProgram
from placewise.model.static_layout.reading import LITERAL, Reading
from placewise.model.static_layout.terms import (
    instruction_distance,
    is_accordant,
    transactions,
)
from placewise.space.layout import Layout, Record, shape_of

UNKNOWN_LENGTH = 100
"""Iterations assumed for a loop whose length the source does not give (section IV-G)."""
_REACH = 64
"""How many accesses back reuse is searched; caches hold far fewer for each thread."""


@dataclass(frozen=True)
class Weights:
    """Cost of a transaction by where it is served, in hits of L1 (section IV-C, Table I)."""

    l1: float = 1.0
    l2: float = 30.0
    dram: float = 100.0


WEIGHTS = Weights()
"""The weights of Peng et al.'s paper."""


@dataclass(frozen=True)
class CacheLevels:
    """The figures of a GPU that the cost uses (Table II)."""

    l1_bytes: int
    """0: L1 does not cache global memory."""
    l1_line_bytes: int
    l2_bytes: int
    blocks_per_sm: int


@total_ordering
@dataclass(frozen=True)
class CostVector:
    """Cost by the number of loops of unknown length around an access (section IV-H)."""

    entries: tuple[float, ...]

    def __add__(self, other: CostVector) -> CostVector:
        """Sum entry by entry."""
        size = max(len(self.entries), len(other.entries))
        one, two = (v.entries + (0.0,) * (size - len(v.entries)) for v in (self, other))
        return CostVector(tuple(a + b for a, b in zip(one, two, strict=True)))

    def __lt__(self, other: CostVector) -> bool:
        """Compare the rightmost entries first: more loops of unknown length weigh more."""
        size = max(len(self.entries), len(other.entries))
        one, two = (v.entries + (0.0,) * (size - len(v.entries)) for v in (self, other))
        return one[::-1] < two[::-1]

    @property
    def total(self) -> float:
        """Sum of all entries, with :data:`UNKNOWN_LENGTH` iterations for each loop of unknown
        length."""
        return sum(self.entries)

    def over(self, other: CostVector) -> float:
        """Total over that of ``other``; 1 where both are nothing."""
        return self.total / other.total if other.total else 1.0


def dynamic_cost(
    reads: float, writes: float, l1_hits: float, l2_read_hits: float, l2_write_hits: float,
    weights: Weights = Weights(),
) -> float:  # fmt: skip
    """Cost from counters (section III). ``reads`` and ``writes`` are transactions; ``l1_hits`` is
    the share of reads that hit L1, ``l2_read_hits`` the share of the other reads that hit L2,
    ``l2_write_hits`` the share of writes that hit L2."""
    missed = 1.0 - l1_hits
    read = weights.l1 * l1_hits + weights.l2 * missed * l2_read_hits
    read += weights.dram * missed * (1.0 - l2_read_hits)
    written = weights.l2 * l2_write_hits + weights.dram * (1.0 - l2_write_hits)
    return reads * read + writes * written


@dataclass(frozen=True)
class _Executed:
    """An access in an unrolled loop, with its index shifted by the iteration, and how many
    executions it stands for."""

    access: StaticAccess
    times: float
    depth: int
    """Loops of unknown length around it."""


_Seen = tuple[str, str, StaticIndex, int]
"""An access that a thread made: array, first field of its struct, index, bytes of the struct."""


def static_cost(
    program: StaticProgram, records: Mapping[str, Record], layouts: Mapping[str, Layout],
    launch: Launch, levels: CacheLevels, *, reading: Reading = LITERAL,
    weights: Weights = WEIGHTS,
) -> CostVector:  # fmt: skip
    """Cost of the accesses of all warps if arrays have the given ``layouts``.

    ``records`` and ``layouts`` are by the array's name; an array that is missing there has plain
    elements of the size that the access tells. A tile (AoSoA) counts as an array for each of its
    fields, as far apart as those are.
    """
    threads = launch.threads_per_block
    warps = launch.blocks * launch.warps_per_block
    history: list[_Seen] = []
    total = CostVector((0.0,))
    for one in _unrolled(program.body, 1.0, 0):
        access = one.access
        record = records.get(access.array)
        part, size = "", access.element_bytes
        if record is not None and access.field:
            part, size = _part(record, layouts[access.array], access.field)
        thread = access.index.thread
        stride = None if thread is None else thread * size
        count = transactions(stride)
        at_sm, at_grid = levels.blocks_per_sm * threads, launch.blocks * threads
        distance, index_difference = _reuse(history, access, part, size)
        weight = weights.dram
        near = instruction_distance(at_sm, distance) <= levels.l1_bytes
        if (
            distance
            and not access.is_store
            and near
            and is_accordant(index_difference, size, levels.l1_line_bytes)
        ):
            weight = weights.l1
        elif (
            distance
            and instruction_distance(at_grid, distance) <= levels.l2_bytes
            and is_accordant(index_difference, size, reading.l2_line_bytes)
        ):
            weight = weights.l2
        history.append((access.array, part, access.index, size))
        if stride == 0 and not reading.charges_uniform:
            continue
        entry = one.times * warps * count * weight
        total += CostVector((*(0.0,) * one.depth, entry))
    return total


def _unrolled(
    items: Sequence[StaticAccess | StaticLoop], times: float, depth: int
) -> Iterator[_Executed]:
    """All accesses, with loops unrolled twice; the second iteration stands for all later ones."""
    for item in items:
        if isinstance(item, StaticAccess):
            yield _Executed(item, times, depth)
            continue
        inner = depth + (item.length is None)
        length = UNKNOWN_LENGTH if item.length is None else item.length
        for iteration, stands_for in ((0, min(1, length)), (1, max(0, length - 1))):
            if stands_for:
                body = [_shifted(one, item.name, iteration) for one in item.body]
                yield from _unrolled(body, times * stands_for, inner)


def _shifted(
    item: StaticAccess | StaticLoop, loop: str, iteration: int
) -> StaticAccess | StaticLoop:
    """``item`` with the indices that it has in iteration ``iteration`` of the loop ``loop`` around
    it."""
    if isinstance(item, StaticLoop):
        return replace(item, body=tuple(_shifted(one, loop, iteration) for one in item.body))
    by = dict(item.index.loops).get(loop, 0)
    if by is None or item.index.opaque:
        changed = (*item.index.uniform, (f"iteration {iteration} of {loop}", 1))
        return replace(item, index=replace(item.index, uniform=changed))
    return replace(item, index=replace(item.index, constant=item.index.constant + by * iteration))


def _part(record: Record, layout: Layout, field: str) -> tuple[str, int]:
    """The first field of the struct that ``field`` lies in, and that struct's bytes."""
    group = layout.groups[layout.group_of(field)]
    if group.lanes > 1:
        return field, record.field(field).size_bytes
    return group.fields[0], shape_of(record, group).size_bytes


def _reuse(
    history: list[_Seen], access: StaticAccess, part: str, size: int
) -> tuple[int, int | None]:
    """(bytes that a thread accesses between the last access to the same struct and this one, both
    included; difference of their indices). (0, None) where there is none."""
    unique = {(access.array, part, access.index): size}
    for array, other, index, bytes_ in reversed(history[-_REACH:]):
        unique.setdefault((array, other, index), bytes_)
        if (array, other) == (access.array, part):
            difference = _difference(index, access.index)
            if difference is not None:
                return sum(unique.values()), difference
    return 0, None


def _difference(one: StaticIndex, other: StaticIndex) -> int | None:
    """Difference of two indices of a thread; None where it is not a constant."""
    if (one.thread, one.uniform, one.loops) != (other.thread, other.uniform, other.loops):
        return None
    return abs(one.constant - other.constant)
