"""Document of `placewise sweep`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class SweptTask(TypedDict):
    """One kernel with one choice of sizes and parameters on one machine."""

    key: str
    """What its result is stored under: a hash of all that it depends on."""
    case: str
    """The case as the plan names it."""
    machine: str
    """Name of the machine."""
    sizes: dict[str, int]
    """Values of the swept sizes."""
    parameters: dict[str, int | float | str | bool]
    """Values of the swept parameters."""
    milliseconds: float | None
    """Predicted time; null where the task failed."""
    range_ms: tuple[float, float] | None
    """Lowest and highest time that the model leaves open."""
    limited_by: str | None
    """The part of the machine that takes longest."""
    nearly_limited_by: list[str]
    """Other parts that take at least 80 % as long."""
    registers: int | None
    """Registers of a thread."""
    warps_per_sm: int | None
    """Resident warps of an SM."""
    error: str | None
    """Why there is no time; null where there is one."""
    seconds: float
    """How long the prediction took."""


@document
class SweepDocument(TypedDict):
    """Predicted times of many launches: `placewise sweep --json`."""

    schema: Literal["placewise-sweep"]
    schema_version: Literal[1]
    folder: str
    """Where the results are stored."""
    shard: tuple[int, int] | None
    """Part and number of parts where this is one part of the sweep."""
    computed: int
    """Predictions that this run made; the others were stored before."""
    failed: int
    """Rows without a time."""
    rows: list[SweptTask]
    """All tasks of the sweep or of its part, in the plan's order."""
