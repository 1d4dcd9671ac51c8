"""Arrays of each thread's own, tried in shared memory.

Local memory is part of global memory. Where lanes access different elements of their arrays, each
access takes a sector for each of them; in shared memory it takes one wavefront, if elements have 4
bytes.
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
    """Try the threads' own arrays that the kernel accesses in local memory in shared memory.

    Returns the present form, whose placement then has the arrays that were proven and timed there;
    an option for each of these; and, of kernels that spill no registers, the arrays that are too
    large for it or cannot be moved, with the reason.
    """
    sites = [site for site in prepared.execution.sites if site.space == "local"]
    lines = {site.source_line for site in sites if site.source_line is not None}
    if prepared.case.language is not Language.CUDA or present.rerun is None or not lines:
        return present, [], ()
    own = local_arrays_at(prepared.case, lines)
    space = shared_space(prepared.machine)
    fitting = [one for one in own.movable if not too_large(one, prepared)][:MOST]
    refused = {a.name: _why_too_large(a, prepared) for a in own.movable if too_large(a, prepared)}
    refused |= own.refused
    if prepared.kernel.spills_registers:
        # The accesses may be those of spilled registers, and the arrays in registers.
        refused = {}

    def write(local: LocalArray) -> Rewritten:
        return share_local(prepared.case, prepared.view, local, space)

    found = tried_own(_STEP, fitting, write, prepared, present, progress)
    present = with_spaces(present, ((one.name, LOCAL) for one in found))
    stay = tuple(Choice(name, space, why) for name, why in refused.items())
    return present, list(found.values()), stay


def too_large(local: LocalArray, prepared: Prepared) -> bool:
    """Whether the arrays of a block's threads are more than the kernel may declare as shared."""
    return local.bytes * prepared.case.launch.threads_per_block > _room_bytes(prepared)


def threads_that_fit(local: LocalArray, prepared: Prepared) -> int:
    """Threads, in whole warps, whose arrays the kernel may declare as shared memory of a block."""
    return _room_bytes(prepared) // local.bytes // WARP_SIZE * WARP_SIZE


def _room_bytes(prepared: Prepared) -> int:
    return STATIC_SHARED_BYTES - prepared.kernel.static_shared_bytes


def _why_too_large(local: LocalArray, prepared: Prepared) -> str:
    threads = prepared.case.launch.threads_per_block
    said = f"the arrays of a block's {threads} threads take {in_words(local.bytes * threads)}, "
    said += f"{in_words(_room_bytes(prepared))} of static shared memory are left"
    most = threads_that_fit(local, prepared)
    return f"{said}; those of {most} threads would fit" if most else said
