"""Constant and shared arrays of the source itself, tried in global memory.

Huang and Li (2017, Table IV) move arrays out of constant and shared memory, too: a program written
for an old GPU may be faster without a memory that paid there.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.timed_form import time_beside
from placewise.advisor.forms.timing import ratio_of_times
from placewise.advisor.forms.verify import verify
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Language
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.progress import Progress
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.undone import undo
from placewise.space import Way

_MOST = 4
"""Arrays of a kernel that are tried."""
_STEP = "trying its own arrays in global memory"


def own_arrays(view: SourceView, machine: Machine) -> dict[str, str]:
    """Space, as the machine calls it, of each array that the source itself has put into constant or
    shared memory."""
    constant = next((s.name for s in machine.spaces if s.way.facts.host_filled), "constant")
    shared = next((s.name for s in machine.spaces if s.way.facts.per_block), "shared")
    found = {one.name: constant for one in view.constants if one.obstacle is None}
    found |= dict.fromkeys(view.shared, shared)
    return {
        name: space for name, space in found.items() if all(name != u.name for u in view.arrays)
    }


def global_space(machine: Machine) -> str:
    """What the machine calls the space of arrays that are indexed as they come."""
    return next((s.name for s in machine.spaces if s.way is Way.DIRECT), "global")


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
    own = list(own_arrays(prepared.view, machine).items())[:_MOST]

    def one(array: tuple[str, str]) -> Option | None:
        return _undone(array[0], prepared, present)

    progress(_STEP, 0, len(own))
    found: dict[tuple[str, str], Option | None] = dict.fromkeys(own)
    for done, (array, option) in enumerate(tried(own, one, prepared, present.timed), start=1):
        progress(_STEP, done, len(own))
        found[array] = option
    moved = [array for array, option in found.items() if option is not None]
    placement = replace(present.placement, spaces=(*present.placement.spaces, *moved))
    options = [option for option in found.values() if option is not None]
    return replace(present, placement=placement), options


def _undone(array: str, prepared: Prepared, present: Option) -> Option | None:
    """The form with the source's own ``array`` in global memory; None where it cannot be written,
    proven or timed."""
    try:
        rewritten = undo(prepared.case, prepared.view, array, global_space(prepared.machine))
    except PlacewiseError:
        return None
    return own_form(rewritten, prepared, present)


def own_form(rewritten: Rewritten, prepared: Prepared, present: Option) -> Option | None:
    """A form that differs from the ``present`` one in arrays of the source itself; None where it
    does not compile, computes something else or has no time."""
    try:
        kernel = compile_case(rewritten.case)
    except PlacewiseError:
        return None
    verification = verify(rewritten, prepared.case, prepared.execution, kernel)
    timed = time_beside(kernel, rewritten.case, prepared, present.timed)
    rerun = ratio_of_times(timed, present.timed)
    if not verification.identical or rerun is None:
        return None
    return Option(
        placement=replace(
            rewritten.placement,
            spaces=(*present.placement.spaces, *rewritten.placement.spaces),
        ),
        prediction=present.prediction,
        traffic=present.traffic,
        measured_ms=present.measured_ms,
        rewritten=rewritten,
        verification=verification,
        timed=timed,
        beside=present.timed,
        rerun=rerun,
    )
