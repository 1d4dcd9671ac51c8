"""The best partition of a struct's fields into groups, for any cost that adds up over groups.

Up to :data:`EXACT_FIELDS` fields the search is exact: a dynamic programme over subsets, which looks
at 3^n pairs where trying all partitions looks at as many as the n-th Bell number (Peng, Grossman
and Sarkar 2016, section I: B(20) is over 50 trillion). Beyond, the search is iterated local search.
It starts by merging, again and again, the pair of groups that saves most. Then it improves the
partition until no step saves anything: it moves single fields, and it partitions two groups at a
time anew by the exact search. Then it moves a few fields into random groups, improves the result
again, and keeps it if it is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

GroupCost = Callable[[int], float]
"""Cost of a group of fields, given as bits: field n is bit n."""

EXACT_FIELDS = 10
"""Fields up to which the search is exact: 3^10 = 59,049 steps."""
KICKS = 150
"""How often the best partition is changed at random and improved again."""
_KICKED = 4
"""Fields that are moved into random groups at once."""
_RENEWED_FIELDS = 8
"""Most fields of the groups that are partitioned anew together: 3^8 = 6,561 steps."""


def best_partition(fields: int, cost: GroupCost) -> tuple[int, ...]:
    """Groups (as bits, ascending by their lowest field) whose costs add up to the least.

    ``cost`` is asked once for each group. Exact up to :data:`EXACT_FIELDS` fields.
    """
    if fields < 1:
        return ()
    known = _Remembered(cost)
    everything = (1 << fields) - 1
    if fields <= EXACT_FIELDS:
        return _exact(everything, known)
    singles = tuple(1 << n for n in range(fields))
    starts = (_merged(singles, known), (everything,), singles)
    best = min((_mended(start, known) for start in starts), key=known.total)
    random = np.random.default_rng(fields)
    for _ in range(KICKS):
        best = min(best, _mended(_kicked(best, fields, random), known), key=known.total)
    return best


def all_partitions(fields: int) -> Iterator[tuple[int, ...]]:
    """Every partition of ``fields`` fields, as groups of bits. Their number is the Bell number of
    ``fields``."""

    def extend(field: int, groups: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if field == fields:
            yield groups
            return
        bit = 1 << field
        for n, group in enumerate(groups):
            yield from extend(field + 1, (*groups[:n], group | bit, *groups[n + 1 :]))
        yield from extend(field + 1, (*groups, bit))

    return extend(0, ())


class _Remembered:
    """A cost that is asked once for each group."""

    def __init__(self, cost: GroupCost) -> None:
        self._cost = cost
        self._known: dict[int, float] = {}

    def __call__(self, group: int) -> float:
        if group not in self._known:
            self._known[group] = self._cost(group)
        return self._known[group]

    def total(self, groups: tuple[int, ...]) -> float:
        """Cost of a partition."""
        return sum(map(self, groups))


def _exact(everything: int, cost: _Remembered) -> tuple[int, ...]:
    """The best partition of the bits of ``everything``; each subset's best one is kept."""
    bits = [1 << n for n in range(everything.bit_length()) if everything >> n & 1]
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    for number in range(1, 1 << len(bits)):
        subset = sum(bit for n, bit in enumerate(bits) if number >> n & 1)
        # The group that holds the subset's lowest field, and the best partition of the rest.
        lowest = subset & -subset
        rest = part = subset ^ lowest
        choices = []
        while True:
            group = part | lowest
            choices.append((cost(group) + best[subset ^ group][0], group))
            if not part:
                break
            part = (part - 1) & rest
        best[subset] = min(choices)
    groups = []
    left = everything
    while left:
        groups.append(best[left][1])
        left ^= groups[-1]
    return _sorted(groups)


def _merged(groups: tuple[int, ...], cost: _Remembered) -> tuple[int, ...]:
    """Merge the two groups that save most, again and again while any two save something."""
    while len(groups) > 1:
        saved, one, other = max(
            (cost(a) + cost(b) - cost(a | b), a, b) for a, b in combinations(groups, 2)
        )
        if saved <= 0.0:
            break
        groups = (*(g for g in groups if g not in (one, other)), one | other)
    return _sorted(groups)


def _kicked(groups: tuple[int, ...], fields: int, random: np.random.Generator) -> tuple[int, ...]:
    """The partition after a few fields are moved at random into other groups, or into a group of
    their own."""
    changed = [*groups, 0]
    for field in random.choice(fields, min(_KICKED, fields), replace=False):
        bit = 1 << int(field)
        changed = [group & ~bit for group in changed]
        changed[int(random.integers(len(changed)))] |= bit
    return tuple(group for group in changed if group)


def _mended(groups: tuple[int, ...], cost: _Remembered) -> tuple[int, ...]:
    """Improve a partition: move single fields, and partition two groups anew in the exact way."""
    while True:
        better = _field_moved(groups, cost) or _pair_renewed(groups, cost)
        if better is None:
            return _sorted(groups)
        groups = better


def _field_moved(groups: tuple[int, ...], cost: _Remembered) -> tuple[int, ...] | None:
    """The partition after the best move of one field to another group, or to one of its own; None
    where no move saves anything."""
    best_saved, best = 1e-12 * cost.total(groups), None
    for one in groups:
        for bit in _bits(one):
            left = one ^ bit
            freed = cost(one) - (cost(left) if left else 0.0)
            for other in (*(g for g in groups if g != one), 0):
                if not other and not left:
                    continue
                saved = freed - cost(other | bit) + (cost(other) if other else 0.0)
                if saved > best_saved:
                    kept = [g for g in groups if g not in (one, other)]
                    best_saved, best = saved, (*kept, *([left] if left else []), other | bit)
    return best


def _pair_renewed(groups: tuple[int, ...], cost: _Remembered) -> tuple[int, ...] | None:
    """The partition after two groups, or one, are partitioned anew; None where that saves
    nothing."""
    least = 1e-12 * cost.total(groups)
    pairs = [(g,) for g in groups] + list(combinations(groups, 2))
    for chosen in pairs:
        union = sum(chosen)
        if union.bit_count() > _RENEWED_FIELDS:
            continue
        renewed = _exact(union, cost)
        if sum(map(cost, renewed)) < sum(map(cost, chosen)) - least:
            return (*(g for g in groups if g not in chosen), *renewed)
    return None


def _bits(group: int) -> Iterator[int]:
    while group:
        lowest = group & -group
        yield lowest
        group ^= lowest


def _sorted(groups: Iterator[int] | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(groups, key=lambda g: g & -g))
