"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Told what is being done, and how much of how much of it is done (0 of 0: not known)."""


def silent(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody looks at."""
