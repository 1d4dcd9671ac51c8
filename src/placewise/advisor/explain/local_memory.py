"""What the threads' own arrays in local memory have to do with a kernel's time, in words."""

from __future__ import annotations

from placewise.advisor.forms.own.local_forms import threads_that_fit, too_large
from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.choose import in_words
from placewise.kernel.cases.case import Language
from placewise.kernel.view.local_arrays import LocalArray, local_arrays_at


def local_in_words(prepared: Prepared, present: Timed | None) -> str:
    """Which array of each thread's own is accessed, in local memory, at the line that causes most
    of what limits the kernel, and whether smaller blocks would have room for it in shared memory;
    empty where there is no such array.

    Such as ``Line 9 accesses each thread's own 'ring' in local memory: those of the 69,632 threads
    that run at a time take 25.5 MB, more than L2 holds (5.5 MB). Shared memory has room for those
    of 128 threads: ask again with blocks of at most so many.``
    """
    prediction = None if present is None else present.prediction
    if prediction is None or not prediction.parts or not prediction.parts[0].lines:
        return ""
    line = int(prediction.parts[0].lines[0][0].rpartition(":")[2])
    sites = prepared.execution.sites
    in_local = any(site.space == "local" and site.source_line == line for site in sites)
    if prepared.case.language is not Language.CUDA or not in_local:
        return ""
    own = local_arrays_at(prepared.case, {line})
    names = [*(array.name for array in own.movable), *own.refused]
    if not names:
        return ""
    size = _size_in_words(own.movable[0], prepared) if own.movable else ""
    return f"Line {line} accesses each thread's own '{names[0]}' in local memory{size}."


def _size_in_words(array: LocalArray, prepared: Prepared) -> str:
    """By how much the threads' arrays exceed L2, and how small blocks must be to share them."""
    launch, machine = prepared.case.launch, prepared.machine
    blocks = min(launch.blocks, machine.processor.sms * prepared.occupancy.blocks)
    threads = blocks * launch.threads_per_block
    taken, said = array.bytes * threads, ""
    held = None if machine.l2 is None else machine.l2.size_bytes
    if held and taken > held:
        said += f": those of the {threads:,} threads that run at a time take {in_words(taken)}, "
        said += f"more than L2 holds ({in_words(held)})"
    most = threads_that_fit(array, prepared)
    if most and too_large(array, prepared):
        said += f". Shared memory has room for those of {most} threads: ask again with blocks of "
        said += "at most so many"
    return said
