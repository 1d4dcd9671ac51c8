"""Constant and shared arrays of the source itself, tried in global memory.

Huang and Li (2017, Table IV) move arrays out of constant and shared memory, too: a program written
for an old GPU may be faster without a memory that paid there.
"""

from __future__ import annotations

from placewise.advisor.advice import Option
from placewise.advisor.forms.own.own_forms import (
    MOST,
    global_space,
    shared_space,
    tried_own,
    with_spaces,
)
from placewise.advisor.prepare import Prepared
from placewise.kernel.cases.case import Language
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.progress import Progress
from placewise.rewriter.own.undone import undo
from placewise.rewriter.rewritten import Rewritten

_STEP = "trying its own arrays in global memory"


def declared_spaces(view: SourceView, machine: Machine) -> dict[str, str]:
    """Space, as the machine calls it, of each array that the source itself has put into constant or
    shared memory."""
    constant = next((s.name for s in machine.spaces if s.way.facts.host_filled), "constant")
    found = {one.name: constant for one in view.constants if one.obstacle is None}
    found |= dict.fromkeys(view.shared, shared_space(machine))
    return {
        name: space for name, space in found.items() if all(name != u.name for u in view.arrays)
    }


def with_undone(
    prepared: Prepared, present: Option, progress: Progress
) -> tuple[Option, list[Option]]:
    """The present form, its placement with the source's own arrays in it, and an option for each of
    these that can be in global memory and was proven and timed there.

    A model of memory traffic does not judge them: the trace has no such array.
    """
    machine = prepared.machine
    if prepared.case.language is not Language.CUDA or present.rerun is None:
        return present, []
    own = list(declared_spaces(prepared.view, machine).items())[:MOST]

    def write(array: tuple[str, str]) -> Rewritten:
        return undo(prepared.case, prepared.view, array[0], global_space(machine))

    found = tried_own(_STEP, own, write, prepared, present, progress)
    return with_spaces(present, found), list(found.values())
