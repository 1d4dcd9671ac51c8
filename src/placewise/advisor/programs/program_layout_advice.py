"""What is said of the layouts of a program's arrays: one layout in all kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from placewise.advisor.advice import Verification
from placewise.advisor.explain.gain import gain_of
from placewise.advisor.forms.timing import Timed
from placewise.advisor.layouts.layout_advice import TriedLayout
from placewise.advisor.programs.chain import Step
from placewise.advisor.programs.program_advice import ProgramAdvice, combined
from placewise.advisor.programs.relaid_program import ProgramStructs, RelaidProgram
from placewise.kernel.programs.program import Program
from placewise.machine import Machine
from placewise.memory.fields.record import LineUse
from placewise.model import Ratio
from placewise.short_repr import ShortRepr
from placewise.space.layout import Layout

NOTHING = "No kernel of the program has an array of structs: there is no layout to choose."


@dataclass(frozen=True, eq=False)
class TimedStep:
    """A launch of a program as it is, with its time."""

    step: Step
    timed: Timed
    launches: int
    """How often the whole program launches it."""

    @property
    def total_ms(self) -> float:
        """Predicted time of all its launches together."""
        assert self.timed.ms, "programs with a launch without a time are refused before"
        return self.launches * self.timed.ms


@dataclass(frozen=True)
class ProgramConversion:
    """What it takes to convert a program's arrays: those that the host fills on the way in, those
    of them that launches write on the way out, each once."""

    bytes: int
    """Read and written."""
    milliseconds: float | None
    """On the GPU, at the DRAM bandwidth that streaming kernels get; None where the machine has no
    figure."""
    rounds: int | None
    """Rounds after which it is paid back; None where nothing is gained or known."""

    def to_dict(self) -> dict[str, Any]:
        """The cost as JSON types."""
        return {"bytes": self.bytes, "milliseconds": self.milliseconds, "rounds": self.rounds}


@dataclass(frozen=True, eq=False, repr=False)
class ProgramLayoutOption(TriedLayout):
    """A layout of one struct type in all kernels of a program. ``ratio`` counts the conversion."""

    structs: ProgramStructs
    layout: Layout
    relaid: RelaidProgram | None
    """None where it cannot be written."""
    launches: tuple[Timed, ...]
    """Time of each launch of the program; empty where it is not proven."""
    total_ms: float | None
    """Predicted time of the whole program, without conversion."""
    kernels_ratio: Ratio | None
    """Time without conversion over that of the present layout."""
    conversion: ProgramConversion | None

    def to_dict(self) -> dict[str, Any]:
        """The layout as JSON types."""
        names = {"struct": self.structs.arrays.type_name, "arrays": list(self.structs.names)}
        return (
            names
            | super().to_dict()
            | {
                "milliseconds": self.total_ms,
                "kernels_ratio": None if self.kernels_ratio is None else self.kernels_ratio.ratio,
                "launches_milliseconds": [timed.ms for timed in self.launches],
                "conversion": None if self.conversion is None else self.conversion.to_dict(),
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class ProgramStructAdvice(ShortRepr):
    """Layouts of one struct type in a program, the fastest first."""

    structs: ProgramStructs
    lines: tuple[tuple[int, LineUse], ...]
    """(number of the launch, bytes used and moved by a source line), in the present layout."""
    options: tuple[ProgramLayoutOption, ...]
    best: ProgramLayoutOption | None
    """The recommended one; None: keep the present layout, or there is no other."""

    @property
    def verdict(self) -> str:
        """The answer for the arrays of this struct type in a sentence."""
        best = self.best
        what = f"{', '.join(self.structs.names)} ({self.structs.arrays.type_name})"
        if self.structs.obstacle is not None:
            return f"{what}: the layout cannot be changed: {self.structs.obstacle}"
        if best is None or best.ratio is None:
            return (
                f"Keep the layout of {what}: no other layout is worth it in all kernels together."
            )
        return (
            f"Lay {what} out as {best.layout.kind()}, {best.layout.describe()}, in all kernels: "
            f"the program is {gain_of(best.ratio)}, conversion counted."
        )

    def _in_short(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        arrays = self.structs.arrays
        return {
            "struct": arrays.type_name,
            "arrays": list(self.structs.names),
            "obstacle": self.structs.obstacle,
            "present": arrays.record.declared.describe(),
            "lines": [{"launch": number} | use.to_dict() for number, use in self.lines],
            "recommended": None if self.best is None else self.best.layout.describe(),
            "options": [option.to_dict() for option in self.options],
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProgramLayoutsTogether(ShortRepr):
    """The recommended layouts of several struct types, written into one source and proven."""

    chosen: tuple[ProgramLayoutOption, ...]
    """The layout of each struct type."""
    written: tuple[RelaidProgram, ...]
    """The program after each of them; the last one has all."""
    detail: str
    """What the proof found."""
    total_ms: float
    """Predicted time of the whole program, without conversion."""
    conversion_ms: float
    """Predicted time of all conversions."""
    ratio: Ratio
    """Time, conversions counted, over that of the program as it is."""

    @property
    def source(self) -> str:
        """All kernels with all these layouts."""
        return self.written[-1].program.source

    def _in_short(self) -> str:
        layouts = ", ".join(f"{o.structs.arrays.type_name} as {o.text}" for o in self.chosen)
        return f"{layouts}: {gain_of(self.ratio)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "layouts": {o.structs.arrays.type_name: o.text for o in self.chosen},
            "detail": self.detail,
            "milliseconds": self.total_ms,
            "conversion_milliseconds": self.conversion_ms,
            "ratio": self.ratio.ratio,
            "ratio_range": [self.ratio.low, self.ratio.high],
            "faster": self.ratio.faster,
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProgramLayoutAdvice(ShortRepr):
    """The answer to how the arrays of a program should be laid out, in all its kernels."""

    program: Program
    machine: Machine
    launches: tuple[TimedStep, ...]
    """The program as it is."""
    structs: tuple[ProgramStructAdvice, ...]
    """One for each struct type; empty: no kernel has an array of structs."""
    together: ProgramLayoutsTogether | None
    """The recommended layouts of several struct types at once; None: there is at most one."""
    notes: tuple[str, ...]

    @property
    def present_ms(self) -> float:
        """Predicted time of the program as it is, all rounds."""
        return sum(one.total_ms for one in self.launches)

    @property
    def verdict(self) -> str:
        """The answer in a sentence for each struct type."""
        return " ".join(one.verdict for one in self.structs) or NOTHING

    def _in_short(self) -> str:
        return f"{self.program.name} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise layout --json`` prints for a program."""
        return {
            "schema": "placewise-program-layout",
            "schema_version": 1,
            "program": self.program.name,
            "source_file": self.program.filename,
            "machine": self.machine.name,
            "rounds": self.program.rounds,
            "present_milliseconds": self.present_ms,
            "launches": [
                {
                    "number": one.step.number,
                    "kernel": one.step.case.kernel,
                    "launches": one.launches,
                    "arrays": dict(one.step.arrays),
                    "present_milliseconds": one.timed.ms,
                }
                for one in self.launches
            ],
            "structs": [one.to_dict() for one in self.structs],
            "together": None if self.together is None else self.together.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProgramForm(ShortRepr):
    """A program with a layout of its arrays and placements of them; either may be the present
    one."""

    layout: ProgramLayoutOption | None
    """None: as it is."""
    advice: ProgramAdvice
    """Advice on the placements of all kernels under that layout."""
    is_moved: bool
    """Whether the recommended placements are part of it."""
    total_ms: float
    """Predicted time of the whole program, with copies and conversion."""
    ratio: Ratio
    """Time over that of the program as it is, copies and conversion counted."""

    @property
    def layout_text(self) -> str:
        """The layout in words."""
        return "as it is" if self.layout is None else f"{self.layout.kind}: {self.layout.text}"

    @property
    def placement_text(self) -> str:
        """The moves of the placements in words."""
        chosen = self.advice.recommended if self.is_moved else None
        return "as it is" if chosen is None else chosen.moves

    @property
    def changes(self) -> int:
        """Changes to live with: a layout counts for one, and each array that moves in a kernel."""
        chosen = self.advice.recommended if self.is_moved else None
        moved = 0 if chosen is None else sum(len(f.placement.spaces) for f in chosen.forms)
        return moved + (self.layout is not None)

    @property
    def source(self) -> str:
        """All kernels in this form."""
        if self.is_moved and self.advice.written is not None:
            return self.advice.written.source
        return self.advice.program.source

    @property
    def verification(self) -> Verification | None:
        """What came out when the placements ran in sequence; None: nothing moves."""
        return self.advice.verification if self.is_moved else None

    def _in_short(self) -> str:
        return f"{self.layout_text}; {self.placement_text}: {gain_of(self.ratio)}"

    def to_dict(self) -> dict[str, Any]:
        """The form as JSON types."""
        chosen = self.advice.recommended if self.is_moved else None
        return {
            "layout": None if self.layout is None else self.layout.text,
            "layout_kind": None if self.layout is None else self.layout.kind,
            "placements": None if chosen is None else combined(chosen),
            "milliseconds": self.total_ms,
            "ratio": self.ratio.ratio,
            "ratio_range": [self.ratio.low, self.ratio.high],
            "faster": self.ratio.faster,
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProgramJointAdvice(ShortRepr):
    """The answer to where a program's arrays should live and how they should be laid out, searched
    together."""

    layouts: ProgramLayoutAdvice
    forms: tuple[ProgramForm, ...]
    """All proven forms, the fastest first; the present one is not among them."""
    recommended: ProgramForm | None
    """None: keep the program as it is."""
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        best = self.recommended
        if best is None:
            return "Keep the program as it is: no layout and no placement is worth it."
        parts = []
        if best.layout is not None:
            names = ", ".join(best.layout.structs.names)
            parts.append(f"lay {names} out as {best.layout.kind}, {best.layout.text}")
        if best.is_moved:
            parts.append(f"move {best.placement_text}")
        words = "; ".join(parts)
        return (
            f"{words[0].upper()}{words[1:]}: the program is {gain_of(best.ratio)}, copies and "
            "conversion counted; all outputs are bit-identical."
        )

    def _in_short(self) -> str:
        return f"{self.layouts.program.name} on {self.layouts.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise advise --layouts --json`` prints for a program."""
        return {
            "schema": "placewise-program-joint",
            "schema_version": 1,
            "program": self.layouts.program.name,
            "machine": self.layouts.machine.name,
            "rounds": self.layouts.program.rounds,
            "present_milliseconds": self.layouts.present_ms,
            "recommended": None if self.recommended is None else self.recommended.to_dict(),
            "forms": [form.to_dict() for form in self.forms],
            "layouts": self.layouts.to_dict(),
            "notes": list(self.notes),
        }
