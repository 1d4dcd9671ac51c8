"""Which cache hints are worth a try, and for which arrays: those that should leave a cache to
others, stay in it longer, or prefetch more of the data around each access.

The estimates here only choose candidates. What a hint really gains is decided by the predicted time
of the form that is written with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from placewise.choose import Legality
from placewise.machine import Machine, Memory
from placewise.memory import Profile
from placewise.memory.reuse.counters import WHOLE, Reading, misses
from placewise.memory.reuse.stream import LOAD
from placewise.rewriter.ways.window import access_window
from placewise.space import MemorySpace, Placement, Priority

STREAMS = 0.5
"""An array only streams through a cache if at most this share of its loads would hit even if it had
the cache alone: most of what it brings in is never used again."""
GAINS = 0.01
"""Least rise of the share of hits among an array's loads that makes a hint worth a try. Smaller
rises are ignored, since the estimate (all arrays get equal portions of the cache) is coarse."""
UNLIMITED = 1 << 50
"""Size in bytes of an imaginary cache that holds everything."""


def windowed_array(profile: Profile, legality: Legality, machine: Machine) -> str | None:
    """The array that would save most loads if an access window kept it in L2; None where the
    machine has no such windows, or none is worth a try."""
    for space in machine.spaces:
        if space.is_cache_hint and space.hint is None:
            found = _Question(profile, legality, machine, space).arrays()
            return found[0] if found else None
    return None


def hinted(
    profile: Profile, legality: Legality, machine: Machine, *, windows: bool = True
) -> list[Placement]:
    """For each hint one placement that gives it to all arrays that it may serve; none for a hint
    that serves no array. The model of memory traffic that ranks placements cannot tell what a hint
    gains; the predicted time of the written form can. Without ``windows``, no access window over an
    array is among them."""
    found = []
    for space in machine.spaces:
        if not space.is_cache_hint or (space.hint is None and not windows):
            continue
        question = _Question(profile, legality, machine, space)
        arrays = [a for a in question.arrays() if legality.present[a] != space.name]
        if arrays:
            found.append(legality.present.with_moves(dict.fromkeys(arrays, space.name)))
    return found


@dataclass(frozen=True)
class _Question:
    """Which arrays one hint may serve."""

    profile: Profile
    legality: Legality
    machine: Machine
    space: MemorySpace

    def arrays(self) -> list[str]:
        hint = self.space.hint
        levels = self.machine.levels(self.space.name)[:-1]
        on_die = [m for m in levels if m.scope == "die"]
        in_sm = [m for m in levels if m.scope == "sm"]
        if hint is None:
            return self.worth_keeping(on_die)
        if hint.priority is None:
            largest = hint.prefetch_bytes == self.most_prefetched()
            return self.every(self.passing, on_die) if largest else []
        match hint.priority:
            case Priority.EVICT_LAST:
                return self.every(self.gaining, in_sm)
            case Priority.EVICT_FIRST:
                left: Iterable[Memory] = levels
            case Priority.NO_ALLOCATE:
                left = in_sm
            case Priority.PAST_L1:
                left = self.beside(levels)
        arrays = self.every(self.leaving, left)
        if hint.prefetch_bytes:
            through = self.every(self.passing, on_die)
            return [a for a in arrays if a in through]
        return arrays

    def every(self, chosen: Callable[[Memory], list[str]], caches: Iterable[Memory]) -> list[str]:
        """Arrays that ``chosen`` returns for any of the caches and that can have the hint, without
        repetition."""
        names = dict.fromkeys(name for cache in caches for name in chosen(cache))
        return [name for name in names if self.space.name in self.legality.spaces(name)]

    def beside(self, kept: tuple[Memory, ...]) -> list[Memory]:
        """Caches that other spaces of the same data path go through but ``kept``, those of this
        space, leave out."""
        machine = self.machine
        before = {
            memory
            for space in machine.spaces
            if space.path == self.space.path
            for memory in machine.levels(space.name)[:-1]
        }
        return sorted(before - set(kept), key=lambda memory: memory.id)

    def most_prefetched(self) -> int:
        """Bytes of the longest prefetch to L2 that a hint of the machine asks for."""
        return max(s.hint.prefetch_bytes for s in self.machine.spaces if s.hint)

    def missed(self, name: str, cache: Memory, sharers: int) -> float:
        """Share of an array's loads that miss in a cache whose capacity ``sharers`` arrays share
        equally."""
        array = self.profile.array(name)
        found = misses(self.profile, array, cache, np.array([sharers]), WHOLE, Reading())
        return float(found[LOAD, 0])

    def sharing(self, cache: Memory) -> list[str]:
        """Arrays whose loads go through a cache."""
        return [
            name
            for name, where in self.legality.present
            if cache in self.machine.levels(where)[:-1] and self.profile.array(name).requests[LOAD]
        ]

    def passing(self, cache: Memory) -> list[str]:
        """Arrays that only stream through a cache, even if they had all of it."""
        return [n for n in self.sharing(cache) if self.missed(n, cache, 1) >= 1.0 - STREAMS]

    def gaining(self, cache: Memory) -> list[str]:
        """Arrays whose loads would hit more often in a cache without the arrays that only stream
        through it."""
        sharing = self.sharing(cache)
        passing = self.passing(cache)
        kept = [name for name in sharing if name not in passing]
        gains = {
            n: self.missed(n, cache, len(sharing)) - self.missed(n, cache, len(kept)) for n in kept
        }
        return [name for name, gain in gains.items() if gain >= GAINS]

    def leaving(self, cache: Memory) -> list[str]:
        """Arrays that only stream through a cache and can have the hint; none where no other array
        would gain from it."""
        able = [n for n in self.passing(cache) if self.space.name in self.legality.spaces(n)]
        kept = [name for name in self.sharing(cache) if name not in able]
        everyone = len(able) + len(kept)
        gains = (self.missed(n, cache, everyone) - self.missed(n, cache, len(kept)) for n in kept)
        return able if any(gain >= GAINS for gain in gains) else []

    def worth_keeping(self, caches: list[Memory]) -> list[str]:
        """The array that would save most loads if a window kept it in L2. Empty where all arrays
        together fit L2, so that none evicts another."""
        everything = sum(self.profile.array(a).bytes for a in self.legality.arrays)
        saved: dict[str, float] = {}
        for cache in caches:
            if everything <= (cache.size_bytes or everything):
                continue
            unlimited = replace(cache, size_bytes=UNLIMITED)
            for name in self.every(self.sharing, [cache]):
                array = self.profile.array(name)
                window = access_window(name, array.bytes, self.space, self.machine)
                kept = window.hit_ratio * window.size_bytes / array.bytes
                again = kept * (1.0 - self.missed(name, unlimited, 1))
                if again >= GAINS:
                    saved[name] = again * array.requests[LOAD]
        return [max(saved, key=lambda name: saved[name])] if saved else []
