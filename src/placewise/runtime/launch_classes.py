"""What the runtime knows of each class of launches: those of one grid, block, shapes, types and
deciding scalars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from placewise.runtime.choice import Choice, keep_original
from placewise.runtime.devices.place import Ready
from placewise.runtime.stopwatch import Overhead


@dataclass(eq=False)
class LaunchClass:
    """The state of one class of launches. It is read and changed only while the tuner's lock is
    held."""

    what: str
    """The class in words."""
    choice: Choice = field(default_factory=lambda: keep_original("being chosen"))
    ready: Ready | None = None
    from_disk: bool = False
    overhead: Overhead = field(default_factory=Overhead)
    repeating: float = 0.0
    """Seconds of look-ups for repeated launches, which are part of the overhead."""
    launches: int = 0
    tuned: int = 0
    """Number of launches of the form."""
    others: int = 0
    """Number of further sets of scalar values for which its choice was reused."""


@dataclass(eq=False)
class Family:
    """Classes that differ only in values of scalars. It is changed only while the tuner's lock is
    held."""

    values: int = 0
    """Number of sets of scalar values so far."""
    latest: LaunchClass | None = None
    """The class for which a choice was made last."""


@dataclass(frozen=True, eq=False)
class Repeat:
    """A launch of a form that may be repeated while the form is the one of its class."""

    of: LaunchClass
    ready: Ready
    launch: Callable[[], None]
