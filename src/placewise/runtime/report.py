"""Report of the runtime: what it did, what it cost, and after how many launches the cost is paid
back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.dataframe import dataframe
from placewise.runtime.stopwatch import Overhead
from placewise.short_repr import ShortRepr

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ClassReport:
    """One class of launches: those of one grid, block, shapes, types and deciding scalars."""

    launches_of: str
    """The class in words."""
    launches: int
    tuned_launches: int
    """Launches of the chosen version, out of all."""
    moves: str
    """The moves of the chosen version, in words; empty where the original runs."""
    why: str
    """Why the original runs, or how the chosen version was found."""
    present_ms: float | None
    """Predicted time of the original's launch on the machine."""
    chosen_ms: float | None
    """Predicted time of the chosen version's launch, including copies into constant memory."""
    faster: float | None
    """Probability that the chosen version is faster."""
    from_cache: bool
    """Whether the choice was read from disk."""
    other_values: int
    """Number of further sets of scalar values for which the choice was reused."""
    overhead: Overhead

    @property
    def saved_ms(self) -> float:
        """Predicted gain of one launch."""
        if not self.moves or self.present_ms is None or self.chosen_ms is None:
            return 0.0
        return max(0.0, self.present_ms - self.chosen_ms)

    @property
    def pays_after(self) -> int | None:
        """Launches of the chosen version after which the predicted gains exceed the overhead; None
        where it never pays."""
        if self.saved_ms <= 0.0:
            return None
        return math.ceil(self.overhead.total * 1e3 / self.saved_ms)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "launches_of": self.launches_of,
            "launches": self.launches,
            "tuned_launches": self.tuned_launches,
            "moves": self.moves,
            "why": self.why,
            "present_ms": self.present_ms,
            "chosen_ms": self.chosen_ms,
            "probability_faster": self.faster,
            "from_cache": self.from_cache,
            "other_values": self.other_values,
            "overhead_s": self.overhead.to_dict(),
            "pays_after": self.pays_after,
        }


@dataclass(frozen=True, repr=False)
class TuneReport(ShortRepr):
    """Report on all launches of one kernel. ``str(report)`` is a text of a few lines."""

    kernel: str
    classes: tuple[ClassReport, ...]
    untuned: tuple[tuple[str, int], ...]
    """(reason, number of launches) for launches of the original outside of any class."""
    reading: Overhead
    """Cost of compiling the original and reading its PTX, for all classes together."""

    @property
    def launches(self) -> int:
        """All launches so far."""
        return sum(c.launches for c in self.classes) + sum(n for _, n in self.untuned)

    @property
    def tuned_launches(self) -> int:
        """Launches of a chosen version."""
        return sum(c.tuned_launches for c in self.classes)

    @property
    def overhead(self) -> Overhead:
        """All seconds that the runtime spent."""
        return sum((c.overhead for c in self.classes), self.reading)

    @property
    def saved_ms(self) -> float:
        """Predicted gain of all launches of chosen versions so far."""
        return sum(c.tuned_launches * c.saved_ms for c in self.classes)

    def _in_short(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "schema": "placewise-tune",
            "schema_version": 1,
            "kernel": self.kernel,
            "launches": self.launches,
            "tuned_launches": self.tuned_launches,
            "overhead_s": self.overhead.to_dict(),
            "predicted_saved_ms": self.saved_ms,
            "classes": [c.to_dict() for c in self.classes],
            "untuned": [{"why": why, "launches": n} for why, n in self.untuned],
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each class of launches, its overhead in columns ``profiling_s``, ``search_s``
        … (it needs pandas)."""
        rows = []
        for document in self.to_dict()["classes"]:
            overhead = document.pop("overhead_s")
            rows.append({**document, **{f"{name}_s": s for name, s in overhead.items()}})
        return dataframe(rows)

    def __str__(self) -> str:
        lines = [
            f"{self.kernel}: {self.tuned_launches} of {self.launches} launches ran a chosen version"
        ]
        for one in self.classes:
            lines += _class_lines(one)
        lines += [f"  original, {count} launches: {why}" for why, count in self.untuned]
        spent = self.overhead
        parts = ", ".join(f"{k} {v:.3g} s" for k, v in spent.to_dict().items() if k != "total")
        lines.append(f"  overhead {spent.total:.3g} s: {parts}")
        return "\n".join(lines)


def _class_lines(one: ClassReport) -> list[str]:
    source = ", found on disk" if one.from_cache else ""
    others = f", {one.other_values} other sets of scalars among them" if one.other_values else ""
    lines = [f"  {one.launches_of}: {one.launches} launches{others}{source}"]
    if not one.moves:
        return [*lines, f"    original: {one.why}"]
    gain = ""
    if one.present_ms and one.chosen_ms:
        gain = f": predicted {one.present_ms:.4g} → {one.chosen_ms:.4g} ms"
        gain += "" if one.faster is None else f", {one.faster:.0%} likely to be faster"
    lines.append(f"    {one.moves}{gain}")
    if one.pays_after is not None:
        lines.append(f"    pays after {one.pays_after} launches; {one.tuned_launches} so far")
    return lines
