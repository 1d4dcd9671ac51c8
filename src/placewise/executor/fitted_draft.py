"""A drafted case whose guesses are tried: it is run, and what turns out too small is enlarged."""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

from placewise.errors import ExecutionError, PlacewiseError, TooSmall
from placewise.executor.access_ends import AccessEnds
from placewise.executor.one_launch import execute
from placewise.executor.trace import TraceConsumer
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import case_from
from placewise.kernel.cases.drafts.drafted_case import DraftedArgument, DraftedKernel, draft_text
from placewise.kernel.cases.drafts.drafted_launch import SHARED_BYTES
from placewise.kernel.cases.drafts.typed_draft import typed_draft
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.kernel import Kernel
from placewise.progress import Progress, silent

_MOST_FACTORS, _MOST_SIZES, _MOST_TIMES = 4, 8, 64
"""How an array's number of elements is written as a product of sizes: most factors, most sizes that
are looked at, and the largest number beside them."""
_SLACK, _MOST_INEXACT = 16, 4
"""The part of a product by which accesses may end before or beyond it, and the largest number
beside the sizes of such a product."""
_MOST_FILLED = 3
"""Runs with random numbers in what the run before has loaded."""
MOST_RUNS = 24
"""Most runs of one kernel, each with something that was too small enlarged."""
MOST_ELEMENTS = 1 << 25
"""Most threads, or elements of an array, to start from where smaller sizes can be tried."""
LARGEST_BYTES = 1 << 28
"""Most bytes of one array that is enlarged."""
MOST_SHARED_BYTES = 96 << 10
"""Most dynamic shared memory that a kernel is given."""
SHARED_UNIT = 16
"""Dynamic shared memory is guessed in multiples of so many bytes, its alignment."""
LIMIT = 1 << 20
"""Instructions of a warp after which a drafted kernel counts as endless; that takes a few
seconds."""
SECONDS = 3.0
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
    names: list[str] = []

    def read(drafted: DraftedKernel) -> Case:
        return case_from(tomllib.loads(draft_text(drafted, source)), file)

    def named(drafted: DraftedKernel) -> Case:
        # Names are the same in every run: a source with large headers is parsed for them once.
        case = read(drafted)
        if not names:
            case = named_case(case)
            names.extend(argument.name for argument in case.inputs.arguments)
            return case
        renamed = zip(case.inputs.arguments, names, strict=True)
        arguments = tuple(replace(argument, name=name) for argument, name in renamed)
        return replace(case, inputs=replace(case.inputs, arguments=arguments))

    try:
        drafted = _small_enough(drafted)
        progress("reading the source", 0, 0)
        drafted = typed_draft(drafted, read(drafted))
        progress("compiling", 0, 0)
        kernel = compile_case(read(drafted))
        better: DraftedKernel | None = drafted
        for run in range(MOST_RUNS):
            if better is None:
                break
            progress("running with guessed inputs", run, MOST_RUNS)
            better = _small_enough(better)
            tried, case = better, named(better)
            try:
                _run(kernel, case)
                # As the program has it: neither guessed nor enlarged.
                told = tried.shared_bytes == drafted.shared_bytes != SHARED_BYTES
                return _finished(tried, kernel, case, named, keep_shared=told), None
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


def _small_enough(drafted: DraftedKernel) -> DraftedKernel:
    """``drafted`` with sizes that leave no array, and no launch, larger than needs be; as it is
    where it has none. Arrays that are too large even so are as long as without the program."""
    while drafted.elements > MOST_ELEMENTS or drafted.largest_bytes > LARGEST_BYTES:
        fewer = _with_fewer(drafted)
        if fewer is None:
            break
        drafted = fewer
    lengths = drafted.launch.lengths
    kept = {n: one for n, one in lengths.items() if one.bytes <= LARGEST_BYTES}
    if len(kept) == len(lengths):
        return drafted
    first = replace(drafted.launch, lengths=kept)
    return replace(drafted, launches=(first, *drafted.launches[1:]))


def _run(kernel: Kernel, case: Case, consumer: TraceConsumer | None = None) -> None:
    end = time.monotonic() + SECONDS

    def look(blocks: int, total: int) -> None:
        if blocks < total and time.monotonic() > end:
            raise _TooLongError

    execute(
        kernel,
        case.launch,
        case.inputs,
        consumer=consumer,
        instruction_limit=LIMIT,
        progress=look,
    )


def _finished(
    drafted: DraftedKernel,
    kernel: Kernel,
    case: Case,
    named: Callable[[DraftedKernel], Case],
    *,
    keep_shared: bool,
) -> DraftedKernel:
    """``drafted``, which runs as ``case``, with what a run of it tells; ``named`` makes a case of
    another draft. Unchanged where the traced run takes too long or fails. ``keep_shared``: its
    dynamic shared memory is no guess."""
    ends = _ends(kernel, case)
    if ends is None:
        return drafted
    # Zeros are what data hardly ever are: nothing to sort, no node to visit. But a kernel may need
    # them, for instance where they mean an empty place of a hash table.
    for _ in range(_MOST_FILLED):
        filled = _filled(drafted, case, ends.loaded)
        if draft_text(filled, "") == draft_text(drafted, ""):
            break
        full = named(filled)
        found = _ends(kernel, full)
        if found is None:
            break
        drafted, case, ends = filled, full, found
    unreached = (a.name for a in case.inputs.arrays if a.name not in ends.bytes)
    shared = drafted.shared_bytes
    if shared and not keep_shared and ends.shared_bytes is not None:
        # It decides how many blocks an SM holds.
        dynamic = max(0, ends.shared_bytes - kernel.static_shared_bytes)
        shared = min(shared, -(-dynamic // SHARED_UNIT) * SHARED_UNIT)
    trimmed = _trimmed(drafted, case, ends)
    return replace(trimmed, unreached=tuple(unreached), shared_bytes=shared)


def _filled(drafted: DraftedKernel, case: Case, loaded: Set[str]) -> DraftedKernel:
    """``drafted``, of ``case``, with random numbers in arrays that the kernel has ``loaded``, and
    indices that reach all of an array."""
    elements = {a.name: a.data.shape[0] for a in case.inputs.arrays}

    def filled(argument: DraftedArgument) -> DraftedArgument:
        ends = [elements[name] for name in argument.indexed if name in elements]
        return replace(
            argument,
            is_random=argument.is_random or argument.name in loaded,
            below=min(ends, default=0),
        )

    return replace(drafted, arguments=tuple(map(filled, drafted.arguments)))


def _ends(kernel: Kernel, case: Case) -> AccessEnds | None:
    """How far a traced run reaches into the arrays; None where it takes too long or fails."""
    ends = AccessEnds()
    try:
        _run(kernel, case, ends)
    except (_TooLongError, PlacewiseError):
        return None
    return ends


def _trimmed(drafted: DraftedKernel, case: Case, ends: AccessEnds) -> DraftedKernel:
    """``drafted`` with arrays that end where the kernel's accesses end, unless the program tells
    where: which memories can hold an array depends on its size."""
    arrays = {a.name: a.data for a in case.inputs.arrays}
    told = drafted.lengths

    def trimmed(argument: DraftedArgument) -> DraftedArgument:
        data, end = arrays.get(argument.name), ends.bytes.get(argument.name, 0)
        if data is None or not end or (argument.name in told and argument.times == 1):
            return argument
        elements = -(-end * data.shape[0] // data.nbytes)
        return replace(argument, shape=as_product(elements, drafted.values))

    return replace(drafted, arguments=tuple(map(trimmed, drafted.arguments)))


def as_product(count: int, sizes: Mapping[str, int]) -> str:
    """``count``, where accesses end, as a product of a few ``sizes``, if need be times a small
    number; else as it is. Accesses may end shortly before the array does, as those of a stencil do,
    or a few elements after a product."""
    names = [name for name, size in sizes.items() if size > 1]
    best: tuple[tuple[int, ...], str] | None = None
    for factors in range(1, _MOST_FACTORS + 1):
        for chosen in combinations_with_replacement(names[:_MOST_SIZES], factors):
            product = math.prod(sizes[name] for name in chosen)
            times = max(1, round(count / product))
            more = count - times * product
            if times > (_MOST_INEXACT if more else _MOST_TIMES) or abs(more) > product // _SLACK:
                continue
            # Exact ones first; then a size twice, of two that are equal, is the less likely one.
            rank = (abs(more) and 1, times, factors - len(set(chosen)), abs(more))
            text = " * ".join([*([str(times)] if times > 1 else []), *chosen])
            found = rank, f"{text} + {more}" if more > 0 else text
            if best is None or found[0] < best[0]:
                best = found
    return best[1] if best else str(count)


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
    if len(drafted.launches) < 2:
        return None
    arguments = tuple(replace(a, times=1) for a in drafted.arguments)
    return replace(drafted, launches=drafted.launches[1:], arguments=arguments)


def _power_of_two(least: float) -> int:
    return 1 << max(0, math.ceil(math.log2(least)))
