"""Advice on layouts and placements that were searched together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.advisor.advice import Advice, Option
from placewise.advisor.explain.gain import gain_of
from placewise.advisor.forms.timing import Timed
from placewise.advisor.layouts.layout_advice import LayoutAdvice, TriedLayout
from placewise.dataframe import dataframe
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.model import SAME, Ratio
from placewise.notebook import ShownInNotebooks
from placewise.short_repr import ShortRepr

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class JointForm(ShortRepr):
    """A kernel with a layout of its arrays and a placement of them; either may be the present
    one."""

    layout: TriedLayout | None
    """None: the present layout."""
    advice: Advice
    """Advice on the placements under that layout."""
    option: Option | None
    """The placement, one of the advice's options; None: the present placement."""
    case: Case
    """The form's source, launch and inputs."""
    timed: Timed
    ratio: Ratio
    """Time over that of the kernel as it is."""

    @property
    def layout_text(self) -> str:
        """The layout in words."""
        return "as it is" if self.layout is None else f"{self.layout.kind}: {self.layout.text}"

    @property
    def placement_text(self) -> str:
        """The moves of the placement in words."""
        if self.option is None:
            return "as it is"
        return self.option.placement.describe(self.advice.present.placement)

    @property
    def changes(self) -> int:
        """Number of changes to the program: one for another layout, one for each array that
        moves."""
        return len(self._moves()) + (self.layout is not None)

    def _in_short(self) -> str:
        return f"{self.layout_text}; {self.placement_text}: {gain_of(self.ratio)}"

    def to_dict(self) -> dict[str, Any]:
        """The form as JSON types."""
        return {
            "layout": None if self.layout is None else self.layout.text,
            "layout_kind": None if self.layout is None else self.layout.kind,
            "placement": None if self.option is None else {a: to for a, _, to in self._moves()},
            "milliseconds": self.timed.ms,
            "ratio": self.ratio.ratio,
            "ratio_range": [self.ratio.low, self.ratio.high],
            "faster": self.ratio.faster,
        }

    def _moves(self) -> tuple[tuple[str, str, str], ...]:
        """(array, from, to) of the placement."""
        if self.option is None:
            return ()
        return tuple(self.option.placement.moved(self.advice.present.placement))


@dataclass(frozen=True, eq=False, repr=False)
class JointAdvice(ShownInNotebooks):
    """The answer to where arrays should live and how they should be laid out, searched together."""

    case: Case
    machine: Machine
    layouts: LayoutAdvice
    present: Timed
    forms: tuple[JointForm, ...]
    """All proven forms that were timed, the fastest first; the present one is not among them."""
    recommended: JointForm | None
    """None: keep the kernel as it is."""
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        best = self.recommended
        if best is None:
            return "Keep layout and placement as they are: nothing gains enough."
        parts = []
        if best.layout is not None:
            parts.append(f"lay out {best.layout.text}")
        if best.option is not None:
            parts.append(f"place {best.placement_text}")
        words = " and ".join(parts)
        return f"{words[0].upper()}{words[1:]}: {gain_of(best.ratio)}."

    def _in_short(self) -> str:
        return f"{self.case.called} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "schema": "placewise-joint",
            "schema_version": 1,
            "case": self.case.name,
            "machine": self.machine.name,
            "present_milliseconds": self.present.ms,
            "recommended": None if self.recommended is None else self.recommended.to_dict(),
            "forms": [form.to_dict() for form in self.forms],
            "layouts": self.layouts.to_dict(),
            "notes": list(self.notes),
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each form, the fastest first and the present one last: ``layout``,
        ``placement``, ``milliseconds``, ``ratio`` to the present time with ``ratio_low`` and
        ``ratio_high`` (80 % interval), ``probability_faster``, ``recommended``. Raises
        UnsupportedError where pandas is not installed."""
        rows = [
            {
                "layout": form.layout_text,
                "placement": form.placement_text,
                "milliseconds": form.timed.ms,
                "ratio": form.ratio.ratio,
                "ratio_low": form.ratio.low,
                "ratio_high": form.ratio.high,
                "probability_faster": form.ratio.faster,
                "recommended": form is self.recommended,
            }
            for form in self.forms
        ]
        present = {"layout": "as it is", "placement": "as it is", "milliseconds": self.present.ms}
        same = {"ratio": SAME.ratio, "ratio_low": SAME.low, "ratio_high": SAME.high}
        chosen = {"probability_faster": SAME.faster, "recommended": self.recommended is None}
        return dataframe([*rows, present | same | chosen])
