"""Which line of a full set is replaced: by recency, age, a tree, or chance, and with which odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from placewise.memory.simulate.caches.cache import MOST_TREE_WAYS, new_caches, one_access
from placewise.memory.simulate.caches.geometry import Geometry
from placewise.probe.infer.view import View

DETERMINISTIC = ("lru", "fifo", "plru")
"""Policies that are tried first, in this order; with two ways, lru and plru are the same."""
_REPEATS = 3
"""Runs of one sequence; a load counts as a miss if it misses in most of them."""
_ALIKE = 0.9
"""Least share of the misses, predicted or seen, that are both, for a policy to be accepted."""
_REPLACED = 3000
"""Replacements from which the odds are taken: 3 standard deviations below 0.03."""
_MOST_RUNS = 600
_SHIELD = 4
"""Loads, in lines that a nearer level holds, that surely drive a line out of it."""
_CHANCE = 1e-4
"""Probability of odds as uneven as those seen, below which ways are not alike."""


@dataclass(frozen=True)
class Policy:
    """A policy, and the odds of the ways where it is one of chance."""

    name: str | None
    probabilities: tuple[float, ...] = ()
    doubt: str | None = None


def infer_policy(
    view: View,
    members: NDArray[np.int64],
    other: int,
    rest: NDArray[np.int64],
    nearer: int = 0,
) -> Policy:
    """Policy of the set whose lines are ``members`` (as many as ways) and ``other``.

    ``nearer``: lines that a level nearer to the cores holds, where loads cannot pass that by. Then
    lines of other sets, ``rest``, are loaded between any two, to drive the set's lines out of it;
    or, where there are too few, lines come again only after as many others of the set.
    """
    ways = len(members)
    if ways == 1:
        return Policy("lru")
    lines = np.append(members, other)
    # A load that only enters a page would count as a use of its line.
    view = replace(view, page_bytes=None)
    random = np.random.default_rng(view.seed + 1)
    gap, shield = 0, rest[:0]
    if 2 * len(rest) >= 3 * nearer:
        shield = np.resize(rest, _SHIELD * nearer)
    elif ways >= nearer + 2:
        gap = nearer
    else:
        return Policy(None, doubt="a nearer level hides the replacements")
    sequence = np.concatenate(
        [np.arange(ways), _drawn(random, ways + 1, 40 * (ways + 1), gap), np.arange(ways + 1)]
    )
    seen = np.sum([_play(view, lines, sequence, shield) for _ in range(_REPEATS)], axis=0)
    missed = seen * 2 > _REPEATS
    for name in DETERMINISTIC:
        if name == "plru" and (ways & (ways - 1) or ways > MOST_TREE_WAYS):
            continue
        predicted = _predicted(name, ways, sequence)
        either = int((missed | predicted).sum())
        if int((missed & predicted).sum()) >= _ALIKE * either:
            return Policy(name)
    return _by_chance(view, lines, shield)


def _drawn(random: np.random.Generator, lines: int, count: int, gap: int) -> NDArray[np.int64]:
    """Line numbers at random, each different from the ``gap`` before it."""
    recent: list[int] = []
    drawn = np.empty(count, np.int64)
    for k in range(count):
        number = int(random.integers(0, lines))
        while number in recent:
            number = int(random.integers(0, lines))
        drawn[k] = number
        recent = [*recent, number][-gap:] if gap else []
    return drawn


def _play(
    view: View,
    lines: NDArray[np.int64],
    sequence: NDArray[np.int64],
    shield: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """(n,) which loads of a sequence of set lines missed, from an empty cache."""
    if not len(shield):
        alone: NDArray[np.bool_] = view.chase(lines[sequence])[0]
        return alone
    rows = np.empty((len(sequence), len(shield) + 1), np.int64)
    rows[:, :-1] = shield
    rows[:, -1] = lines[sequence]
    missed: NDArray[np.bool_] = view.chase(rows.reshape(-1), before=shield)[0]
    return missed[len(shield) :: len(shield) + 1]


def _predicted(name: str, ways: int, sequence: NDArray[np.int64]) -> NDArray[np.bool_]:
    caches = new_caches([Geometry(1, 1, ways, name)])
    return np.array([one_access(caches, 0, 0, int(n), 1, 1, 1)[0] != 0 for n in sequence])


def _by_chance(view: View, lines: NDArray[np.int64], shield: NDArray[np.int64]) -> Policy:
    """Odds of the ways, from the order of misses.

    Of w + 1 lines that are loaded round and round, one is always absent. A miss brings it in, in
    the place of the line that misses next: so misses tell in which way each line is, given the ways
    of the first, which are filled in order.
    """
    ways = len(lines) - 1
    laps = 8
    sequence = np.concatenate([np.arange(ways), np.tile(np.arange(ways + 1), laps)])
    replaced = np.zeros(ways, np.int64)
    runs = 0
    broken = 0
    while replaced.sum() < _REPLACED and runs < _MOST_RUNS:
        runs += 1
        missed = _play(view, lines, sequence, shield)
        order = sequence[ways:][missed[ways:]]
        if not missed[:ways].all() or not len(order) or order[0] != ways:
            broken += 1
            continue
        way_of = np.append(np.arange(ways), -1)
        for new, out in pairwise(order):
            if way_of[new] >= 0 or way_of[out] < 0:
                broken += 1
                break
            way = way_of[out]
            way_of[new], way_of[out] = way, -1
            replaced[way] += 1
    total = int(replaced.sum())
    if total < _REPLACED / 4:
        return Policy(None, doubt="no policy explains the replacements")
    doubt = "replacements contradict one another" if broken > runs / 4 else None
    shares = replaced / total
    if chisquare(replaced).pvalue > _CHANCE:
        return Policy("random", doubt=doubt)
    return Policy("weighted", tuple(float(s) for s in shares), doubt)
