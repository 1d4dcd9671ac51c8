"""One launch as a user asked for it, in terms that all libraries share."""

from __future__ import annotations

from collections.abc import Callable
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
    """Launches the original by the user's library; None where the executor is to run it."""
    stream: int = 0
    """CUDA's handle of the stream; nothing where no GPU is asked."""

    @property
    def arrays(self) -> tuple[tuple[int, ArrayValue], ...]:
        """The arrays among the arguments, with their numbers from 0."""
        return tuple((n, v) for n, v in enumerate(self.values) if isinstance(v, ArrayValue))
