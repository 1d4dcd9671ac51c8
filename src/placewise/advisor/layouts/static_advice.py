"""What the static cost says of a kernel's layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.dataframe import dataframe
from placewise.kernel.cases.case import Case
from placewise.kernel.struct_uses import StructArrays
from placewise.machine import Machine
from placewise.model.static_layout import (
    LITERAL,
    WEIGHTS,
    CacheLevels,
    CostVector,
    Reading,
    Weights,
)
from placewise.short_repr import ShortRepr
from placewise.space.layout import Layout

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class StaticOption:
    """A layout with its static cost."""

    layout: Layout
    cost: CostVector
    """Cost of the whole kernel."""
    ratio: float
    """Cost over that of the kernel as it is."""

    def to_dict(self) -> dict[str, Any]:
        """The layout as JSON types."""
        return {
            "layout": self.layout.describe(),
            "kind": self.layout.kind(),
            "cost": self.cost.total,
            "cost_by_loops": list(self.cost.entries),
            "ratio": self.ratio,
        }


@dataclass(frozen=True, eq=False, repr=False)
class StaticStructAdvice(ShortRepr):
    """Static costs of the layouts of one struct type, the cheapest first."""

    arrays: StructArrays
    names: tuple[str, ...]
    """The arrays as the source has them."""
    now: Layout
    """The layout that the source has."""
    present: CostVector
    """Cost of the kernel as it is."""
    options: tuple[StaticOption, ...] = ()
    """Other layouts; empty where the struct's fields are not known."""
    best: StaticOption | None = None
    """The recommended one; None: keep the present layout."""
    looked_at: int = 0
    """Number of layouts whose cost was calculated."""
    exact: bool = False
    """Every partition of the accessed fields was looked at."""

    @property
    def verdict(self) -> str:
        """The answer for the arrays of this struct type in a sentence."""
        of = self.arrays.type_name if self.names == self.arrays.parameters else "together"
        what = f"{', '.join(self.names)} ({of})"
        if not self.options:
            return f"{what}: the fields are not known: {self.arrays.obstacle}"
        best = self.best
        if best is None:
            return (
                f"Keep the layout of {what}: no other one has a lower static cost worth a change."
            )
        return (
            f"Lay {what} out as {best.layout.kind()}, {best.layout.describe()}: {best.ratio:.2f} "
            "times the static cost. Not run, not proven."
        )

    def _in_short(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "struct": self.arrays.type_name,
            "arrays": list(self.names),
            "obstacle": self.arrays.obstacle,
            "present": self.now.describe(),
            "present_cost": self.present.total,
            "present_cost_by_loops": list(self.present.entries),
            "recommended": None if self.best is None else self.best.layout.describe(),
            "looked_at": self.looked_at,
            "exact": self.exact,
            "options": [option.to_dict() for option in self.options],
        }


@dataclass(frozen=True, eq=False, repr=False)
class StaticLayoutAdvice(ShortRepr):
    """The static cost of a kernel's layouts on a machine (Peng, Grossman and Sarkar 2016)."""

    case: Case
    machine: Machine
    levels: CacheLevels
    structs: tuple[StaticStructAdvice, ...]
    """One for each struct type that the kernel has arrays of; empty: it has none."""
    assumed: tuple[str, ...]
    """What the analysis of the source took for granted, with lines."""
    notes: tuple[str, ...] = ()
    weights: Weights = WEIGHTS
    reading: Reading = LITERAL

    @property
    def verdict(self) -> str:
        """The answer in a sentence for each struct type."""
        return (
            " ".join(one.verdict for one in self.structs) or "The kernel has no array of structs."
        )

    def _in_short(self) -> str:
        return f"{self.case.called} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        levels, weights = self.levels, self.weights
        return {
            "schema": "placewise-static-layout",
            "schema_version": 1,
            "case": self.case.name,
            "machine": self.machine.name,
            "l1_bytes": levels.l1_bytes,
            "l1_line_bytes": levels.l1_line_bytes,
            "l2_bytes": levels.l2_bytes,
            "blocks_per_sm": levels.blocks_per_sm,
            "weights": {"l1": weights.l1, "l2": weights.l2, "dram": weights.dram},
            "reading": self.reading.describe(),
            "structs": [s.to_dict() for s in self.structs],
            "assumed": list(self.assumed),
            "notes": list(self.notes),
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each layout, struct types first, the cheapest of each first: ``arrays``,
        ``layout``, ``kind``, ``cost``, ``ratio`` to the present cost, ``recommended``. Raises
        UnsupportedError where pandas is not installed."""
        return dataframe(
            [
                {
                    "arrays": ", ".join(s.names),
                    "layout": o.layout.describe(),
                    "kind": o.layout.kind(),
                    "cost": o.cost.total,
                    "ratio": o.ratio,
                    "recommended": o is s.best,
                }
                for s in self.structs
                for o in s.options
            ]
        )
