"""The syntax tree of MSL: one frozen dataclass per construct, with the place it was written at.

Positions do not take part in comparison, so that a tree printed and parsed again equals itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum


@dataclass(frozen=True)
class Position:
    """Line and column of a construct's first character, both from 1."""

    line: int = 1
    column: int = 1
    file: str | None = None
    """The base's file, for what a machine inherits; None for the file that is read."""


_START = Position()


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Something written at a place in the file."""

    at: Position = field(default=_START, compare=False, repr=False)


class Special(StrEnum):
    """The notations that may stand in place of a figure (Chen et al. 2017, Fig. 2)."""

    UNKNOWN = "?"
    NOT_APPLICABLE = "na"
    OMITTED = "om"


@dataclass(frozen=True)
class Number:
    """A non-negative integer of a serialization condition."""

    value: int


@dataclass(frozen=True)
class Keyword:
    """``address1``, ``word2``, ``banks``, ``blockSize`` …"""

    name: str


@dataclass(frozen=True)
class Floor:
    operand: Expression


@dataclass(frozen=True)
class Unary:
    operator: str
    """``-`` or ``!``."""
    operand: Expression


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


Expression = Number | Keyword | Floor | Unary | Binary


@dataclass(frozen=True)
class Size(Placed):
    """``count`` times 1024 to the power that ``prefix`` names, of bytes (B) or elements (E)."""

    count: int
    prefix: str
    """One of "", K, M, G, T."""
    unit: str
    """B, E, or "" where the file names none (tolerated, read as bytes)."""

    @property
    def amount(self) -> int:
        """Bytes or elements."""
        power = " KMGT".index(self.prefix or " ")
        return self.count << 10 * power


@dataclass(frozen=True)
class Latency(Placed):
    value: Decimal
    unit: str
    """clk, ns, us, ms or sec."""


@dataclass(frozen=True)
class Level(Placed):
    """A memory named in a level list, by name or id."""

    name: str


@dataclass(frozen=True)
class Condition(Placed):
    scope: str
    expression: Expression


@dataclass(frozen=True)
class Reference(Placed):
    """A source: the name of a ``source`` declaration, a text of its own, or both."""

    name: str | None
    text: str | None


@dataclass(frozen=True)
class Provenance(Placed):
    """Which fields of an entry come from which source."""

    fields: tuple[str, ...]
    reference: Reference


@dataclass(frozen=True)
class Base(Placed):
    """The description that a file starts from."""

    name: str
    """A bundled machine or architecture, or the path of a file."""
    is_path: bool


@dataclass(frozen=True)
class Header(Placed):
    name: str
    title: str | None
    base: Base | None = None
    is_architecture: bool = False
    """The file describes what several machines share, and is no machine itself."""


@dataclass(frozen=True)
class SourceEntry(Placed):
    name: str
    text: str


@dataclass(frozen=True)
class ProcessorEntry(Placed):
    tpcs: int
    sms_per_tpc: int
    cores_per_sm: int
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True)
class Quantity(Placed):
    """A number as written, with its unit word if it has one."""

    value: Decimal
    unit: str | None


@dataclass(frozen=True)
class Extent(Placed):
    """``<x y z>``, with the unit word of all its figures if it has one."""

    values: tuple[Decimal, ...]
    unit: str | None = None


@dataclass(frozen=True)
class Word(Placed):
    """A name, or one of a few words, such as a replacement policy."""

    text: str


@dataclass(frozen=True)
class Words(Placed):
    """``<FFMA FADD …>``."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class LimitEntry(Placed):
    """``NAME = VALUE from SOURCE;`` of an entry that consists of settings."""

    name: str
    value: Quantity | Extent | Word | Words | Special
    reference: Reference | None = None


@dataclass(frozen=True)
class LimitsEntry(Placed):
    limits: tuple[LimitEntry, ...]


@dataclass(frozen=True)
class MemoryEntry(Placed):
    """One ``memSpec``; the fields in the order of Fig. 2."""

    name: str
    id: int
    managed: str | Special
    """Y or N."""
    rw: str | Special
    """R, W or RW."""
    dim: int | Special
    size: tuple[Size, ...] | Special
    block_size: tuple[Size, ...] | Special
    banks: int | Special
    latency: tuple[Latency, ...] | Special
    """One latency, or read and write."""
    upper: tuple[Level, ...] | Special
    lower: tuple[Level, ...] | Special
    scope: str | Special
    concurrency: tuple[Decimal, Decimal] | Special
    """Factors for memory-intensive and compute-intensive kernels."""
    condition: Condition | Special
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True)
class ChangeEntry(Placed):
    """``change NAME { FIELD = VALUE from SOURCE; … }``: fields of an inherited memory."""

    name: str
    settings: tuple[LimitEntry, ...]


@dataclass(frozen=True)
class WithoutEntry(Placed):
    """``without KIND NAME;``: an inherited entry that this machine does not have."""

    kind: str
    """memory, detail, pipe, instruction, tlb, space or dram."""
    name: str | None
    """Name of the entry; None for the DRAM, of which there is one."""


@dataclass(frozen=True)
class DetailEntry(Placed):
    """What MSL's ``memSpec`` has no field for, of the memory called ``name``."""

    name: str
    settings: tuple[LimitEntry, ...]


@dataclass(frozen=True)
class PartEntry(Placed):
    """A part of the machine that is no memory: a ``pipe``, ``instruction``, ``tlb`` or ``dram``."""

    kind: str
    name: str | None
    """None of the DRAM, of which there is one."""
    settings: tuple[LimitEntry, ...]


@dataclass(frozen=True)
class SpaceEntry(Placed):
    """One placement choice: see :class:`placewise.space.MemorySpace`."""

    name: str
    letter: str
    way: str
    levels: tuple[Level, ...]
    path: str
    rw: str
    """R or RW."""
    declaration: str | None = None
    intrinsic: str | None = None
    reference: Reference | None = None


@dataclass(frozen=True)
class Specification:
    """A whole MSL file. ``warnings`` are departures from Fig. 2 that the parser let pass."""

    processor: ProcessorEntry | None
    """None only where it is inherited, or in an architecture."""
    memories: tuple[MemoryEntry, ...]
    title: str | None = None
    """The line ``Mem spec of …:`` of Fig. 4."""
    header: Header | None = None
    sources: tuple[SourceEntry, ...] = ()
    limits: LimitsEntry | None = None
    details: tuple[DetailEntry, ...] = ()
    parts: tuple[PartEntry, ...] = ()
    spaces: tuple[SpaceEntry, ...] = ()
    changes: tuple[ChangeEntry, ...] = ()
    without: tuple[WithoutEntry, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
