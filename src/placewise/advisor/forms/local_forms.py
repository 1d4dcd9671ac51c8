"""Arrays of each thread's own, tried in shared memory.

Local memory is part of global memory. Where lanes access different elements of their arrays, each
access takes as many sectors; in shared memory it takes one wavefront.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.undone_forms import own_form
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.view.local_arrays import LocalArray, local_array, local_array_names
from placewise.machine import Machine
from placewise.progress import Progress
from placewise.rewriter.shared_locals import share_local

LOCAL = "local"
"""Where an array of each thread's own is, in placements and reports."""
_MOST = 4
"""Arrays of a kernel that are tried."""
_STEP = "trying threads' own arrays in shared memory"


def shared_space(machine: Machine) -> str | None:
    """What the machine calls the memory that the threads of a block share; None where it has
    none."""
    return next((s.name for s in machine.spaces if s.way.facts.per_block), None)


def with_shared_locals(
    prepared: Prepared, present: Option, progress: Progress
) -> tuple[Option, list[Option]]:
    """The present form, its placement with the threads' own arrays in it, and an option for each of
    these that can be in shared memory and was proven and timed there.

    Only arrays that the compiler keeps in local memory are tried: others are in registers.
    """
    space = shared_space(prepared.machine)
    lines = {
        site.source_line for site in prepared.execution.sites if site.space == "local"
    }  # fmt: skip
    if prepared.case.language is not Language.CUDA or present.rerun is None or not lines:
        return present, []
    found = _movable(prepared.case)
    own = [one for one in found if one.accesses & lines][:_MOST] if space is not None else []

    def one(local: LocalArray) -> Option | None:
        try:
            rewritten = share_local(prepared.case, prepared.view, local, str(space))
        except PlacewiseError:
            return None
        return own_form(rewritten, prepared, present)

    progress(_STEP, 0, len(own))
    options: dict[str, Option] = {}
    for done, (local, option) in enumerate(tried(own, one, prepared, present.timed), start=1):
        progress(_STEP, done, len(own))
        if option is not None:
            options[local.name] = option
    now = tuple((local.name, LOCAL) for local in own if local.name in options)
    placement = replace(present.placement, spaces=(*present.placement.spaces, *now))
    return replace(present, placement=placement), list(options.values())


def _movable(case: Case) -> list[LocalArray]:
    """The arrays of the kernel's threads that can be somewhere else."""
    found: list[LocalArray] = []
    for name in local_array_names(case):
        try:
            found.append(local_array(case, name))
        except PlacewiseError:
            continue
    return found
