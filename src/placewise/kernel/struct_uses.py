"""What a kernel's source does with its arrays of structs: enough to give them another layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from placewise.space.layout import Record


class UseKind(StrEnum):
    """What an expression does with an element of an array of structs."""

    MEMBER = "member"
    """``p[i].x``, ``q->x``: a field."""
    LOAD = "load"
    """``p[i]`` read as a whole."""
    STORE = "store"
    """``p[i] = e``."""
    ADDRESS = "address"
    """``&p[i]``, or a reference bound to ``p[i]``."""


@dataclass(frozen=True)
class StructUse:
    """An expression to write anew. Ranges are byte offsets of the source text, half open."""

    kind: UseKind
    start: int
    end: int
    """The whole expression: with the member, the star, or the value that is stored."""
    pointer: tuple[int, int]
    """The pointer (or reference) that the element is reached through."""
    index: tuple[int, int] | None
    """The index, where there is one."""
    member: str
    """The field, for a use of kind MEMBER; else empty."""
    value: tuple[int, int] | None
    """Range of the value that is stored; None for another use."""
    line: int


@dataclass(frozen=True)
class Retyped:
    """A local variable or parameter that points or refers to an element."""

    name: str
    start: int
    end: int
    """Its type, with stars and references, up to its name."""
    line: int


@dataclass(frozen=True)
class DeclaredField:
    """A field as the source writes it: ``float f[19]`` is type ``float``, suffix ``[19]``."""

    name: str
    type_text: str
    """Empty where the type has no name."""
    suffix: str
    offset_bytes: int


@dataclass(frozen=True)
class StructArrays:
    """The arrays of one struct type that a kernel has, and every use of their elements."""

    record: Record
    type_name: str
    """Name of the struct type, as it can be written where the kernel is."""
    fields: tuple[DeclaredField, ...]
    parameters: tuple[str, ...]
    """The kernel's parameters that are such arrays."""
    uses: tuple[StructUse, ...]
    retyped: tuple[Retyped, ...]
    above: int
    """Where declarations can stand that all uses see: start of the first function with uses."""
    makes_pointers: bool
    """The source makes pointers or references into the arrays, not only subscripts."""
    obstacle: str | None
    """Why the struct cannot have another layout: reason with line."""
