"""Layouts of arrays of structs: which fields share a struct, in what order, and where bytes lie.

An array of structs (AoS) has ``elements`` elements of several fields each. A :class:`Layout` puts
the fields into one or more groups; each group is an array of its own. One group of all fields is
AoS, a group for each field is a structure of arrays (SoA), everything between is SoAoS (Peng,
Grossman and Sarkar 2016, section II-B). A group with ``lanes`` above 1 is tiled (AoSoA): its struct
holds that many consecutive elements of the first field, then as many of the second, and so on.

All functions are pure. Bytes of a group are addressed from the group's own start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError

PADDING = -1
"""Field number of bytes that belong to no field."""


@dataclass(frozen=True)
class Field:
    """A member of a struct; an array member is one field."""

    name: str
    size_bytes: int
    align_bytes: int
    """What the member's address is a multiple of."""


@dataclass(frozen=True)
class Record:
    """A struct as its source declares it: fields in their order, with padding as C has it."""

    name: str
    fields: tuple[Field, ...]
    align_bytes: int = 1
    """At least; fields can ask for more. ``alignas(16)`` gives 16."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(f.name for f in self.fields)

    def field(self, name: str) -> Field:
        """The field called ``name``. Raises CaseError where there is none."""
        for found in self.fields:
            if found.name == name:
                return found
        raise CaseError(
            f"struct {self.name} has no field '{name}'", hint=f"its fields: {', '.join(self.names)}"
        )

    @property
    def declared(self) -> Layout:
        """The layout that the source has: one struct of all fields."""
        natural = max((f.align_bytes for f in self.fields), default=1)
        return Layout((Group(self.names, self.align_bytes if self.align_bytes > natural else 1),))


@dataclass(frozen=True)
class Group:
    """Fields that share a struct, in this order."""

    fields: tuple[str, ...]
    align_bytes: int = 1
    """At least; 16 lets the compiler load 16 bytes at once."""
    lanes: int = 1
    """Consecutive elements that one struct holds, field by field (AoSoA); 1: one element."""


@dataclass(frozen=True)
class StructShape:
    """Where the fields of a group's struct lie."""

    offsets: tuple[int, ...]
    """Byte of each field's first element, in the order of the group's fields."""
    size_bytes: int
    """With padding behind the last field, so that the next struct is aligned."""
    align_bytes: int


@dataclass(frozen=True)
class Layout:
    """Groups of fields; each field of a record is in exactly one. Hashable."""

    groups: tuple[Group, ...]

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def group_of(self, field: str) -> int:
        """Number of the group that holds ``field``. Raises KeyError where none does."""
        for number, group in enumerate(self.groups):
            if field in group.fields:
                return number
        raise KeyError(field)

    def describe(self) -> str:
        """``{x y z} {m}``; with ``:32`` behind a group of 32 lanes, ``@16`` behind one that is
        aligned to 16 bytes. :func:`parse_layout` reads it back."""
        words = []
        for group in self.groups:
            tiled = f":{group.lanes}" if group.lanes > 1 else ""
            aligned = f"@{group.align_bytes}" if group.align_bytes > 1 else ""
            words.append(f"{{{' '.join(group.fields)}}}{tiled}{aligned}")
        return " ".join(words)

    def kind(self) -> str:
        """AoS, SoA, AoSoA or SoAoS."""
        if any(group.lanes > 1 for group in self.groups):
            return "AoSoA"
        if len(self.groups) == 1:
            return "AoS"
        return "SoA" if all(len(group.fields) == 1 for group in self.groups) else "SoAoS"


def array_of_structs(record: Record) -> Layout:
    """One struct with all fields, as declared."""
    return record.declared


def structure_of_arrays(record: Record) -> Layout:
    """An array for each field."""
    return Layout(tuple(Group((name,)) for name in record.names))


def tiled_structs(record: Record, lanes: int) -> Layout:
    """One struct of ``lanes`` elements field by field (AoSoA)."""
    return Layout((Group(record.names, 1, lanes),))


def grouped(record: Record, parts: Sequence[Sequence[str]]) -> Layout:
    """Layout with the fields of each part in one struct, in that order; parts of 8 and 16 bytes of
    small fields are aligned to their size, so that one instruction loads all of a struct."""
    made = (Group(tuple(part), vector_align(record, part)) for part in parts)
    layout = Layout(tuple(made))
    check_layout(record, layout)
    return layout


def vector_align(record: Record, names: Sequence[str]) -> int:
    """Alignment at which a struct of these fields can be loaded by one instruction of 8 or 16
    bytes; 1 where it has another size, or one field."""
    size = shape_of(record, Group(tuple(names))).size_bytes
    return size if len(names) > 1 and size in (8, 16) else 1


def check_layout(record: Record, layout: Layout) -> None:
    """Raise CaseError unless every field of ``record`` is in exactly one group of ``layout``."""
    seen = [name for group in layout for name in group.fields]
    for name in seen:
        record.field(name)
    twice = {name for name in seen if seen.count(name) > 1}
    missing = [name for name in record.names if name not in seen]
    if twice:
        raise CaseError(f"layout {layout.describe()}: field '{min(twice)}' is in it twice")
    if missing:
        raise CaseError(
            f"layout {layout.describe()} leaves out field '{missing[0]}' of struct {record.name}"
        )
    for group in layout:
        for what, number in (("alignment", group.align_bytes), ("lanes", group.lanes)):
            if number < 1 or number & (number - 1):
                raise CaseError(f"layout {layout.describe()}: {what} {number} is no power of two")


def shape_of(record: Record, group: Group) -> StructShape:
    """Offsets and size of a group's struct by the rules of C: each field at the next multiple of
    its alignment, the size a multiple of the largest alignment."""
    at, align, offsets = 0, group.align_bytes, []
    for name in group.fields:
        field = record.field(name)
        align = max(align, field.align_bytes)
        at = _round_up(at, field.align_bytes)
        offsets.append(at)
        at += field.size_bytes * group.lanes
    return StructShape(tuple(offsets), _round_up(at, align), align)


def group_bytes(record: Record, group: Group, elements: int) -> int:
    """Bytes of a group's array of ``elements`` elements."""
    return -(-elements // group.lanes) * shape_of(record, group).size_bytes


def byte_of(
    record: Record, layout: Layout, field: str, elements: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Group number, and for each element the byte of its ``field`` in that group's array."""
    number = layout.group_of(field)
    group = layout.groups[number]
    shape = shape_of(record, group)
    inside = shape.offsets[group.fields.index(field)]
    block, lane = elements // group.lanes, elements % group.lanes
    return number, block * shape.size_bytes + inside + lane * record.field(field).size_bytes


def field_at(
    record: Record, group: Group, bytes_: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Inverse of :func:`byte_of`: for each byte of a group's array its field (position in
    ``record.fields``, or :data:`PADDING`), element, and byte within the field.

    Element and byte of padding are 0.
    """
    shape = shape_of(record, group)
    owner = np.full(shape.size_bytes, PADDING, np.int64)
    lane = np.zeros(shape.size_bytes, np.int64)
    inner = np.zeros(shape.size_bytes, np.int64)
    for name, offset in zip(group.fields, shape.offsets, strict=True):
        size = record.field(name).size_bytes
        at = np.arange(size * group.lanes)
        owner[offset + at] = record.names.index(name)
        lane[offset + at] = at // size
        inner[offset + at] = at % size
    block, inside = np.divmod(bytes_, shape.size_bytes)
    element = np.where(owner[inside] == PADDING, 0, block * group.lanes + lane[inside])
    return owner[inside], element, inner[inside]


def moved_bytes(
    record: Record, source: Group, target: Layout, bytes_: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where bytes of a group lie in another layout: group numbers (:data:`PADDING` for padding) and
    bytes in those groups' arrays."""
    fields, elements, inner = field_at(record, source, bytes_)
    groups = np.full(bytes_.shape, PADDING, np.int64)
    moved = np.zeros(bytes_.shape, np.int64)
    for number, name in enumerate(record.names):
        mine = fields == number
        if mine.any():
            group, at = byte_of(record, target, name, elements[mine])
            groups[mine], moved[mine] = group, at + inner[mine]
    return groups, moved


def convert(
    record: Record, source: Layout, target: Layout, arrays: Sequence[NDArray[np.uint8]],
    elements: int,
) -> list[NDArray[np.uint8]]:  # fmt: skip
    """Convert elements from one layout to another.

    ``arrays`` are the bytes of the source's groups, shape (bytes,) each, in the order of its
    groups; the result likewise for the target. Padding is zero.
    """
    made = [np.zeros(group_bytes(record, g, elements), np.uint8) for g in target]
    every = np.arange(elements)
    for field in record.fields:
        inner = np.arange(field.size_bytes)
        out, to = byte_of(record, target, field.name, every)
        into, at = byte_of(record, source, field.name, every)
        made[out][to[:, None] + inner] = arrays[into][at[:, None] + inner]
    return made


_GROUP = re.compile(r"\s*\{([^{}]*)\}(?::(\d+))?(?:@(\d+))?\s*")


def parse_layout(text: str, record: Record) -> Layout:
    """The layout that ``text`` names: ``aos``, ``soa``, ``aosoa:32``, or groups as
    :meth:`Layout.describe` prints them. Raises CaseError where it is none of these, or does not
    fit ``record``."""
    word = text.strip().lower()
    if word == "aos":
        return array_of_structs(record)
    if word == "soa":
        return structure_of_arrays(record)
    if found := re.fullmatch(r"aosoa:(\d+)", word):
        layout = tiled_structs(record, int(found[1]))
        check_layout(record, layout)
        return layout
    groups, at = [], 0
    while at < len(text) and (match := _GROUP.match(text, at)):
        fields, lanes, align = match.groups()
        groups.append(Group(tuple(fields.split()), int(align or 1), int(lanes or 1)))
        at = match.end()
    if at < len(text) or not groups or any(not g.fields for g in groups):
        raise CaseError(
            f"layout '{text}' cannot be read",
            hint="write aos, soa, aosoa:32, or groups of fields: '{x y z} {m}'",
        )
    layout = Layout(tuple(groups))
    check_layout(record, layout)
    return layout


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
