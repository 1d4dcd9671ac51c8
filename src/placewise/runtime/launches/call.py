"""One launch as the user asked for it, independent of the library."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from placewise.kernel.launch import Launch
from placewise.runtime.launches.values import ArrayValue, Value


@dataclass(frozen=True, eq=False)
class Call:
    """A launch of the original kernel."""

    launch: Launch
    values: tuple[Value, ...]
    original: Callable[[], Any] | None = None
    """Launches the original with the user's library; None where Placewise itself must launch it."""
    stream: int = 0
    """CUDA handle of the stream; not used on the executor."""
    fingerprint: Hashable | None = None
    """A value that is equal for all launches that do the same
    (:func:`placewise.runtime.launches.fingerprint.fingerprint`); None where that is not known."""

    @property
    def arrays(self) -> tuple[tuple[int, ArrayValue], ...]:
        """The arrays among the arguments, with their numbers from 0."""
        return tuple((n, v) for n, v in enumerate(self.values) if isinstance(v, ArrayValue))
