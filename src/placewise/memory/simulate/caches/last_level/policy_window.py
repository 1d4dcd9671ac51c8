"""The access policy window of L2: a range of addresses of which L2 keeps a share of the lines.

CUDA Programming Guide, "L2 Policy for Persisting Accesses": accesses in the window get the priority
``hitProp`` with the probability ``hitRatio``, the others ``missProp``; CUDA Runtime API,
``cudaAccessPolicyWindow``: the window is parted "into many segments" such that the hit segments
make up about that ratio, adapted to the hardware. It is assumed here that a segment is a line, that
a hash of the line's number decides whether it is a hit segment, that hit segments are persisting
and the others streaming, and that each set of L2 keeps as many persisting lines as fit its part of
the set-aside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placewise.kernel.launch import AccessWindow
from placewise.memory.simulate.caches.cache import EVICT_FIRST, KEEP
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.simd.jit_helpers import inlined

MIX = np.uint64(0xD6E8FEB86659FD93)
"""An odd number whose multiples are spread evenly. It differs from the numbers that mix sets and
slices."""


class PolicyWindow(NamedTuple):
    """Lines of the window; none where ``end`` is 0."""

    first: int
    end: int
    """The first line, and the line after the last."""
    kept: int
    """Share of the lines that are persisting, in parts of 2**32."""


NO_WINDOW = PolicyWindow(0, 0, 0)


def policy_window(asked: AccessWindow, first_line: int, line_bytes: int) -> PolicyWindow:
    """The lines of a launch's window over an array that starts at ``first_line``."""
    lines = -(-asked.size_bytes // line_bytes)
    return PolicyWindow(first_line, first_line + lines, round(asked.hit_ratio * 2**32))


@inlined
def priority_in(window: PolicyWindow, line: Int) -> Int:
    """KEEP for a persisting line of the window, EVICT_FIRST for a streaming one, else 0."""
    if line >= window.end or line < window.first:
        return np.int64(0)
    mixed = (np.uint64(line) * MIX) >> np.uint64(32)
    return np.int64(KEEP) if np.int64(mixed) < window.kept else np.int64(EVICT_FIRST)
