"""Candidate layouts of a struct, to be written out and timed."""

from __future__ import annotations

from placewise.choose.partitions import best_partition
from placewise.memory.fields import FieldCosts
from placewise.space.layout import (
    Group,
    Layout,
    Record,
    grouped,
    shape_of,
    structure_of_arrays,
    tiled_structs,
)

MOST = 8
"""Most candidates; each takes about a second to write, run and time."""
SIMPLEST_FIRST = ("AoS", "SoA", "SoAoS", "AoSoA")
"""Kinds of layouts, the simplest change to the program first. AoS only changes the alignment or
order of the declared struct; SoA needs plain arrays but no new structs; tiles are the hardest to
work with."""
LANES = 32
"""Elements of a tile: one for each lane of a warp."""


def awkwardness(layout: Layout) -> tuple[int, int]:
    """How much harder a layout is to work with than the declared one, as numbers to compare."""
    return SIMPLEST_FIRST.index(layout.kind()), len(layout.groups)


def layout_candidates(costs: FieldCosts) -> list[Layout]:
    """At most :data:`MOST` layouts: the best partition by ``costs``, SoA, fields that are accessed
    apart from those that are not, tiles of 32 elements, and the declared struct with its fields
    ordered for less padding or aligned for vector loads. The declared layout itself is left out.
    """
    record = costs.record
    used = [n for n in record.names if costs.group(Group((n,))) > 0.0]
    unused = [n for n in record.names if n not in used]
    found: list[Layout] = []
    if used:
        found.append(_best(costs, used, unused))
    found.append(structure_of_arrays(record))
    if used and unused:
        found.append(grouped(record, [_packed(record, used), unused]))
    found += _vector_groups(record, used, unused)
    found.append(tiled_structs(record, LANES))
    found += _tidied(record)
    distinct = [
        layout
        for layout in dict.fromkeys(found)
        if not _same_bytes(record, layout, record.declared)
    ]
    return distinct[:MOST]


def _best(costs: FieldCosts, used: list[str], unused: list[str]) -> Layout:
    """The partition of least cost; fields that are never accessed share a struct of their own."""
    record = costs.record
    bits = [1 << record.names.index(n) for n in used]

    def cost(group: int) -> float:
        return costs.of_bits(sum(b for k, b in enumerate(bits) if group >> k & 1))

    parts = [
        [n for k, n in enumerate(used) if group >> k & 1]
        for group in best_partition(len(used), cost)
    ]
    parts += [unused] if unused else []
    return grouped(record, [_packed(record, part) for part in parts])


def _vector_groups(record: Record, used: list[str], unused: list[str]) -> list[Layout]:
    """A layout with the accessed fields in their order, cut into structs of at most 16 bytes, which
    one instruction can load."""
    parts: list[list[str]] = [[]]
    for name in used:
        widened = shape_of(record, Group((*parts[-1], name))).size_bytes
        if parts[-1] and widened > 16:
            parts.append([])
        parts[-1].append(name)
    parts += [unused] if unused else []
    return [grouped(record, parts)] if used and len(parts) > 1 else []


def _tidied(record: Record) -> list[Layout]:
    """Two layouts of one struct: its fields ordered for least padding, and aligned to 16 bytes."""
    packed = _packed(record, record.names)
    size = shape_of(record, Group(tuple(packed))).size_bytes
    declared = shape_of(record, record.declared.groups[0])
    found = []
    if size < declared.size_bytes:
        found.append(Layout((Group(tuple(packed)),)))
    if declared.align_bytes < 16 <= declared.size_bytes:
        found.append(Layout((Group(record.names, 16),)))
    return found


def padded_struct(record: Record) -> Layout | None:
    """One struct of more than 8 and less than 16 bytes, padded to 16: an element never lies in two
    sectors, and one instruction loads it. None for structs of other sizes."""
    size = shape_of(record, Group(record.names)).size_bytes
    return Layout((Group(record.names, 16),)) if 8 < size < 16 else None


def _packed(record: Record, names: list[str] | tuple[str, ...]) -> list[str]:
    """Fields sorted by falling alignment, if that saves padding; otherwise in their declared
    order."""
    by_size = sorted(names, key=lambda n: -record.field(n).align_bytes)
    before, after = (shape_of(record, Group(tuple(o))).size_bytes for o in (names, by_size))
    return list(by_size if after < before else names)


def _same_bytes(record: Record, one: Layout, other: Layout) -> bool:
    """Whether two layouts put every field at the same bytes."""
    if len(one.groups) != len(other.groups):
        return False
    return all(
        a.fields == b.fields and a.lanes == b.lanes and shape_of(record, a) == shape_of(record, b)
        for a, b in zip(one, other, strict=True)
    )
