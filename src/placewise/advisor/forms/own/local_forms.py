"""Arrays of each thread's own, tried in shared memory.

Local memory is part of global memory. Where lanes access different elements of their arrays, each
access takes as many sectors; in shared memory it takes one wavefront.
"""

from __future__ import annotations

from placewise.advisor.advice import Option
from placewise.advisor.forms.own.own_forms import MOST, shared_space, tried_own, with_spaces
from placewise.advisor.prepare import Prepared
from placewise.choose import Choice, in_words
from placewise.kernel.cases.case import Language
from placewise.kernel.chunks import STATIC_SHARED_BYTES
from placewise.kernel.view.local_arrays import LocalArray, local_arrays_at
from placewise.memory.occupancy import WARP_SIZE
from placewise.progress import Progress
from placewise.rewriter.own.shared_locals import share_local
from placewise.rewriter.rewritten import Rewritten

LOCAL = "local"
"""Where an array of each thread's own is, in placements and reports."""
_STEP = "trying threads' own arrays in shared memory"


def with_shared_locals(
    prepared: Prepared, present: Option, progress: Progress
) -> tuple[Option, list[Option], tuple[Choice, ...]]:
    """The present form, its placement with the threads' own arrays in it; an option for each of
    these that can be in shared memory and was proven and timed there; and those that cannot.

    Only arrays that the compiler keeps in local memory are tried: others are in registers.
    """
    sites = [site for site in prepared.execution.sites if site.space == "local"]
    lines = {site.source_line for site in sites if site.source_line is not None}
    if prepared.case.language is not Language.CUDA or present.rerun is None or not lines:
        return present, [], ()
    own = local_arrays_at(prepared.case, lines)
    space = shared_space(prepared.machine)
    fitting = [one for one in own.movable if not too_large(one, prepared)][:MOST]
    large = {a.name: _in_words(a, prepared) for a in own.movable if too_large(a, prepared)}
    refused = tuple(Choice(name, space, why) for name, why in (large | own.refused).items())

    def write(local: LocalArray) -> Rewritten:
        return share_local(prepared.case, prepared.view, local, space)

    found = tried_own(_STEP, fitting, write, prepared, present, progress)
    present = with_spaces(present, ((one.name, LOCAL) for one in found))
    return present, list(found.values()), refused


def too_large(local: LocalArray, prepared: Prepared) -> bool:
    """Whether the arrays of a block's threads are more than the kernel may declare as shared."""
    return local.bytes * prepared.case.launch.threads_per_block > _room_bytes(prepared)


def threads_that_fit(local: LocalArray, prepared: Prepared) -> int:
    """Threads, in whole warps, whose arrays the kernel may declare as shared memory of a block."""
    return _room_bytes(prepared) // local.bytes // WARP_SIZE * WARP_SIZE


def _room_bytes(prepared: Prepared) -> int:
    return STATIC_SHARED_BYTES - prepared.kernel.static_shared_bytes


def _in_words(local: LocalArray, prepared: Prepared) -> str:
    threads = prepared.case.launch.threads_per_block
    said = f"those of {threads} threads take {in_words(local.bytes * threads)}, "
    said += f"a kernel may declare {in_words(_room_bytes(prepared))} more"
    most = threads_that_fit(local, prepared)
    return f"{said}; those of blocks of {most} threads would fit" if most else said
