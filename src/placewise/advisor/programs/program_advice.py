"""Advice on a program: the forms of all its kernels together, and each launch alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.advisor.advice import Verification
from placewise.advisor.programs.joint_search import AdvisedStep, Combination
from placewise.advisor.programs.written_program import WrittenProgram
from placewise.dataframe import dataframe
from placewise.kernel.programs.program import Program
from placewise.machine import Machine
from placewise.short_repr import ShortRepr

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class ProgramAdvice(ShortRepr):
    """The answer to where the arrays of a program should live in each of its kernels."""

    program: Program
    machine: Machine
    launches: tuple[AdvisedStep, ...]
    """Each launch, with the advice on it alone."""
    combinations: tuple[Combination, ...]
    """Forms of all kernels together, the fastest first; the program as it is is one of them."""
    recommended: Combination | None
    """None: keep the program as it is."""
    written: WrittenProgram | None
    """The recommended forms in one source."""
    verification: Verification | None
    """Outcome of running the written program, launch after launch, and comparing all that it
    writes."""
    verdict: str
    notes: tuple[str, ...]
    seconds: float
    """Seconds that the advice took."""

    @property
    def present_ns(self) -> float:
        """Predicted time of the program as it is, all rounds."""
        times = (one.present_ns * one.step.launch.times for one in self.launches)
        return self.program.rounds * sum(times)

    def _in_short(self) -> str:
        return f"{self.program.name} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise advise --json`` prints for a program."""
        return {
            "schema": "placewise-program",
            "schema_version": 1,
            "program": self.program.name,
            "source_file": self.program.filename,
            "machine": self.machine.name,
            "rounds": self.program.rounds,
            "present_milliseconds": self.present_ns * 1e-6,
            "recommended": None if self.recommended is None else combined(self.recommended),
            "combinations": [combined(c) for c in self.combinations],
            "launches": [
                {
                    "number": one.step.number,
                    "times": one.step.launch.times,
                    "arrays": dict(one.step.arrays),
                    "written": sorted(one.step.written),
                    "present_milliseconds": one.present_ns * 1e-6,
                    "advice": one.advice.to_dict(),
                }
                for one in self.launches
            ],
            "source": None if self.written is None else self.written.source,
            "host": None if self.written is None else self.written.host,
            "verification": None if self.verification is None else self.verification.to_dict(),
            "verdict": self.verdict,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each combination of forms, the fastest first: ``moves``, ``milliseconds``,
        ``ratio`` with ``ratio_low`` and ``ratio_high`` (80 % interval), ``probability_faster``,
        ``copies_ms``."""
        rows = [
            {
                "moves": c.moves or "(present)",
                "milliseconds": c.nanoseconds * 1e-6,
                "ratio": c.ratio.ratio,
                "ratio_low": c.ratio.low,
                "ratio_high": c.ratio.high,
                "probability_faster": c.ratio.faster,
                "copies_ms": sum(f.nanoseconds for f in c.fills) * 1e-6,
            }
            for c in self.combinations
        ]
        return dataframe(rows)


def combined(one: Combination) -> dict[str, Any]:
    """Forms of all kernels together as JSON types."""
    return {
        "kernels": [
            {
                "kernel": form.function,
                "placement": dict(form.placement.spaces),
                "chunk_iterations": form.placement.chunk,
                "chunk_buffers": form.placement.buffers,
            }
            for form in one.forms
        ],
        "milliseconds": one.nanoseconds * 1e-6,
        "ratio": one.ratio.ratio,
        "ratio_range": [one.ratio.low, one.ratio.high],
        "faster": one.ratio.faster,
        "copies": [
            {
                "array": f.array,
                "bytes": f.bytes,
                "before_launches": list(f.before),
                "times": f.times,
                "milliseconds": f.nanoseconds * 1e-6,
            }
            for f in one.fills
        ],
    }
