"""Padding of a shared array of the source itself, whatever its number of dimensions."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.staging.own_elements import OwnElements, own_elements
from placewise.kernel.view.staging.own_rows import OwnRows, own_rows
from placewise.rewriter.own.padded_rows import pad_rows
from placewise.rewriter.own.spread_elements import spread_elements
from placewise.rewriter.rewritten import Rewritten

Paddable = OwnRows | OwnElements


def paddable(case: Case, view: SourceView, name: str) -> Paddable:
    """What can be padded of the kernel's own shared array ``name``: its rows, or between its
    elements where it has one dimension.

    Raises UnsupportedError, with the line and the reason, where neither can.
    """
    try:
        return own_elements(case, name)
    except UnsupportedError as flat:
        try:
            return own_rows(case, view, name)
        except UnsupportedError as rows:
            raise UnsupportedError(f"{flat.message}; {rows.message}", where=flat.where) from None


def pad(case: Case, view: SourceView, what: Paddable) -> Rewritten:
    """The case with the padded array; raises UnsupportedError where it cannot be written."""
    if isinstance(what, OwnRows):
        return pad_rows(case, view, what)
    return spread_elements(case, view, what)
