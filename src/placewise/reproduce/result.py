"""What a reproduction gives back: tables of paper beside program, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Cell = str | int | float | bool | None
"""None where there is nothing to say."""


@dataclass(frozen=True)
class Table:
    """One table; every row has one cell per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Readings, assumptions, what a cell's mark means."""


@dataclass(frozen=True)
class Reproduction:
    """What came of recomputing a part of a paper."""

    name: str
    """As on the command line."""
    paper: str
    """Authors, year, table or figure."""
    tables: tuple[Table, ...]
    verdict: str
    """What it comes to, in a sentence or two."""
    missing: tuple[str, ...] = ()
    """What cannot be recomputed, and why."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The numbers that the verdict rests on."""
