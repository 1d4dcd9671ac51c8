"""Worker processes on this computer that do the tasks of a sweep, each one task at a time.

Each outcome is passed on as soon as it is made, so that no finished work is lost when the sweep is
interrupted. A process that dies loses only its one known task, and is replaced.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from placewise.helper_process import serve_parent
from placewise.sweep.store import Outcome

T = TypeVar("T")
_CONTEXT = multiprocessing.get_context("fork")
_DIED = (
    "the process that made the prediction was killed\n"
    "  hint: the usual reason is lack of memory: give smaller arrays or fewer --workers"
)


def outcomes_here(
    tasks: Sequence[T],
    predict: Callable[[T], Outcome],
    *,
    workers: int,
    time_limit: float | None = None,
) -> Iterator[tuple[T, Outcome]]:
    """Outcomes of ``tasks`` in the order in which they are made, by up to ``workers`` processes.

    ``predict`` may be any function, as processes are forked; tasks and outcomes are sent to and
    from them.

    A process whose task takes more than ``time_limit`` seconds is killed; the outcome says so. All
    processes end when the iterator is closed.
    """
    left = Shares(tasks, workers)
    staff = [_Worker(number, predict) for number in range(min(workers, len(tasks)))]
    try:
        for worker in staff:
            worker.give(left.next_for(worker.number))
        while busy := [w for w in staff if w.task is not None]:
            rest = [w.left(time_limit) for w in busy] if time_limit is not None else [None]
            ready = wait([w.connection for w in busy], min(rest, key=lambda r: r or 0.0))
            for worker in busy:
                if worker.connection not in ready and not worker.is_late(time_limit):
                    continue
                task = worker.task
                assert task is not None
                outcome = worker.outcome(time_limit)
                yield task, outcome
                worker.give(left.next_for(worker.number))
    finally:
        for worker in staff:
            worker.end()


class Shares(Generic[T]):
    """Divides tasks among workers. Each worker does neighbouring tasks, which share compiled
    kernels; one that is done takes over the second half of the largest remaining share."""

    def __init__(self, tasks: Sequence[T], workers: int) -> None:
        cuts = [len(tasks) * n // workers for n in range(workers + 1)]
        self._shares = [list(tasks[a:b]) for a, b in itertools.pairwise(cuts)]

    def next_for(self, worker: int) -> T | None:
        own = self._shares[worker]
        if not own:
            most = max(self._shares, key=len)
            half = len(most) // 2
            own[:], most[:] = most[half:], most[:half]
        return own.pop(0) if own else None


class _Worker(Generic[T]):
    """One process and the task that it works on."""

    def __init__(self, number: int, predict: Callable[[T], Outcome]) -> None:
        self.number = number
        self._predict = predict
        self.task: T | None = None
        self._since = 0.0
        self._start()

    def _start(self) -> None:
        self.connection, other = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_work, args=(other, self._predict), name="placewise-sweep", daemon=True
        )
        self._process.start()
        other.close()

    def give(self, task: T | None) -> None:
        """Give ``task`` to the process; None tells it to end."""
        self.task, self._since = task, time.monotonic()
        if task is not None:
            self.connection.send(task)

    def left(self, limit: float) -> float:
        """Seconds until the task exceeds ``limit``."""
        return max(0.0, self._since + limit - time.monotonic())

    def is_late(self, limit: float | None) -> bool:
        """Whether the task has taken longer than ``limit``."""
        return limit is not None and self.left(limit) == 0.0

    def outcome(self, limit: float | None) -> Outcome:
        """The task's outcome. A process that died or is late is replaced."""
        seconds = time.monotonic() - self._since
        if self.connection.poll():
            try:
                received: Outcome = self.connection.recv()
                return received
            except EOFError:
                why = _DIED
        else:
            why = f"took more than {limit:g} s"
        self.end()
        self._start()
        return Outcome(error=why, seconds=seconds)

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _work(connection: Connection[Any, Any], predict: Callable[[T], Outcome]) -> None:
    serve_parent()
    while True:
        try:
            task = connection.recv()
            connection.send(predict(task))
        except (EOFError, OSError):
            return
