"""Which cache hints are worth a try: those that leave a cache to arrays that could use it."""

from __future__ import annotations

import numpy as np

from placewise.choose import Legality
from placewise.machine import Machine, Memory
from placewise.memory import Profile
from placewise.memory.reuse.counters import WHOLE, Reading, misses
from placewise.memory.reuse.stream import LOAD
from placewise.space import Hint, MemorySpace, Placement

STREAMS = 0.5
"""An array only streams through a cache if at most this share of its loads hits in a cache of its
own: most of what it brings in is never used again."""
GAINS = 0.01
"""Share of its loads that a kept array must find more of in the cache; less is not looked at, as
the estimate, equal portions for all arrays, is a coarse one."""


def hinted(profile: Profile, legality: Legality, machine: Machine) -> list[Placement]:
    """For each hint, all arrays at once that only pass through a cache in which another array would
    find more if they left it. The model of the memories' traffic that ranks placements does not
    tell what a hint gains: the form's own time does."""
    found = []
    for space in machine.spaces:
        if space.hint is None:
            continue
        moves: dict[str, str] = {}
        for cache in _caches(space, machine):
            passing = _passing(cache, profile, legality, space, machine)
            moves |= dict.fromkeys(passing, space.name)
        if moves:
            placed = ((a, moves.get(a, s)) for a, s in legality.present)
            found.append(Placement(tuple(placed)))
    return found


def _caches(space: MemorySpace, machine: Machine) -> list[Memory]:
    """Caches that loads with the hint leave to others."""
    kept = machine.levels(space.name)[:-1]
    if space.hint is Hint.EVICT_FIRST:
        return list(kept)
    before = {
        m for s in machine.spaces if s.path == space.path for m in machine.levels(s.name)[:-1]
    }
    return sorted(before - set(kept), key=lambda memory: memory.id)


def _passing(
    cache: Memory, profile: Profile, legality: Legality, space: MemorySpace, machine: Machine
) -> list[str]:
    """Arrays that only pass through ``cache``, however much of it they have, and can have the hint;
    none where no other gains."""

    def missed(name: str, sharers: int) -> float:
        shared = np.array([sharers])
        found = misses(profile, profile.array(name), cache, shared, WHOLE, Reading())
        return float(found[LOAD, 0])

    sharing = [
        name
        for name, where in legality.present
        if cache in machine.levels(where)[:-1] and profile.array(name).requests[LOAD]
    ]
    passing = [
        name
        for name in sharing
        if space.name in legality.spaces(name) and missed(name, 1) >= 1.0 - STREAMS
    ]
    kept = [name for name in sharing if name not in passing]
    gains = (missed(name, len(sharing)) - missed(name, len(kept)) for name in kept)
    return passing if any(gain >= GAINS for gain in gains) else []
