"""Chooses the measured configurations to predict, in whole groups that differ only in placement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placewise.recorded.time_tables import MeasuredTime


def choose_rows(
    rows: Sequence[MeasuredTime], placement: Sequence[str], count: int | None, seed: int
) -> tuple[MeasuredTime, ...]:
    """About ``count`` random rows (None: all), in the table's order. Rows that differ only in the
    parameters ``placement`` are drawn together, so that placements can be compared."""
    if count is None or count >= len(rows):
        return tuple(rows)
    groups: dict[tuple[object, ...], list[int]] = {}
    for at, row in enumerate(rows):
        rest = tuple(item for item in row.configuration if item[0] not in placement)
        groups.setdefault(rest, []).append(at)
    members = list(groups.values())
    chosen: list[int] = []
    for group in np.random.default_rng(seed).permutation(len(members)):
        if len(chosen) >= count:
            break
        chosen += members[group]
    return tuple(rows[at] for at in sorted(chosen))
