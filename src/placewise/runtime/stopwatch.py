"""Measures the runtime's own time: profiling, search, checks, compilation, look-ups."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from placewise.runtime.launches.doubt import DoubtError

_STEPS = {
    "compiling": "compilation",
    "running and tracing": "profiling",
    "counting transactions and reuse": "profiling",
}
"""Part of the overhead that the advisor's steps count as; all other steps are search."""


@dataclass(frozen=True)
class Overhead:
    """Seconds spent by the runtime, as Table 5 of Chen et al. 2017 divides them. Its "engine" is
    the search here, its "transform" the look-ups before each launch."""

    profiling: float = 0.0
    """Copying the arguments, running the kernel on the executor, tracing its accesses."""
    search: float = 0.0
    """Predicting, writing out and proving placements."""
    checks: float = 0.0
    """Running the chosen version after the original and comparing what both wrote."""
    compilation: float = 0.0
    """Compiling original and chosen version."""
    lookups: float = 0.0
    """Finding the version to run, before each launch."""

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return float(sum(getattr(self, f.name) for f in fields(self)))

    def __add__(self, other: Overhead) -> Overhead:
        """Sum of both, part by part."""
        sums = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return Overhead(*sums)

    def to_dict(self) -> dict[str, float]:
        """Seconds by part, and the total."""
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "total": self.total}


class Stopwatch:
    """Adds up seconds by part. As a ``Progress`` it follows the advisor's steps, and raises
    DoubtError once the advisor has taken more than ``patience`` seconds."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._seconds: dict[str, float] = {}
        self._step: str | None = None
        self._since = 0.0
        self._until = float("inf")

    def __call__(self, step: str, _done: int, _total: int) -> None:
        now = time.perf_counter()
        if now > self._until:
            raise DoubtError(f"choosing took more than {self._patience:g} s")
        if step != self._step:
            self._end(now)
            self._step, self._since = step, now

    @contextmanager
    def advising(self) -> Iterator[None]:
        """Context manager in which the advisor's steps are timed."""
        self._until = time.perf_counter() + self._patience
        try:
            yield
        finally:
            self._end(time.perf_counter())
            self._step, self._until = None, float("inf")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Context manager in which time counts as ``name``, a field of :class:`Overhead`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._add(name, time.perf_counter() - start)

    @property
    def overhead(self) -> Overhead:
        """The seconds added up so far."""
        return Overhead(**self._seconds)

    def _end(self, now: float) -> None:
        if self._step is not None:
            self._add(_STEPS.get(self._step, "search"), now - self._since)

    def _add(self, name: str, seconds: float) -> None:
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds
