"""Errors of a machine file: located, and with the nearest known name as a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from placewise.errors import MachineError
from placewise.machine.msl.tree import Position


def located(filename: str, at: Position, message: str, hint: str | None = None) -> MachineError:
    """The error ``message`` at ``filename:line:column``, or in the base's file where ``at`` says
    that it was written there."""
    where = f"{at.file or filename}:{at.line}:{at.column}"
    return MachineError(message, where=where, hint=hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?`` for the known name most like ``name``, or the list of known names."""
    names = list(known)
    folded = {candidate.lower(): candidate for candidate in names}
    cutoff = 0.6 if len(name) > 3 else 0.5  # half of a short word is one or two letters
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=cutoff)
    if matches:
        return f"did you mean '{folded[matches[0]]}'?"
    return f"known: {', '.join(names)}" if names else None
