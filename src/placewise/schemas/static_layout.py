"""Document of `placewise layout --static`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class StaticOption(TypedDict):
    """A layout with its static cost."""

    layout: str
    """Groups of fields in braces, with `@` the alignment in bytes."""
    kind: str
    """AoS, SoA, SoAoS or AoSoA."""
    cost: float
    """Cost of the whole kernel, in hits of L1; loops of unknown length count as 100 iterations."""
    cost_by_loops: list[float]
    """The cost of accesses by how many loops of unknown length are around them, from none."""
    ratio: float
    """Cost over that of the kernel as it is."""


class StaticStructAdvice(TypedDict):
    """Static costs of the layouts of one struct type."""

    struct: str
    """Name of the struct type."""
    arrays: list[str]
    """Arrays of that type."""
    obstacle: str | None
    """Why `placewise layout` cannot write another layout; null where it can."""
    present: str
    """The present layout."""
    present_cost: float
    """Cost of the kernel as it is."""
    present_cost_by_loops: list[float]
    """The present cost by loops of unknown length around accesses."""
    recommended: str | None
    """The recommended layout; null: keep the present one."""
    looked_at: int
    """Number of layouts whose cost was calculated."""
    exact: bool
    """Every partition of the accessed fields was looked at."""
    options: list[StaticOption]
    """Other layouts, the cheapest first."""


class LevelWeights(TypedDict):
    """Cost of a transaction by where it is served."""

    l1: float
    """By L1."""
    l2: float
    """By L2."""
    dram: float
    """By DRAM."""


@document
class StaticLayoutDocument(TypedDict):
    """The static cost of layouts after Peng, Grossman and Sarkar 2016, without a run: `placewise
    layout --static --json`."""

    schema: Literal["placewise-static-layout"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    l1_bytes: int
    """Size of L1; 0: it does not cache global memory."""
    l1_line_bytes: int
    """Bytes of a line of L1."""
    l2_bytes: int
    """Size of L2."""
    blocks_per_sm: int
    """Blocks that share an L1."""
    weights: LevelWeights
    """Cost of a transaction by where it is served."""
    reading: str
    """How the paper was read where it is not specific."""
    structs: list[StaticStructAdvice]
    """One for each struct type that the kernel has arrays of."""
    assumed: list[str]
    """What the analysis of the source took for granted, with lines."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""
