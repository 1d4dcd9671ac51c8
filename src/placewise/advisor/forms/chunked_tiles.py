"""Which placements in tiles by chunks of a loop are the fastest, timed from their own machine code.

A model of memory traffic does not see barriers, tile fills and occupancy, which decide here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.forms.write_form import Form, write_form
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
from placewise.progress import Progress
from placewise.space import Placement

_FASTEST = 2
"""Most placements that are returned, to be run and verified."""
_FIRST = (16, 64, 256)
"""Chunk lengths (iterations) that are timed first."""
_ALONE = 3
"""Subsets of a plan's arrays are also tried if the plan has at most this many arrays."""


@dataclass(frozen=True, eq=False)
class TimedForm:
    """A placement written out and timed."""

    placement: Placement
    form: Form
    timed: Timed
    ratio: float
    """Time of the form over that of the present form."""


def fastest_chunked(prepared: Prepared, present: Timed, progress: Progress) -> list[TimedForm]:
    """The fastest placements in tiles by chunks of a loop, if they are faster than the present
    form. A few chunk lengths far apart are timed first, then the lengths next to the best. Subsets
    of a plan's arrays are timed only with the best length of the whole plan."""
    groups: dict[frozenset[str], list[Placement]] = {}
    for placement in prepared.legality.chunked:
        moves = placement.moved(prepared.legality.present)
        groups.setdefault(frozenset(array for array, _, _ in moves), []).append(placement)
    found: list[TimedForm] = []
    for arrays, placements in groups.items():
        wider = [f for f in found if arrays < _arrays(f, prepared)]
        if wider and len(_arrays(wider[0], prepared)) > _ALONE:
            continue
        if wider:
            first = [min(wider, key=lambda f: f.ratio).placement.chunk]
        else:
            first = [p.chunk for p in placements if p.chunk in _FIRST]
        some = [p for p in placements if p.chunk in (first or [placements[-1].chunk])]
        timed = _timed(some, prepared, present, progress)
        if timed and not wider:
            best = min(timed, key=lambda f: f.ratio).placement
            at = placements.index(best)
            near = [p for p in placements[max(0, at - 1) : at + 2] if p not in some]
            timed += _timed(near, prepared, present, progress)
        found += timed
    faster = [f for f in found if f.ratio < 1.0]
    return sorted(faster, key=lambda f: f.ratio)[:_FASTEST]


def _arrays(timed: TimedForm, prepared: Prepared) -> frozenset[str]:
    moves = timed.placement.moved(prepared.legality.present)
    return frozenset(array for array, _, _ in moves)


def _timed(
    placements: Sequence[Placement], prepared: Prepared, present: Timed, progress: Progress
) -> list[TimedForm]:
    """The forms of ``placements`` that can be written, compiled and timed."""
    found = []
    for done, placement in enumerate(placements):
        progress("timing tiles by chunks of a loop", done, len(placements))
        try:
            form = write_form(prepared, moved_part(placement, prepared))
        except UnsupportedError:
            continue
        if form.kernel is None:
            continue
        timed = time_form(
            form.kernel, form.rewritten.case, prepared.machine, corrected=prepared.corrected
        )
        ratio = ratio_of_times(timed, present)
        if ratio is not None:
            found.append(TimedForm(placement, form, timed, ratio.ratio))
    return found


def moved_part(placement: Placement, prepared: Prepared) -> Placement:
    """The placement of the moved arrays alone, with its chunk length."""
    moves = placement.moved(prepared.legality.present)
    return Placement(tuple((array, target) for array, _, target in moves), placement.chunk)
