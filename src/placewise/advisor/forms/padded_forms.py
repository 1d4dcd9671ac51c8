"""Shared arrays of the source itself, tried with longer rows, or with their elements spread, where
accesses meet in the same banks."""

from __future__ import annotations

import contextlib

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.undone_forms import own_form
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Language
from placewise.progress import Progress
from placewise.rewriter.padding import pad, paddable
from placewise.rewriter.rewritten import Rewritten

_STEP = "padding shared memory"


def padded_forms(prepared: Prepared, present: Option, progress: Progress) -> list[Option]:
    """An option for each shared array of the source that has bank conflicts and whose longer rows,
    or spread elements, were proven and timed."""
    if prepared.case.language is not Language.CUDA or present.timed is None:
        return []
    lines = {r.line.line for r in present.timed.conflicts if r.line is not None}
    own = [
        form
        for name in prepared.view.shared
        if lines and (form := _padded(prepared, name, lines)) is not None
    ]

    def one(form: Rewritten) -> Option | None:
        return own_form(form, prepared, present)

    progress(_STEP, 0, len(own))
    found: list[Option] = []
    for done, (_, option) in enumerate(tried(own, one, prepared, present.timed), start=1):
        progress(_STEP, done, len(own))
        found += [option] if option is not None else []
    return found


def _padded(prepared: Prepared, name: str, lines: set[int]) -> Rewritten | None:
    """The kernel with a shared array padded that is accessed at one of ``lines``; None where it
    cannot be."""
    case, view = prepared.case, prepared.view
    with contextlib.suppress(PlacewiseError):
        what = paddable(case, view, name)
        return pad(case, view, what) if what.accesses & lines else None
    return None
