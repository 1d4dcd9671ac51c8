"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many of its steps are done, and how many there are; the two
numbers are 0 where they are not known."""


def silent(_step: str, _done: int, _total: int) -> None:
    """Progress that is not shown."""
