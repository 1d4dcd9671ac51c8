"""Moves of arrays that the kernel's source declares itself, as the user names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from placewise.advisor.forms.own.local_forms import LOCAL
from placewise.advisor.forms.own.own_forms import global_space, shared_space
from placewise.advisor.forms.own.undone_forms import declared_spaces
from placewise.errors import CaseError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.source import SourceView
from placewise.kernel.view.local_arrays import local_array, local_array_names
from placewise.machine import Machine
from placewise.rewriter import Rewritten
from placewise.rewriter.own.padding import pad, paddable
from placewise.rewriter.own.shared_locals import share_local
from placewise.rewriter.own.undone import undo

PADDED = "padded"
"""What a shared array of the source itself is moved to where it stays and is padded."""


def write_own(
    case: Case, view: SourceView, machine: Machine, moves: Mapping[str, str]
) -> Rewritten | None:
    """A constant or shared array of the source itself in global memory, a shared one padded, or an
    array of each thread's own in shared memory, where ``moves`` (space by array) names one that the
    kernel's arguments do not have; None where it names none.

    Raises CaseError for another space, or for a second move, UnsupportedError where the source
    cannot be written so.
    """
    given = {use.name for use in view.arrays}
    constants = {one.name for one in view.constants} - given
    own = {*constants, *view.shared} - given
    threads = _local_names(case, set(moves) - own - given)
    named = [array for array in moves if array in own | threads]
    if not named:
        return None
    (array, *_), place = named, f"--place {named[0]}={moves[named[0]]}"
    to, everywhere, shared = moves[array], global_space(machine), shared_space(machine)
    if array in threads:
        can = {f"go to {shared}": shared}
    elif array in constants:
        can = {f"go back to {everywhere}": everywhere}
    else:
        can = {f"go back to {everywhere}": everywhere, f"be {PADDED}": PADDED}
    if to not in can.values():
        raise CaseError(
            f"the source declares it itself; it can {', or '.join(can)}, nowhere else", where=place
        )
    if len(moves) > 1:
        raise CaseError(
            "it moves alone: the other arrays can follow in the source that is written", where=place
        )
    if array in threads:
        return share_local(case, view, local_array(case, array), to)
    if to == PADDED:
        return pad(case, view, paddable(case, view, array))
    return undo(case, view, array, to)


def own_spaces(
    case: Case, view: SourceView, machine: Machine, names: Collection[str]
) -> dict[str, str]:
    """Space by name of the arrays among ``names`` that the source declares itself."""
    own = declared_spaces(view, machine)
    others = set(names) - set(own) - {use.name for use in view.arrays}
    return own | dict.fromkeys(_local_names(case, others), LOCAL)


def _local_names(case: Case, names: set[str]) -> set[str]:
    """The names among ``names`` of arrays of each thread's own; the source is read only if there
    are any ``names``."""
    if not names or case.language is not Language.CUDA:
        return set()
    return names & set(local_array_names(case))
