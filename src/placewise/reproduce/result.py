"""The result of a reproduction as data: tables with the paper's figures beside the program's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Cell = str | int | float | bool | None
"""Content of a table's cell; None for an empty one."""


@dataclass(frozen=True)
class Table:
    """One table; every row has one cell per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Readings, assumptions, and the meaning of marks in cells."""


@dataclass(frozen=True)
class Reproduction:
    """The result of recomputing a part of a paper."""

    name: str
    """Name on the command line, such as ``hu-liu``."""
    paper: str
    """Authors, year, and table or figure."""
    tables: tuple[Table, ...]
    verdict: str
    """The result in a sentence or two."""
    missing: tuple[str, ...] = ()
    """What cannot be recomputed, and why, in sentences."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The numbers that the verdict rests on."""
