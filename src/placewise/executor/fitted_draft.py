"""A drafted case whose guesses are tried: it is run, and what turns out too small is enlarged."""

from __future__ import annotations

import math
import time
import tomllib
from dataclasses import replace
from pathlib import Path

from placewise.errors import ExecutionError, PlacewiseError, TooSmall
from placewise.executor.one_launch import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import case_from
from placewise.kernel.cases.drafted_case import DraftedKernel, draft_text
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.cases.typed_draft import typed_draft
from placewise.kernel.kernel import Kernel
from placewise.progress import Progress, silent

MOST_RUNS = 16
"""Most runs of one kernel, each with something that was too small enlarged."""
LARGEST_BYTES = 1 << 28
"""Most bytes of one array that is enlarged."""
MOST_SHARED_BYTES = 96 << 10
"""Most dynamic shared memory that a kernel is given."""
FEW = (64, 8)
"""What the sizes are, one after the other, where a kernel does not end, or needs too much memory,
with larger ones."""
LIMIT = 1 << 20
"""Instructions of a warp after which a drafted kernel counts as endless; that takes a few
seconds."""
SECONDS = 10.0
"""A launch that takes longer is tried with smaller sizes, so that advice on it will not take
minutes."""


class _TooLongError(Exception):
    pass


def fitted_draft(
    drafted: DraftedKernel, source: str, file: Path, progress: Progress = silent
) -> tuple[DraftedKernel, PlacewiseError | None]:
    """``drafted`` with types, arrays, shared memory and sizes with which the kernel runs, and what
    still stops it, if anything does. Where nothing helps, only types are changed.

    ``file`` is where its case file will be, and ``source`` the path of the kernel's source from
    there. Nothing is written.
    """

    def read(drafted: DraftedKernel) -> Case:
        return case_from(tomllib.loads(draft_text(drafted, source)), file)

    try:
        drafted = typed_draft(drafted, read(drafted))
        kernel = compile_case(read(drafted))
        better: DraftedKernel | None = drafted
        for run in range(MOST_RUNS):
            if better is None:
                break
            progress("running with guessed inputs", run, MOST_RUNS)
            tried, case = better, named_case(read(better))
            try:
                _run(kernel, case)
                return tried, None
            except _TooLongError:
                better = _with_fewer(tried)
                if better is None:
                    return tried, None
            except ExecutionError as error:
                stopped = error
                better = _enlarged(tried, case, error.too_small) if error.too_small else None
                better = better or _with_fewer(tried)
        return drafted, stopped
    except PlacewiseError as error:
        return drafted, error


def _run(kernel: Kernel, case: Case) -> None:
    end = time.monotonic() + SECONDS

    def look(blocks: int, total: int) -> None:
        if blocks < total and time.monotonic() > end:
            raise _TooLongError

    execute(kernel, case.launch, case.inputs, instruction_limit=LIMIT, progress=look)


def _enlarged(drafted: DraftedKernel, case: Case, small: TooSmall) -> DraftedKernel | None:
    """``drafted`` with more of what was too small; None where it would be too much."""
    if not small.array:
        given = _power_of_two(small.bytes)
        return replace(drafted, shared_bytes=given) if given <= MOST_SHARED_BYTES else None
    have = next((a.data.nbytes for a in case.inputs.arrays if a.name == small.array), 0)
    if not have:
        return None
    more = _power_of_two(small.bytes / have)
    if have * more > LARGEST_BYTES:
        return None
    return replace(
        drafted,
        arguments=tuple(
            replace(a, times=a.times * more) if a.name == small.array else a
            for a in drafted.arguments
        ),
    )


def _with_fewer(drafted: DraftedKernel) -> DraftedKernel | None:
    """``drafted`` with smaller sizes, since the kernel may loop over them, and arrays as at first;
    None where it has none or they are small."""
    fewer = next((count for count in FEW if count < drafted.size), None)
    if not drafted.sizes or fewer is None:
        return None
    arguments = tuple(replace(a, times=1) for a in drafted.arguments)
    return replace(drafted, count=fewer, arguments=arguments)


def _power_of_two(least: float) -> int:
    return 1 << max(0, math.ceil(math.log2(least)))
