"""Forms tried by several processes at once: each is written, compiled, run and timed by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.forked_workers import Lost, answers, begun

T = TypeVar("T")
R = TypeVar("R")


def tried(
    tasks: Sequence[T], function: Callable[[T], R], prepared: Prepared, present: Timed | None
) -> Iterator[tuple[T, R]]:
    """What ``function`` returns for each of ``tasks``, by ``prepared.workers`` processes.

    The case, its arrays and ``present``, the time of the present form, are the same objects in all
    results. A task whose process ends early, as where memory runs out, is done here.
    """
    if prepared.workers < 2 or len(tasks) < 2:
        for task in tasks:
            yield task, function(task)
        return
    shared = _shared(prepared, present)
    with closing(answers(tasks, function, workers=prepared.workers, shared=shared)) as found:
        for task, answer in found:
            yield task, function(task) if isinstance(answer, Lost) else answer


@contextmanager
def meanwhile(
    function: Callable[[], R], prepared: Prepared, *, wanted: bool = True
) -> Iterator[Callable[[], R]]:
    """Yields a function that returns what ``function`` returns. If ``prepared.workers`` are several
    processes, one of them works on it while the context does something else; not so unless the
    answer is ``wanted``."""
    if prepared.workers < 2 or not wanted:
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
