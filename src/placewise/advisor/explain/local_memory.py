"""What the threads' own arrays in local memory have to do with a kernel's time, in words."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.advisor.forms.own.local_forms import threads_that_fit, too_large
from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.choose import in_words
from placewise.kernel.cases.case import Language
from placewise.kernel.view.local_arrays import LocalArray, LocalArraysAt, local_arrays_at


@dataclass(frozen=True)
class Limiting:
    """The threads' own arrays in local memory that are accessed where most of what limits a kernel
    comes from."""

    line: int
    """Line of the source; 0 where there are no such arrays."""
    arrays: LocalArraysAt


NOTHING = Limiting(0, LocalArraysAt((), {}))


def limiting_arrays(prepared: Prepared, present: Timed | None) -> Limiting:
    """The arrays in local memory at the line that causes most of what limits the kernel.

    None where arithmetic limits it, and where registers are spilled: their accesses cannot be told
    from those of arrays.
    """
    prediction = None if present is None else present.prediction
    if prediction is None or not prediction.parts or prepared.kernel.spills_registers:
        return NOTHING
    limit = prediction.parts[0]
    if not limit.lines or limit.path == "issue" or limit.path.endswith(" pipe"):
        return NOTHING
    file, _, number = limit.lines[0][0].rpartition(":")
    place = file, int(number)
    sites = [site for site in prepared.execution.sites if site.space == "local"]
    in_local = any((site.source_file, site.source_line) == place for site in sites)
    if prepared.case.language is not Language.CUDA or not in_local:
        return NOTHING
    return Limiting(place[1], local_arrays_at(prepared.case, {place[1]}))


def local_in_words(limiting: Limiting, prepared: Prepared) -> str:
    """Which array limits the kernel, as a sentence; empty where none does.

    Such as ``Line 9 accesses each thread's own 'ring' in local memory: those of the 69,632 threads
    that run at a time take 25.5 MB, more than L2 holds (5.5 MB).``
    """
    arrays = limiting.arrays
    names = [*(array.name for array in arrays.movable), *arrays.refused]
    if not names:
        return ""
    said = f"Line {limiting.line} accesses each thread's own '{names[0]}' in local memory"
    return f"{said}{_sizes_in_words(arrays.movable[0], prepared) if arrays.movable else ''}."


def smaller_blocks_in_words(limiting: Limiting, prepared: Prepared) -> str:
    """To ask again with smaller blocks, as a sentence that follows the verdict, where the array
    that limits the kernel fits shared memory only with smaller blocks; else empty."""
    for array in limiting.arrays.movable:
        if too_large(array, prepared) and (most := threads_that_fit(array, prepared)):
            return (
                f" Ask again with blocks of at most {most} threads: then each thread's "
                f"'{array.name}' fits shared memory."
            )
    return ""


def _sizes_in_words(array: LocalArray, prepared: Prepared) -> str:
    """The size of all threads' arrays and that of L2; empty where L2 is larger."""
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
