"""Which placements in tiles by chunks of a loop are the fastest, timed from their own machine code.

A model of memory traffic does not see barriers, tile fills and occupancy, which decide here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placewise.advisor.finalists import AS_GOOD
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.forms.write_form import Form, write_forms
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
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
    form; else the one that is least slower, as it may pay beside other moves. A few chunk lengths
    far apart are timed first, then the lengths next to the best. Subsets of a plan's arrays are
    timed only with the best length of the whole plan."""
    groups: dict[frozenset[str], list[Placement]] = {}
    for placement in prepared.legality.chunked:
        moves = placement.moved(prepared.legality.present)
        groups.setdefault(frozenset(array for array, _, _ in moves), []).append(placement)
    found: list[TimedForm] = []
    narrower: list[Placement] = []
    for arrays, placements in groups.items():
        wider = [f for f in found if arrays < _arrays(f, prepared)]
        if wider:
            if len(_arrays(wider[0], prepared)) <= _ALONE:
                best_length = min(wider, key=lambda f: f.ratio).placement.chunk
                narrower += [p for p in placements if p.chunk == best_length]
            continue
        longest = [p for p in placements if p.chunk == placements[-1].chunk]
        some = [p for p in placements if p.chunk in _FIRST] or longest
        timed = _timed(some, prepared, present, progress)
        if timed:
            best = min(timed, key=lambda f: f.ratio).placement
            at = placements.index(best)
            near = [p for p in placements[max(0, at - 1) : at + 2] if p not in some]
            timed += _timed(near, prepared, present, progress)
        found += timed
    # All at once, so that several processes have something to do.
    found += _timed(narrower, prepared, present, progress)
    faster = sorted((f for f in found if f.ratio < 1.0), key=lambda f: f.ratio)
    overlapped = _overlapped(faster, prepared, present, progress)
    least = [min(found, key=lambda f: f.ratio)] if found else []
    return [*overlapped, *faster][:_FASTEST] or [f for f in least if f.ratio < _HOPELESS]


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
    tried = [replace(p, buffers=2) for p in no_longer[:2]]
    found = _timed(tried, prepared, present, progress)
    least = min((f.ratio for f in found), default=best.ratio)
    return [f for f in found if f.ratio == least and f.ratio * (1 + AS_GOOD) < best.ratio]


def _arrays(timed: TimedForm, prepared: Prepared) -> frozenset[str]:
    moves = timed.placement.moved(prepared.legality.present)
    return frozenset(array for array, _, _ in moves)


def _timed(
    placements: Sequence[Placement], prepared: Prepared, present: Timed, progress: Progress
) -> list[TimedForm]:
    """The forms of ``placements`` that can be written, compiled and timed."""
    forms = write_forms(prepared, placements, present, progress)

    def one(placement: Placement) -> TimedForm | None:
        form = forms[placement]
        if isinstance(form, UnsupportedError) or form.kernel is None:
            return None
        timed = time_form(
            form.kernel,
            form.rewritten.case,
            prepared.machine,
            like=present,
            corrected=prepared.corrected,
        )
        ratio = ratio_of_times(timed, present)
        return None if ratio is None else TimedForm(placement, form, timed, ratio.ratio)

    progress("timing tiles by chunks of a loop", 0, len(placements))
    found: dict[Placement, TimedForm | None] = dict.fromkeys(placements)
    for done, (placement, timed) in enumerate(tried(placements, one, prepared, present)):
        progress("timing tiles by chunks of a loop", done + 1, len(placements))
        found[placement] = timed
    return [timed for timed in found.values() if timed is not None]
