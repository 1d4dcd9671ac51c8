"""What is said of the layouts of a kernel's arrays of structs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from placewise.advisor.timing import Timed
from placewise.kernel.cases.case import Case
from placewise.kernel.struct_uses import StructArrays
from placewise.machine import Machine
from placewise.memory.fields.record import LineUse
from placewise.model import Ratio
from placewise.rewriter.layouts import Relaid
from placewise.space.layout import Layout


@dataclass(frozen=True, eq=False)
class LayoutOption:
    """One layout of one struct type, written out, run and timed."""

    arrays: StructArrays
    layout: Layout
    relaid: Relaid | None
    """None where it cannot be written."""
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

    def to_dict(self) -> dict[str, Any]:
        """The option as JSON types."""
        ratio = self.ratio
        return {
            "struct": self.arrays.type_name,
            "arrays": list(self.arrays.parameters),
            "layout": self.layout.describe(),
            "kind": self.layout.kind(),
            "proven": self.proven,
            "detail": self.detail,
            "milliseconds": None if self.timed is None else self.timed.ms,
            "ratio": None if ratio is None else ratio.ratio,
            "ratio_range": None if ratio is None else [ratio.low, ratio.high],
            "faster": None if ratio is None else ratio.faster,
        }


@dataclass(frozen=True)
class Conversion:
    """What it takes to convert the arrays once to the layout and once back, on the GPU."""

    bytes: int
    """Read and written, both ways."""
    milliseconds: float | None
    """At the DRAM bandwidth that streaming kernels get; None where the machine has no figure."""
    launches: int | None
    """Launches after which it is paid back; None where nothing is gained or known."""


@dataclass(frozen=True, eq=False)
class StructAdvice:
    """Layouts of one struct type, the fastest first."""

    arrays: StructArrays
    lines: tuple[LineUse, ...]
    """Bytes used and moved by source line, in the present layout."""
    present: Timed | None
    options: tuple[LayoutOption, ...]
    best: LayoutOption | None
    """The recommended one; None: keep the present layout, or there is no other."""
    conversion: Conversion | None
    """Of the recommended one."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        conversion = self.conversion
        return {
            "struct": self.arrays.type_name,
            "arrays": list(self.arrays.parameters),
            "obstacle": self.arrays.obstacle,
            "present": self.arrays.record.declared.describe(),
            "present_milliseconds": None if self.present is None else self.present.ms,
            "lines": [
                {
                    "array": use.array,
                    "line": use.line,
                    "kind": use.kind,
                    "fields": list(use.fields),
                    "requests": use.requests,
                    "used_bytes": use.used_bytes,
                    "moved_bytes": use.moved_bytes,
                }
                for use in self.lines
            ],
            "recommended": None if self.best is None else self.best.layout.describe(),
            "conversion": None
            if conversion is None
            else {
                "bytes": conversion.bytes,
                "milliseconds": conversion.milliseconds,
                "launches": conversion.launches,
            },
            "options": [option.to_dict() for option in self.options],
        }


@dataclass(frozen=True, eq=False)
class LayoutAdvice:
    """The answer to how a kernel's arrays of structs should be laid out on a machine."""

    case: Case
    machine: Machine
    structs: tuple[StructAdvice, ...]
    """One for each struct type that the kernel has arrays of; empty: it has none."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "schema": "placewise-layout",
            "schema_version": 1,
            "case": self.case.name,
            "machine": self.machine.name,
            "structs": [s.to_dict() for s in self.structs],
            "notes": list(self.notes),
        }
