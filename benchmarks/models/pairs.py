"""Which rows of a table are predicted: two forms of each of many shapes.

Shapes differ from each other far more than the forms of one shape do, so that two forms of each of
forty say more than all forms of fourteen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placewise.recorded.time_tables import MeasuredTime

Pair = tuple[int, int]


def choose_pairs(
    rows: Sequence[MeasuredTime], placement: Sequence[str], count: int, seed: int
) -> tuple[MeasuredTime, ...]:
    """About ``count`` rows in the table's order, drawn at random with ``seed``: of each shape two
    that differ in one parameter of ``placement`` alone, each parameter in its turn where the shape
    has such forms. Single rows where there is nothing to place."""
    random = np.random.default_rng(seed)
    if not placement:
        chosen = random.permutation(len(rows))[:count].tolist()
        return tuple(rows[at] for at in sorted(chosen))
    shapes: dict[tuple[object, ...], list[int]] = {}
    for at, row in enumerate(rows):
        shape = tuple(item for item in row.configuration if item[0] not in placement)
        shapes.setdefault(shape, []).append(at)
    members = list(shapes.values())
    found: list[int] = []
    turn = 0
    for shape in random.permutation(len(members)).tolist():
        if len(found) >= count:
            break
        for k in range(len(placement)):
            switch = placement[(turn + k) % len(placement)]
            pairs = _differing(rows, members[shape], switch)
            if pairs:
                found += pairs[int(random.integers(len(pairs)))]
                turn = (turn + k + 1) % len(placement)
                break
    return tuple(rows[at] for at in sorted(found))


def _differing(rows: Sequence[MeasuredTime], members: Sequence[int], switch: str) -> list[Pair]:
    """Pairs of rows that differ in one parameter alone."""
    by_rest: dict[tuple[object, ...], list[int]] = {}
    for at in members:
        rest = tuple(item for item in rows[at].configuration if item[0] != switch)
        by_rest.setdefault(rest, []).append(at)
    return [(found[0], found[1]) for found in by_rest.values() if len(found) > 1]
