"""Shared arrays of the source itself, tried with longer rows, or with their elements spread, where
accesses meet in the same banks."""

from __future__ import annotations

import contextlib
from functools import partial

from placewise.advisor.advice import Option
from placewise.advisor.forms.own.own_forms import tried_own
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Language
from placewise.progress import Progress
from placewise.rewriter.own.padding import Paddable, pad, paddable

_STEP = "padding shared memory"


def padded_forms(prepared: Prepared, present: Option, progress: Progress) -> list[Option]:
    """An option for each shared array of the source that has bank conflicts and whose longer rows,
    or spread elements, were proven and timed."""
    if prepared.case.language is not Language.CUDA or present.timed is None:
        return []
    case, view = prepared.case, prepared.view
    lines = {r.line.line for r in present.timed.conflicts if r.line is not None}
    own: list[Paddable] = []
    for name in view.shared if lines else ():
        with contextlib.suppress(PlacewiseError):
            own.append(paddable(case, view, name))
    own = [one for one in own if one.accesses & lines]
    found = tried_own(_STEP, own, partial(pad, case, view), prepared, present, progress)
    return list(found.values())
