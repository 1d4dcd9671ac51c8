"""What the timeline records of each instruction that a warp issued."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Issue(NamedTuple):
    """One instruction that a warp issued, and what it waited for before, all in cycles.

    A warp waits from ``since`` to ``issued``; each time is that at which one more reason to wait
    was gone, so that they ascend.
    """

    warp: float
    """Number of the block in the order of starts, times the warps of a block, plus the warp's."""
    slot: float
    """Place of the warp among those of all SMs."""
    row: float
    """Row of the table."""
    producer: float
    """Row of the instruction whose result was waited for last; -1 where none was."""
    since: float
    """When the warp issued the instruction before, or could begin."""
    fixed: float
    """When the stall count of the instruction before had passed."""
    data: float
    """When the results that it needs were there."""
    code: float
    """When its line of code was there."""
    barrier: float
    """When the other warps of its block had come to the barrier."""
    pipe: float
    """When its pipe took another instruction."""
    issued: float
    """When it was issued; since ``pipe`` other warps were preferred."""


NOT_RECORDED = np.zeros((0, len(Issue._fields)))
"""Room for no :class:`Issue`."""
