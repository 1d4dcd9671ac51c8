"""Arrays of each thread's own, tried in shared memory.

Local memory is part of global memory. Where lanes access different elements of their arrays, each
access takes as many sectors; in shared memory it takes one wavefront.
"""

from __future__ import annotations

import contextlib

from placewise.advisor.advice import Option
from placewise.advisor.forms.own.own_forms import MOST, shared_space, tried_own, with_spaces
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.view.local_arrays import LocalArray, local_array, local_array_names
from placewise.progress import Progress
from placewise.rewriter.own.shared_locals import share_local
from placewise.rewriter.rewritten import Rewritten

LOCAL = "local"
"""Where an array of each thread's own is, in placements and reports."""
_STEP = "trying threads' own arrays in shared memory"


def with_shared_locals(
    prepared: Prepared, present: Option, progress: Progress
) -> tuple[Option, list[Option]]:
    """The present form, its placement with the threads' own arrays in it, and an option for each of
    these that can be in shared memory and was proven and timed there.

    Only arrays that the compiler keeps in local memory are tried: others are in registers.
    """
    lines = {site.source_line for site in prepared.execution.sites if site.space == "local"}
    if prepared.case.language is not Language.CUDA or present.rerun is None or not lines:
        return present, []
    own = [one for one in _movable(prepared.case) if one.accesses & lines][:MOST]

    def write(local: LocalArray) -> Rewritten:
        return share_local(prepared.case, prepared.view, local, shared_space(prepared.machine))

    found = tried_own(_STEP, own, write, prepared, present, progress)
    return with_spaces(present, ((one.name, LOCAL) for one in found)), list(found.values())


def _movable(case: Case) -> list[LocalArray]:
    """The arrays of the kernel's threads that can be somewhere else."""
    found: list[LocalArray] = []
    for name in local_array_names(case):
        with contextlib.suppress(PlacewiseError):
            found.append(local_array(case, name))
    return found
