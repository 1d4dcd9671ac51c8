"""Which settings (placements) of a fine-grained kernel are run: all, or a few that cover all pairs
of spaces of two arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product
from math import prod

import numpy as np

from placewise.space import Placement

MOST_SETTINGS = 64
"""Most settings of which all are run; of more, only a selection is."""
_TRIES = 20
"""Random settings that are drawn for each pair, to take the one that covers most pairs not yet
covered."""
_SEED = 1

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two arrays, each with its space."""


def settings_count(spaces: Mapping[str, tuple[str, ...]]) -> int:
    """Number of all combinations of ``spaces`` (by array), those that do not fit included."""
    return prod(len(s) for s in spaces.values())


def covering_settings(
    spaces: Mapping[str, tuple[str, ...]], fits: Callable[[Placement], bool]
) -> list[Placement]:
    """Settings to run of a kernel with each array in any of ``spaces``.

    All that fit, where there are at most :data:`MOST_SETTINGS`; otherwise as many as it takes until
    every two arrays have met in every two of their spaces that fit together (a covering array of
    strength 2, built greedily from a fixed seed).
    """
    if settings_count(spaces) <= MOST_SETTINGS:
        every = (Placement(tuple(zip(spaces, c, strict=True))) for c in product(*spaces.values()))
        return [setting for setting in every if fits(setting)]
    drawn = np.random.default_rng(_SEED)
    missing = {
        ((a, s), (b, t)) for (a, b) in combinations(spaces, 2) for s in spaces[a] for t in spaces[b]
    }
    found: list[Placement] = []
    while missing:
        pair = min(missing)
        best = _completed(pair, spaces, fits, missing, drawn)
        missing.discard(pair)
        if best is not None:
            found.append(best)
            missing -= _pairs(best)
    return found


def _completed(
    pair: Pair, spaces: Mapping[str, tuple[str, ...]], fits: Callable[[Placement], bool],
    missing: set[Pair], drawn: np.random.Generator,
) -> Placement | None:  # fmt: skip
    """A setting that fits and has ``pair`` and as many other ``missing`` pairs as were found; None
    where no setting with ``pair`` fits."""
    kept = dict(pair)
    tries = [{a: s[0] for a, s in spaces.items()} | kept]
    for _ in range(_TRIES):
        tries.append({a: s[drawn.integers(len(s))] for a, s in spaces.items()} | kept)
    able = [p for chosen in tries if fits(p := Placement(tuple(chosen.items())))]
    return max(able, key=lambda p: len(_pairs(p) & missing), default=None)


def _pairs(setting: Placement) -> set[Pair]:
    return set(combinations(setting.spaces, 2))
