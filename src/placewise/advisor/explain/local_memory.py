"""What the threads' own arrays in local memory have to do with a kernel's time, in words."""

from __future__ import annotations

from placewise.advisor.forms.own.local_forms import threads_that_fit, too_large
from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.choose import in_words
from placewise.kernel.cases.case import Language
from placewise.kernel.view.local_arrays import LocalArray, LocalArraysAt, local_arrays_at

NONE = LocalArraysAt((), {})


def local_in_words(prepared: Prepared, present: Timed | None) -> str:
    """Which array of each thread's own is accessed, in local memory, at the line that causes most
    of what limits the kernel; empty where there is no such array.

    Such as ``Line 9 accesses each thread's own 'ring' in local memory: those of the 69,632 threads
    that run at a time take 25.5 MB, more than L2 holds (5.5 MB).``
    """
    line, own = _limiting(prepared, present)
    names = [*(array.name for array in own.movable), *own.refused]
    if not names:
        return ""
    said = f"Line {line} accesses each thread's own '{names[0]}' in local memory"
    return f"{said}{_size_in_words(own.movable[0], prepared) if own.movable else ''}."


def smaller_blocks_in_words(prepared: Prepared, present: Timed | None) -> str:
    """To ask again with smaller blocks, as a sentence that follows the verdict, where shared memory
    has room for the threads' own arrays that limit the kernel only then; else empty."""
    for array in _limiting(prepared, present)[1].movable:
        most = threads_that_fit(array, prepared)
        if most and too_large(array, prepared):
            return (
                f" Ask again with blocks of at most {most} threads: then each thread's "
                f"'{array.name}' fits shared memory."
            )
    return ""


def _limiting(prepared: Prepared, present: Timed | None) -> tuple[int, LocalArraysAt]:
    """The line that causes most of what limits the kernel, and the arrays in local memory that it
    accesses; 0 and none where it accesses no local memory."""
    prediction = None if present is None else present.prediction
    if prediction is None or not prediction.parts or not prediction.parts[0].lines:
        return 0, NONE
    line = int(prediction.parts[0].lines[0][0].rpartition(":")[2])
    sites = prepared.execution.sites
    in_local = any(site.space == "local" and site.source_line == line for site in sites)
    if prepared.case.language is not Language.CUDA or not in_local:
        return 0, NONE
    return line, local_arrays_at(prepared.case, {line})


def _size_in_words(array: LocalArray, prepared: Prepared) -> str:
    """By how much the threads' arrays exceed L2; empty where they do not."""
    launch, machine = prepared.case.launch, prepared.machine
    blocks = min(launch.blocks, machine.processor.sms * prepared.occupancy.blocks)
    threads = blocks * launch.threads_per_block
    taken, held = array.bytes * threads, None if machine.l2 is None else machine.l2.size_bytes
    if not held or taken <= held:
        return ""
    return (
        f": those of the {threads:,} threads that run at a time take {in_words(taken)}, "
        f"more than L2 holds ({in_words(held)})"
    )
