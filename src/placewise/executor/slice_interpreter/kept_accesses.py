"""Which accesses of a sliced trace are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RECORDED = 1024
"""Number of executions of one instruction whose addresses are kept, unless they are too many."""
MOST = 4_000_000
"""Most warp accesses that are kept of a trace, about 300 bytes each; beyond it, half as many
executions of each instruction are kept."""


@dataclass(frozen=True, eq=False)
class Accesses:
    """One execution of a memory instruction by n warps together."""

    site: int
    step: int
    warps: NDArray[np.int64]
    """(n,) rows of the warps."""
    mask: NDArray[np.bool_]
    """(n, 32) active lanes."""
    window: NDArray[np.int64]
    """(n,) window of the first active lane's address."""
    offset: NDArray[np.int64]
    """(n, 32) bytes from the start of the window, or of the block's shared or the thread's local
    memory."""

    def of(self, rows: NDArray[np.bool_]) -> Accesses:
        """Accesses of some of the warps: those that ``rows`` (n,) is true for."""
        if rows.all():
            return self
        warps, mask = self.warps[rows], self.mask[rows]
        return Accesses(self.site, self.step, warps, mask, self.window[rows], self.offset[rows])


class KeptAccesses:
    """The accesses of ``traced`` warps (w,), of each instruction the first :data:`RECORDED`
    executions, or all with ``whole``. Where these come to more than ``most`` warp accesses, as in
    long unrolled loops, fewer executions are kept, of each instruction as many.

    As long as all warps together have at most ``few`` warp accesses, all are kept, since a small
    launch is looked at as a whole; which launches are small shows only at the end.
    """

    def __init__(
        self, traced: NDArray[np.bool_], *, few: int, whole: bool, most: int = MOST
    ) -> None:
        self._traced = traced
        self._most = most
        self._room = few
        self._limit = None if whole else RECORDED
        self.of_all = few > 0
        """Whether the accesses of all warps are kept so far."""
        self.warps = np.ones_like(traced) if few else traced
        """(w,) warps whose accesses are to be added."""
        self._found: list[Accesses] = []
        self._number: Counter[int] = Counter()
        self._kept = 0
        """Warp accesses in ``_found``."""

    def are_too_many(self, executions: int) -> bool:
        """Whether ``executions`` more warp accesses are too many to keep those of all warps; then
        those of the traced ones alone are kept from now on."""
        if not self.of_all:
            return False
        self._room -= executions
        if self._room >= 0:
            return False
        self.of_all, self.warps = False, self._traced
        self._cut()
        return True

    def wants(self, site: int) -> bool:
        """Whether further accesses of an instruction are to be added."""
        return self.of_all or self._limit is None or self._number[site] < self._limit

    def add(self, one: Accesses) -> None:
        """Keep the accesses of one execution by warps of ``warps``."""
        self._found.append(one)
        self._number[one.site] += 1
        self._kept += len(one.warps)
        if self.of_all or self._limit is None:
            return
        while self._kept > self._most and self._limit > 1:
            self._limit //= 2
            self._cut()

    def first(self) -> tuple[Accesses, ...]:
        """Accesses that are kept in the end."""
        return tuple(self._first_of(self._found) if self.of_all else self._found)

    def _cut(self) -> None:
        """Drop the accesses of other warps and those beyond the limit."""
        self._found = self._first_of(self._found)
        self._number = Counter(one.site for one in self._found)
        self._kept = sum(len(one.warps) for one in self._found)

    def _first_of(self, found: Iterable[Accesses]) -> list[Accesses]:
        kept: list[Accesses] = []
        number: Counter[int] = Counter()
        for one in found:
            rows = self.warps[one.warps]
            if rows.any() and (self._limit is None or number[one.site] < self._limit):
                number[one.site] += 1
                kept.append(one.of(rows))
        return kept
