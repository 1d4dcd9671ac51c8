"""Documents of `placewise machine`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document

Value = int | float | str | bool | None


class Figure(TypedDict):
    """One figure of a machine."""

    part: str
    """`processor`, `limits`, the name of a memory, or kind and name of another part."""
    name: str
    """Name of the figure."""
    value: Value
    """Null where it is not known."""
    unit: str
    """Unit; empty for a plain number or a word."""
    source: str | None
    """Document or measurement that it comes from."""


class MachineSummary(TypedDict):
    """A known machine."""

    name: str
    """Name of the machine file."""
    title: str
    """The GPU in full."""
    compute_capability: tuple[int, int]
    """Major and minor number."""
    sms: int
    """Number of SMs."""
    spaces: list[str]
    """Spaces that an array can be placed in."""


@document
class MachinesDocument(TypedDict):
    """The known machines: `placewise machine list --json`."""

    schema: Literal["placewise-machines"]
    schema_version: Literal[1]
    machines: list[MachineSummary]
    """By name."""


@document
class MachineDocument(TypedDict):
    """All figures of a machine: `placewise machine show --json` and `from-mt4g --json`."""

    schema: Literal["placewise-machine"]
    schema_version: Literal[1]
    name: str
    """Name of the machine file."""
    title: str
    """The GPU in full."""
    figures: list[Figure]
    """All figures with their sources."""
    warnings: list[str]
    """What the machine file leaves to defaults, in sentences."""


@document
class MachineCheckDocument(TypedDict):
    """What a machine file declares: `placewise machine check --json`."""

    schema: Literal["placewise-machine-check"]
    schema_version: Literal[1]
    name: str
    """Name of the machine."""
    memories: int
    """Number of memories."""
    spaces: list[str]
    """Spaces that an array can be placed in."""
    warnings: list[str]
    """What the machine file leaves to defaults, in sentences."""


class Difference(TypedDict):
    """A figure in which two machines differ."""

    part: str
    """Part of the machine."""
    name: str
    """Name of the figure."""
    one: Figure | None
    """The first machine's figure; null where it has none."""
    other: Figure | None
    """The second machine's figure; null where it has none."""


@document
class MachineDifferenceDocument(TypedDict):
    """In what two machines differ: `placewise machine diff --json`."""

    schema: Literal["placewise-machine-difference"]
    schema_version: Literal[1]
    one: str
    """Name of the first machine."""
    other: str
    """Name of the second machine."""
    differences: list[Difference]
    """The figures that differ."""


class Level(TypedDict):
    """One level of the memory, of latency or of bandwidth as the file measures it."""

    capacity_bytes: float | None
    """Capacity; null for the last level."""
    cycles: float | None
    """Latency."""
    gb_per_s: float | None
    """Bandwidth."""
    line_bytes: int | None
    """Size of a line."""
    fetched_bytes: int | None
    """Bytes that a miss brings."""
    doubts: list[str]
    """What speaks against the level; empty where confidence is high."""


@document
class LevelsDocument(TypedDict):
    """Levels read from another tool's file: `placewise machine curve --json`."""

    schema: Literal["placewise-levels"]
    schema_version: Literal[1]
    levels: list[Level]
    """Nearest to the cores first."""
