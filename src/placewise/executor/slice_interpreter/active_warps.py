"""The warps that a step of the slice interpreter is computed for, and their registers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.ir.nodes import Reg
from placewise.executor.slice_interpreter.operations import DTYPES, Lanes


class ActiveWarps:
    """All of w warps, or those with active lanes where at most half have some: in loops of
    different lengths a few warps go on when all others have left.

    The arrays of a step have one row for each of these warps, or one row for all.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self.rows: NDArray[np.int64] | None = None
        """Numbers of the warps; None for all."""

    def choose(self, took_part: NDArray[np.bool_]) -> None:
        """Choose the warps of the next step, of which those in ``took_part`` (w,) are active."""
        rows = np.flatnonzero(took_part)
        self.rows = rows if 2 * len(rows) <= self._count else None

    def of(self, array: Lanes) -> Lanes:
        """The rows of an array that has one for each of the w warps, or one for all of them."""
        return array if self.rows is None or len(array) < self._count else array[self.rows]

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the warps at ``places`` among the chosen ones."""
        return places if self.rows is None else self.rows[places]

    def everywhere(self, array: Lanes) -> Lanes:
        """(w, 32) lanes of all warps: ``array`` in the chosen ones, zero elsewhere."""
        if self.rows is None:
            return np.broadcast_to(array, (self._count, 32))
        found = np.zeros((self._count, 32), array.dtype)
        found[self.rows] = array
        return found


class Registers:
    """Registers of all lanes. Those that were never written are zero."""

    def __init__(self, warps: ActiveWarps, shape: tuple[int, int]) -> None:
        self._warps, self._shape = warps, shape
        self._values: dict[Reg, Lanes] = {}
        self._own: set[Reg] = set()
        """Registers whose array nothing else refers to, so that it may be changed in place."""

    def read(self, reg: Reg) -> Lanes:
        """Value of a register in the lanes of the active warps."""
        found = self._values.get(reg)
        if found is None:
            return np.zeros((1, 1), DTYPES[reg.type])
        if self._warps.rows is None:
            self._own.discard(reg)
        return self._warps.of(found)

    def write(self, reg: Reg, value: Lanes, mask: NDArray[np.bool_]) -> None:
        """Set a register in the lanes of ``mask``, which has the rows of the active warps."""
        rows = self._warps.rows
        if rows is None:
            self._own.discard(reg)
            self._values[reg] = value if mask.all() else np.where(mask, value, self.read(reg))
            return
        if reg not in self._own:
            old = self._values.get(reg, np.zeros((1, 1), DTYPES[reg.type]))
            self._values[reg] = np.array(np.broadcast_to(old, self._shape))
            self._own.add(reg)
        array = self._values[reg]
        array[rows] = np.where(mask, value, array[rows])
