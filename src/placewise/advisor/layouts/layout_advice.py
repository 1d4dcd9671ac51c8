"""Advice on the layouts of a kernel's arrays: arrays of structs, and matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.advisor.explain.gain import gain_of
from placewise.advisor.forms.timing import Timed
from placewise.choose.matrix_orders import MatrixUse
from placewise.dataframe import dataframe
from placewise.kernel.cases.case import Case
from placewise.kernel.matrix_arrays import StoredMatrix
from placewise.kernel.struct_uses import StructArrays
from placewise.machine import Machine
from placewise.memory.fields.record import LineUse
from placewise.model import Ratio
from placewise.notebook import ShownInNotebooks
from placewise.rewriter.layouts import Relaid, Reordered
from placewise.rewriter.layouts.join_arrays import JoinedArrays
from placewise.short_repr import ShortRepr
from placewise.space.layout import Layout, structure_of_arrays

if TYPE_CHECKING:
    from pandas import DataFrame

NOTHING = (
    "The kernel has no array of structs, and none that it indexes as a matrix: there is no layout "
    "to choose. `placewise advise` says which memory each array should live in."
)


@dataclass(frozen=True, eq=False, repr=False)
class TriedLayout(ShortRepr):
    """A layout of some of a kernel's arrays, written out, run and timed."""

    text: str
    """The layout as a user writes it, such as ``--layout`` takes it."""
    kind: str
    """AoS, SoA, SoAoS, AoSoA, transposed or padded."""
    proven: bool
    """All arrays hold the same bits after conversion back."""
    detail: str
    """What the proof found, or why there is none."""
    timed: Timed | None
    ratio: Ratio | None
    """Time over that of the present layout."""

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the present layout."""
        return None if self.ratio is None or not self.ratio.ratio else 1.0 / self.ratio.ratio

    def _in_short(self) -> str:
        return f"{self.text}: {'no time' if self.ratio is None else gain_of(self.ratio)}"

    def to_dict(self) -> dict[str, Any]:
        """The layout as JSON types."""
        ratio = self.ratio
        return {
            "layout": self.text,
            "kind": self.kind,
            "proven": self.proven,
            "detail": self.detail,
            "milliseconds": None if self.timed is None else self.timed.ms,
            "ratio": None if ratio is None else ratio.ratio,
            "ratio_range": None if ratio is None else [ratio.low, ratio.high],
            "faster": None if ratio is None else ratio.faster,
        }


@dataclass(frozen=True, eq=False, repr=False)
class LayoutOption(TriedLayout):
    """A layout of one struct type."""

    arrays: StructArrays
    layout: Layout
    relaid: Relaid | None
    """None where it cannot be written."""
    sectors_ratio: float | None = None
    """Sectors that the traced accesses move in it, over those of the present layout; None where
    none is traced."""
    static_ratio: float | None = None
    """Static cost over that of the present layout; None where the source cannot be read for it."""

    def to_dict(self) -> dict[str, Any]:
        """The layout as JSON types."""
        arrays = {"struct": self.arrays.type_name, "arrays": list(self.arrays.parameters)}
        judged = {"sectors_ratio": self.sectors_ratio, "static_ratio": self.static_ratio}
        return arrays | super().to_dict() | judged


@dataclass(frozen=True, eq=False, repr=False)
class MatrixOption(TriedLayout):
    """Other orders of one or several matrices."""

    stored: tuple[StoredMatrix, ...]
    reordered: Reordered | None
    """None where it cannot be written."""

    def to_dict(self) -> dict[str, Any]:
        """The orders as JSON types."""
        return {"arrays": [one.matrix.name for one in self.stored]} | super().to_dict()


@dataclass(frozen=True)
class Conversion:
    """What it takes to convert the arrays once to the layout and once back, on the GPU."""

    bytes: int
    """Bytes read and written by both conversions together."""
    milliseconds: float | None
    """Time of both conversions, a launch each, at the DRAM bandwidth that streaming kernels reach;
    None where the machine file has no figure for it."""
    launches: int | None
    """Launches whose gains together pay for the conversions; None where nothing is gained or the
    gain is not known."""

    def to_dict(self) -> dict[str, Any]:
        """The cost as JSON types."""
        return {"bytes": self.bytes, "milliseconds": self.milliseconds, "launches": self.launches}


@dataclass(frozen=True, eq=False, repr=False)
class StructAdvice(ShortRepr):
    """Layouts of one struct type, the fastest first."""

    arrays: StructArrays
    lines: tuple[LineUse, ...]
    """Bytes used and moved by source line, in the present layout."""
    present: Timed | None
    options: tuple[LayoutOption, ...]
    best: LayoutOption | None
    """The recommended one; None: keep the present layout, or there is no other."""
    conversion: Conversion | None
    """What converting to the recommended layout costs; None: nothing is recommended."""
    joined: JoinedArrays | None = None
    """Separate arrays of the source that are the struct's fields in what was tried; None where the
    source has the struct."""

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays as the source has them."""
        return self.arrays.parameters if self.joined is None else self.joined.shown

    @property
    def now(self) -> Layout:
        """The layout that the source has."""
        record = self.arrays.record
        return structure_of_arrays(record) if self.joined else record.declared

    @property
    def verdict(self) -> str:
        """The answer for the arrays of this struct type in a sentence."""
        of = "together" if self.joined else self.arrays.type_name
        what = f"{', '.join(self.names)} ({of})"
        if self.arrays.obstacle is not None:
            return f"{what}: the layout cannot be changed: {self.arrays.obstacle}"
        best = self.best
        if best is None or best.ratio is None:
            why = "no other layout is worth it" if self.present else "no time is predicted"
            return f"Keep the layout of {what}: {why}."
        layout = best.layout
        return f"Lay {what} out as {layout.kind()}, {layout.describe()}: {gain_of(best.ratio)}."

    def _in_short(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "struct": self.arrays.type_name,
            "arrays": list(self.names),
            "obstacle": self.arrays.obstacle,
            "present": self.now.describe(),
            "present_milliseconds": None if self.present is None else self.present.ms,
            "lines": [use.to_dict() for use in self.lines],
            "recommended": None if self.best is None else self.best.layout.describe(),
            "conversion": None if self.conversion is None else self.conversion.to_dict(),
            "options": [option.to_dict() for option in self.options],
        }


@dataclass(frozen=True, eq=False, repr=False)
class MatrixAdvice(ShortRepr):
    """Orders of the arrays that the kernel indexes as matrices, the fastest first."""

    uses: tuple[MatrixUse, ...]
    """What accesses to each matrix move, now and in its best order."""
    present: Timed | None
    options: tuple[MatrixOption, ...]
    best: MatrixOption | None
    """The recommended one; None: keep them as they are."""
    conversion: Conversion | None
    """What converting to the recommended layout costs; None: nothing is recommended."""

    @property
    def verdict(self) -> str:
        """The answer for the matrices in a sentence."""
        # Most kernels store their matrices well; then this one line is the whole answer.
        if self.best is None or self.best.ratio is None:
            return f"Keep {', '.join(use.matrix.name for use in self.uses)} row by row."
        return f"Store {self.best.text}: {gain_of(self.best.ratio)}."

    def _in_short(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "present_milliseconds": None if self.present is None else self.present.ms,
            "matrices": [
                {
                    "array": use.matrix.name,
                    "rows": use.matrix.rows,
                    "columns": use.matrix.columns,
                    "requests": use.requests,
                    "sectors": use.sectors,
                    "best": None if use.best is None else use.best.describe(),
                    "best_sectors": use.best_sectors,
                }
                for use in self.uses
            ],
            "recommended": None if self.best is None else self.best.text,
            "conversion": None if self.conversion is None else self.conversion.to_dict(),
            "options": [option.to_dict() for option in self.options],
        }


@dataclass(frozen=True, eq=False, repr=False)
class LayoutAdvice(ShownInNotebooks):
    """The answer to how a kernel's arrays should be laid out on a machine."""

    case: Case
    machine: Machine
    structs: tuple[StructAdvice, ...]
    """One for each struct type that the kernel has arrays of; empty: it has none."""
    matrices: MatrixAdvice | None
    """Advice on arrays that are indexed as matrices; None: the kernel has none."""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The answer in a sentence for each struct type, and one for all matrices."""
        said = [structs.verdict for structs in self.structs]
        said += [] if self.matrices is None else [self.matrices.verdict]
        return " ".join(said) or NOTHING

    def _in_short(self) -> str:
        return f"{self.case.called} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "schema": "placewise-layout",
            "schema_version": 1,
            "case": self.case.name,
            "machine": self.machine.name,
            "structs": [s.to_dict() for s in self.structs],
            "matrices": None if self.matrices is None else self.matrices.to_dict(),
            "notes": list(self.notes),
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each layout that was tried, struct types first, the fastest of each first:
        ``arrays``, ``layout``, ``kind``, ``milliseconds``, ``ratio`` to the present time with
        ``ratio_low`` and ``ratio_high`` (80 % interval), ``probability_faster``, ``proven``,
        ``recommended``. Raises UnsupportedError where pandas is not installed."""
        tried: list[tuple[str, TriedLayout, bool]] = [
            (", ".join(s.names), o, o is s.best) for s in self.structs for o in s.options
        ]
        if (matrices := self.matrices) is not None:
            for order in matrices.options:
                names = ", ".join(one.matrix.name for one in order.stored)
                tried.append((names, order, order is matrices.best))
        rows = []
        for arrays, option, recommended in tried:
            ratio = option.ratio
            rows.append(
                {
                    "arrays": arrays,
                    "layout": option.text,
                    "kind": option.kind,
                    "milliseconds": None if option.timed is None else option.timed.ms,
                    "ratio": None if ratio is None else ratio.ratio,
                    "ratio_low": None if ratio is None else ratio.low,
                    "ratio_high": None if ratio is None else ratio.high,
                    "probability_faster": None if ratio is None else ratio.faster,
                    "proven": option.proven,
                    "recommended": recommended,
                }
            )
        return dataframe(rows)
