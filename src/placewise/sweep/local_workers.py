"""Predictions of a sweep's tasks by worker processes on this computer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from placewise.forked_workers import Lost, answers
from placewise.sweep.store import Outcome

T = TypeVar("T")


def outcomes_here(
    tasks: Sequence[T],
    predict: Callable[[T], Outcome],
    *,
    workers: int,
    time_limit: float | None = None,
) -> Iterator[tuple[T, Outcome]]:
    """Outcomes of ``tasks`` in the order in which they are made, by up to ``workers`` processes.

    A process whose task takes more than ``time_limit`` seconds is killed; the outcome says so. All
    processes end when the iterator is closed.
    """
    with closing(answers(tasks, predict, workers=workers, time_limit=time_limit)) as made:
        for task, answer in made:
            yield task, _outcome(answer)


def _outcome(answer: Outcome | Lost) -> Outcome:
    if isinstance(answer, Lost):
        return Outcome(error=answer.why, seconds=answer.seconds)
    return answer
