"""Forms tried by several processes at once: each is written, compiled, run and timed by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.forked_workers import Lost, answers, begun

T = TypeVar("T")
R = TypeVar("R")
SLOW_S = 0.5
"""Work that takes less is not given to other processes: to begin them takes as long as they save,
and more processor time."""


def tried(
    tasks: Sequence[T], function: Callable[[T], R], prepared: Prepared, present: Timed | None
) -> Iterator[tuple[T, R]]:
    """What ``function`` returns for each of ``tasks``, by ``prepared.workers`` processes, or by
    this one where the tasks seem to take less than :data:`SLOW_S`.

    The case, its arrays and ``present``, the time of the present form, are the same objects in all
    results. A task whose process ends early, as where memory runs out, is done here.
    """
    here = prepared.workers < 2 or len(tasks) < 2
    if not here and prepared.seconds < SLOW_S:
        # The launch is small. Its first form tells how long the others will take.
        start = time.perf_counter()
        answer = function(tasks[0])
        here = (time.perf_counter() - start) * len(tasks) < SLOW_S
        yield tasks[0], answer
        tasks = tasks[1:]
    if here:
        for task in tasks:
            yield task, function(task)
        return
    shared = _shared(prepared, present)
    with closing(answers(tasks, function, workers=prepared.workers, shared=shared)) as found:
        for task, made in found:
            yield task, function(task) if isinstance(made, Lost) else made


@contextmanager
def meanwhile(
    function: Callable[[], R], prepared: Prepared, *, wanted: bool = True
) -> Iterator[Callable[[], R]]:
    """Yields a function that returns what ``function`` returns. If ``prepared.workers`` are several
    processes, one of them works on it while the context does something else; not so for small
    launches, and unless the answer is ``wanted``."""
    if prepared.workers < 2 or prepared.seconds < SLOW_S or not wanted:
        yield function
        return
    with begun(function, shared=_shared(prepared, None)) as answer:

        def result() -> R:
            found = answer()
            return function() if isinstance(found, Lost) else found

        yield result


def _shared(prepared: Prepared, present: Timed | None) -> list[Any]:
    """What forms share with the present one and with each other."""
    inputs = prepared.case.inputs
    arguments = [*inputs.arguments, *inputs.buffers]
    arrays = [getattr(a, "data", None) for a in arguments] + [data for _, data in inputs.constants]
    return [
        present,
        prepared.case,
        prepared.machine,
        inputs,
        *arguments,
        *(array for array in arrays if array is not None),
    ]
