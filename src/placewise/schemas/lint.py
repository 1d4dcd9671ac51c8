"""Document of `placewise lint`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class Remark(TypedDict):
    """One memory mistake."""

    rule: str
    """Name of the rule, such as `uncoalesced-access`."""
    level: Literal["warning", "note"]
    """How much it costs."""
    message: str
    """The mistake in a sentence."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line; null for a remark on the whole kernel."""
    array: str | None
    """Array that is accessed."""
    times_what_would_do: float | None
    """Transactions over those that would be enough; null where none would be."""
    share: float
    """Share of the launch's total that the line causes."""
    share_of_time_saved: float | None
    """Share of the predicted time that mending it saves at most; null where that is not known."""
    fingerprint: str
    """Names the finding whatever changes elsewhere in its file."""
    known: bool
    """The baseline has it."""


@document
class LintDocument(TypedDict):
    """Memory mistakes by source line: `placewise lint --json`."""

    schema: Literal["placewise-lint"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    kernel: str
    """Name of the kernel."""
    machine: str
    """Name of the machine."""
    remarks: list[Remark]
    """The one that costs most first."""
