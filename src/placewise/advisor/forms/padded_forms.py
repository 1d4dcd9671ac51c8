"""Shared arrays of the source itself, tried with longer rows where accesses meet in the same
banks."""

from __future__ import annotations

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.undone_forms import own_form
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Language
from placewise.kernel.view.staging.own_rows import OwnRows, own_rows
from placewise.progress import Progress
from placewise.rewriter.padded_rows import pad_rows

_STEP = "padding rows of shared memory"


def padded_forms(prepared: Prepared, present: Option, progress: Progress) -> list[Option]:
    """An option for each shared array of the source that has bank conflicts and whose longer rows
    were proven and timed."""
    if prepared.case.language is not Language.CUDA or present.timed is None:
        return []
    lines = {r.line.line for r in present.timed.conflicts if r.line is not None}
    own = [rows for name in prepared.view.shared if (rows := _rows(prepared, name, lines))]

    def one(rows: OwnRows) -> Option | None:
        return own_form(pad_rows(prepared.case, prepared.view, rows), prepared, present)

    progress(_STEP, 0, len(own))
    found: list[Option] = []
    for done, (_, option) in enumerate(tried(own, one, prepared, present.timed), start=1):
        progress(_STEP, done, len(own))
        found += [option] if option is not None else []
    return found


def _rows(prepared: Prepared, name: str, lines: set[int]) -> OwnRows | None:
    """The rows of a shared array that is accessed at one of ``lines``; None where they cannot be
    longer."""
    if not lines:
        return None
    try:
        rows = own_rows(prepared.case, prepared.view, name)
    except PlacewiseError:
        return None
    return rows if rows.accesses & lines else None
