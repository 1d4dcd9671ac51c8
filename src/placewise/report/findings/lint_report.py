"""What a launch does badly with its memories, as one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.advisor.lint import Remark
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.dataframe import dataframe
from placewise.notebook import ShownInNotebooks
from placewise.report.findings.lint_findings import (
    Found,
    lint_document,
    remarks_in_short,
    with_fingerprints,
)

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class LintReport(ShownInNotebooks):
    """What a launch does badly with its memories."""

    remarks: tuple[Remark, ...]
    """In order of cost, the highest first."""
    counters: CounterReport
    """The simulated launch that the remarks are read from."""

    @property
    def found(self) -> tuple[Found, ...]:
        """The remarks with the fingerprints that a baseline knows them by."""
        return with_fingerprints(self.counters, self.remarks)

    @property
    def verdict(self) -> str:
        """How much was found, and the remark of the highest cost."""
        return remarks_in_short(self.remarks)

    def _in_short(self) -> str:
        run = self.counters.run
        return f"{run.kernel.name} on {run.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return lint_document(self.counters, self.found)

    def to_dataframe(self) -> DataFrame:
        """A row for each remark: ``rule``, ``level``, ``message``, ``file``, ``line`` …"""
        return dataframe(self.to_dict()["remarks"])
