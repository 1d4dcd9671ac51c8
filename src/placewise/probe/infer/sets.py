"""The second stage: which lines share a set, of how many ways, and what a tag stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.probe.infer.view import View

_SECTORS = (16, 8, 4, 2)
"""Numbers of sectors per line that are tried."""
_LOADS = 20_000_000
"""Most loads of one test."""
_FEW = 4096
"""Lines of which one more test costs little."""
_FEW_TO_FILL = 512
"""Consecutive lines that fit, up to which further ones are tried one by one to fill larger sets;
TLBs have as few, caches have sets of one size."""
_WANTED = 40
"""Misses of each line of a set that are waited for, where replacement is by chance."""


def sharers(view: View, held: NDArray[np.int64], other: int) -> NDArray[np.int64]:
    """The lines of the set of line ``other``: those of ``held`` (n,), all of which fit, that miss
    once ``other`` is loaded, too. Empty where it still fits.
    """
    every = np.append(held, other)
    test = view.test(every)
    if not test.overflow:
        return np.zeros(0, np.int64)
    suspects = test.counts[test.sure]
    rate = float(suspects.mean()) / test.laps if len(suspects) else 1.0 / len(every)
    if rate < 0.9:
        laps = min(int(_WANTED / rate) + 1, _LOADS // len(every))
        if laps > test.laps:
            test = view.test(every, laps)
    found: NDArray[np.int64] = held[test.sure[:-1]]
    return found


def sectors_per_line(view: View, lines: int, other: int, members: NDArray[np.int64]) -> int:
    """How many of a view's pieces one tag stands for.

    ``members`` are the pieces of one set and ``other`` another piece of it. One piece is kept of
    each aligned group of q: as long as groups are no larger than lines, one more line than the set
    has ways is still loaded.
    """
    rest = np.setdiff1d(np.arange(lines), members)
    for q in _SECTORS:
        groups, counts = np.unique(members // q, return_counts=True)
        if (counts == q).all() and not view.fits(
            np.sort(np.concatenate([rest, groups * q, [other]]))
        ):
            return q
    return 1


def full(view: View, lines: int) -> bool:
    """Whether lines 0 to ``lines`` fill every set, so that none fits besides, from wherever."""
    random = np.random.default_rng(view.seed + 2)
    most = min(64 * lines, view.device.reach_bytes // view.stride)
    trials = 8 if lines < _FEW else 2
    return not any(
        view.fits(np.append(np.arange(lines), int(random.integers(lines, most))))
        for _ in range(trials)
    )


@dataclass(frozen=True)
class Sets:
    """The sets that were looked at."""

    members: list[NDArray[np.int64]]
    """Lines of each set."""
    others: list[int]
    """One more line of each set."""
    all: bool
    """Whether there are no further sets."""
    overlap: bool
    """Whether some line seemed to be in two sets."""
    lines: NDArray[np.int64]
    """Lines that fit all together. Where sets are of several sizes, these are more than the
    consecutive ones, which leave large sets partly empty."""


def find_sets(view: View, lines: int, *, most: int, sampled: int) -> Sets:
    """Sets of the lines below ``lines``: all, where there are no more than ``most``."""
    seen = np.zeros(lines, np.int64)
    held = np.arange(lines)
    members: list[NDArray[np.int64]] = []
    others: list[int] = []
    random = np.random.default_rng(view.seed)
    guess = None
    other = lines
    # Further lines are looked at only as far as there is memory.
    end = min(3 * lines + 64, view.device.reach_bytes // view.stride)
    while not seen.all() and other < end:
        if guess is None or guess <= most or len(members) < 4:
            candidate = other
        elif len(members) < sampled:
            candidate = lines + int(random.integers(0, min(lines, end - lines)))
        else:
            return Sets(members, others, False, bool((seen > 1).any()), held)
        other += 1
        found = sharers(view, held, candidate)
        if not len(found) or any(np.array_equal(found, m) for m in members):
            continue
        members.append(found)
        others.append(candidate)
        seen[found] += 1
        guess = lines // len(found)
    if not seen.all() and members and lines <= _FEW_TO_FILL:
        return _partly_filled(view, lines, end, Sets(members, others, False, False, held))
    return Sets(members, others, bool(seen.all()), bool((seen > 1).any()), held)


def _partly_filled(view: View, lines: int, end: int, known: Sets) -> Sets:
    """``known`` with the sets that the consecutive lines below ``lines`` leave partly empty.

    They are larger than the others, so that no single further line makes one of theirs miss. So
    lines up to ``end`` are added as long as they fit besides. Where no more does, every set is
    full, and one more line shows which lines share its set.
    """
    held = known.lines
    for line in range(lines, end):
        if line not in known.others and view.fits(np.append(held, line)):
            held = np.append(held, line)
    members, others = list(known.members), list(known.others)
    seen = np.zeros(end, np.int64)
    for some in members:
        seen[some] += 1
    for line in range(lines, end):
        if seen[held].all():
            break
        if line in held or line in others:
            continue
        found = sharers(view, held, line)
        if not len(found) or any(np.array_equal(found, m) for m in members):
            continue
        members.append(found)
        others.append(line)
        seen[found] += 1
    order = sorted(range(len(members)), key=lambda k: int(members[k][0]))
    return Sets(
        [members[k] for k in order],
        [others[k] for k in order],
        bool(seen[held].all()),
        bool((seen > 1).any()),
        held,
    )
