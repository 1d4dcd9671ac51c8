"""Document of a tuned kernel's report."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class OverheadSeconds(TypedDict):
    """Seconds that the runtime spent."""

    profiling: float
    """Copying the arguments, running the kernel on the executor, tracing its accesses."""
    search: float
    """Predicting, writing out and proving placements."""
    checks: float
    """Comparing the chosen version with the original."""
    compilation: float
    """Compiling original and chosen version."""
    lookups: float
    """Finding out before each launch which version is to run."""
    total: float
    """All of it."""


class LaunchClass(TypedDict):
    """Launches of one grid, block, shapes, types and deciding scalars."""

    launches_of: str
    """The class in words."""
    launches: int
    """Launches so far."""
    tuned_launches: int
    """Launches of the chosen version, out of all."""
    moves: str
    """What the chosen version moves where; empty where the original runs."""
    why: str
    """Why the original runs, or what is known of the chosen version."""
    present_ms: float | None
    """Predicted time of the original's launch."""
    chosen_ms: float | None
    """Predicted time of the chosen version's launch, copies into constant memory included."""
    probability_faster: float | None
    """Probability that the chosen version is faster."""
    from_cache: bool
    """Whether the choice was on disk."""
    other_values: int
    """Sets of other scalar values that the choice was taken over for."""
    overhead_s: OverheadSeconds
    """Overhead of this class."""
    pays_after: int | None
    """Launches of the chosen version after which the predicted gains exceed the overhead; null
    where it never pays."""


class UntunedLaunches(TypedDict):
    """Launches of the original outside of any class."""

    why: str
    """The reason."""
    launches: int
    """How many."""


@document
class TuneDocument(TypedDict):
    """What a tuned kernel did, and what it cost: `tuned.report().to_dict()`."""

    schema: Literal["placewise-tune"]
    schema_version: Literal[1]
    kernel: str
    """Name of the kernel."""
    launches: int
    """All launches so far."""
    tuned_launches: int
    """Launches of a chosen version."""
    overhead_s: OverheadSeconds
    """All overhead, compiling the original to read it included."""
    predicted_saved_ms: float
    """Predicted gain of all launches of chosen versions so far."""
    classes: list[LaunchClass]
    """In the order in which they were first launched."""
    untuned: list[UntunedLaunches]
    """Launches of the original by reason."""
