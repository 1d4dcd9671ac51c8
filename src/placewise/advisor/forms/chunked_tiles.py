"""Which placements in tiles by chunks of a loop are the fastest, timed from their own machine code.

A model of memory traffic does not see barriers, tile fills and occupancy, which decide here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from placewise.advisor.finalists import AS_GOOD
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.timed_form import TimedForm, timed_form
from placewise.advisor.forms.timing import Timed
from placewise.advisor.forms.write_form import write_forms
from placewise.advisor.prepare import Prepared
from placewise.progress import Progress
from placewise.rewriter import ASYNC_COPIES
from placewise.space import Placement

_FASTEST = 2
"""Most placements that are returned, to be run and verified."""
_HOPELESS = 1.5
"""Time over that of the present form from which on tiles will not pay beside other moves either."""
_FIRST = (16, 64, 256)
"""Chunk lengths (iterations) that are timed first."""
_ALONE = 3
"""Each of a plan's arrays is also tried alone if the plan has at most this many arrays."""

_Groups = dict[frozenset[str], list[Placement]]
"""Placements by the arrays that they move, in ascending order of their chunk lengths."""


def first_chunked(prepared: Prepared) -> list[Placement]:
    """The placements in tiles by chunks of a loop that are timed first: a few chunk lengths far
    apart, for all arrays that can have such tiles at the same time."""
    groups = _groups(prepared)
    return [p for arrays in _widest(groups) for p in _first_lengths(groups[arrays])]


def fastest_chunked(
    first: Sequence[TimedForm], prepared: Prepared, present: Timed, progress: Progress
) -> list[TimedForm]:
    """The fastest placements in tiles by chunks of a loop, if they are faster than the present
    form; else the one that is least slower, as it may pay beside other moves. ``first`` are the
    times of :func:`first_chunked`. Then the lengths next to the best are timed, and subsets of the
    arrays with the best of the first lengths."""
    groups = _groups(prepared)
    found, left = list(first), groups
    while left := _without(_widest(left), left, found, prepared):
        # Where no form of a group can be written, subsets of its arrays are groups of their own.
        some = [p for arrays in _widest(left) for p in _first_lengths(left[arrays])]
        found += _timed(some, prepared, present, progress)
    more = dict.fromkeys(_next_lengths(found, groups, prepared))
    found += _timed(list(more), prepared, present, progress)
    faster = sorted((f for f in found if f.ratio < 1.0), key=lambda f: f.ratio)
    overlapped = _overlapped(faster, prepared, present, progress)
    least = [min(found, key=lambda f: f.ratio)] if found else []
    return [*overlapped, *faster][:_FASTEST] or [f for f in least if f.ratio < _HOPELESS]


def _groups(prepared: Prepared) -> _Groups:
    groups: _Groups = {}
    for placement in prepared.legality.chunked:
        groups.setdefault(_moved(placement, prepared), []).append(placement)
    return groups


def _widest(groups: _Groups) -> list[frozenset[str]]:
    """Sets of arrays that are part of no other one."""
    return [arrays for arrays in groups if not any(arrays < other for other in groups)]


def _without(
    done: Sequence[frozenset[str]],
    groups: _Groups,
    found: Sequence[TimedForm],
    prepared: Prepared,
) -> _Groups:
    """The groups but those of the arrays ``done``, and but subsets of the arrays of ``found``."""
    written = {_arrays(f, prepared) for f in found}
    return {
        arrays: own
        for arrays, own in groups.items()
        if arrays not in done and not any(arrays < wider for wider in written)
    }


def _first_lengths(placements: Sequence[Placement]) -> list[Placement]:
    """The placements of a group that are timed first: a few chunk lengths, else the longest."""
    longest = [p for p in placements if p.chunk == placements[-1].chunk]
    return [p for p in placements if p.chunk in _FIRST] or longest


def _next_lengths(
    found: Sequence[TimedForm],
    groups: Mapping[frozenset[str], Sequence[Placement]],
    prepared: Prepared,
) -> Iterator[Placement]:
    """What is timed after the first lengths: those next to the best of each group, and subsets of
    its arrays with the best length."""
    for arrays in dict.fromkeys(_arrays(f, prepared) for f in found):
        own = [f for f in found if _arrays(f, prepared) == arrays]
        best = min(own, key=lambda f: f.ratio).placement
        at = groups[arrays].index(best)
        known = {f.placement for f in own}
        yield from (p for p in groups[arrays][max(0, at - 1) : at + 2] if p not in known)
        fewer = {a: g for a, g in groups.items() if a < arrays}
        for some, others in fewer.items():
            if len(some) > 1 or len(arrays) <= _ALONE:
                yield from (p for p in others if p.chunk == best.chunk)


def _overlapped(
    faster: list[TimedForm], prepared: Prepared, present: Timed, progress: Progress
) -> list[TimedForm]:
    """The fastest form with two buffers for each tile, if it is faster than the best of ``faster``,
    which are sorted, by more than :data:`AS_GOOD`; else none. Tried are the arrays of the best
    form, with its chunk length and the next shorter one, which takes about as much memory."""
    if not faster or prepared.machine.limits.compute_capability < ASYNC_COPIES:
        return []
    best = faster[0]
    arrays = _arrays(best, prepared)
    alike = [f.placement for f in faster if _arrays(f, prepared) == arrays]
    no_longer = [p for p in alike if (p.chunk or 0) <= (best.placement.chunk or 0)]
    no_longer.sort(key=lambda p: -(p.chunk or 0))
    doubled = [replace(p, buffers=2) for p in no_longer[:2]]
    found = _timed(doubled, prepared, present, progress)
    least = min((f.ratio for f in found), default=best.ratio)
    return [f for f in found if f.ratio == least and f.ratio * (1 + AS_GOOD) < best.ratio]


def _arrays(timed: TimedForm, prepared: Prepared) -> frozenset[str]:
    return _moved(timed.placement, prepared)


def _moved(placement: Placement, prepared: Prepared) -> frozenset[str]:
    """The arrays that a placement moves."""
    return frozenset(array for array, _, _ in placement.moved(prepared.legality.present))


def _timed(
    placements: Sequence[Placement], prepared: Prepared, present: Timed, progress: Progress
) -> list[TimedForm]:
    """The forms of ``placements`` that can be written, compiled and timed."""
    forms = write_forms(prepared, placements, present, progress)

    def one(placement: Placement) -> TimedForm | None:
        return timed_form(placement, forms[placement], prepared, present)

    progress("timing tiles by chunks of a loop", 0, len(placements))
    found: dict[Placement, TimedForm | None] = dict.fromkeys(placements)
    for done, (placement, timed) in enumerate(tried(placements, one, prepared, present)):
        progress("timing tiles by chunks of a loop", done + 1, len(placements))
        found[placement] = timed
    return [timed for timed in found.values() if timed is not None]
