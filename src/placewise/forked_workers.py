"""Worker processes on this computer that do tasks, each one task at a time.

Each answer is passed on as soon as it is made, so that no finished work is lost when the whole is
interrupted. A process that dies loses only its one known task, and is replaced.
"""

from __future__ import annotations

import io
import itertools
import multiprocessing
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from placewise.helper_process import serve_parent

T = TypeVar("T")
R = TypeVar("R")
_CONTEXT = multiprocessing.get_context("fork")
_DIED = (
    "the process that made the prediction was killed\n"
    "  hint: the usual reason is lack of memory: give smaller arrays or fewer --workers"
)


@dataclass(frozen=True)
class Lost:
    """A task without an answer."""

    why: str
    seconds: float
    """Seconds that its process worked on it."""


def answers(
    tasks: Sequence[T],
    function: Callable[[T], R],
    *,
    workers: int,
    time_limit: float | None = None,
    shared: Sequence[Any] = (),
) -> Generator[tuple[T, R | Lost], None, None]:
    """What ``function`` returns for each of ``tasks``, in the order in which up to ``workers``
    processes find it.

    ``function`` may be any function, as processes are forked; tasks, none of which may be None, and
    answers are sent to and from them. Where an answer contains one of the objects ``shared``, it
    contains the very same object here, not a copy.

    A process whose task takes more than ``time_limit`` seconds is killed. Its task is lost, as is
    that of a process that dies or whose function raises an exception. All processes end when the
    iterator is closed.
    """
    left = Shares(tasks, workers)
    staff = [_Worker(n, function, shared) for n in range(min(workers, len(tasks)))]
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
                answer = worker.answer(time_limit)
                yield task, answer
                worker.give(left.next_for(worker.number))
    finally:
        for worker in staff:
            worker.end()


@contextmanager
def begun(
    function: Callable[[], R], *, shared: Sequence[Any] = ()
) -> Generator[Callable[[], R | Lost], None, None]:
    """Begin ``function`` in a process of its own; yields a function that waits for its answer.

    Objects ``shared`` are treated as by :func:`answers`. The process ends with the context.
    """
    worker: _Worker[bool, R] = _Worker(0, lambda _: function(), shared)

    def answer() -> R | Lost:
        wait([worker.connection])
        return worker.answer(None)

    try:
        worker.give(True)
        yield answer
    finally:
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


class _Worker(Generic[T, R]):
    """One process and the task that it works on."""

    def __init__(self, number: int, function: Callable[[T], R], shared: Sequence[Any]) -> None:
        self.number = number
        self._function = function
        self._shared = shared
        self.task: T | None = None
        self._since = 0.0
        self._start()

    def _start(self) -> None:
        self.connection, other = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_work,
            args=(other, self._function, self._shared),
            name="placewise-worker",
            daemon=True,
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

    def answer(self, limit: float | None) -> R | Lost:
        """The task's answer. A process that died or is late is replaced."""
        seconds = time.monotonic() - self._since
        if self.connection.poll():
            try:
                received: R = _Unpickler(self.connection.recv_bytes(), self._shared).load()
                return received
            except EOFError:
                why = _DIED
        else:
            why = f"took more than {limit:g} s"
        self.end()
        self._start()
        return Lost(why, seconds)

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()


class _Pickler(pickle.Pickler):
    """Writes the place of a shared object instead of the object."""

    def __init__(self, file: io.BytesIO, shared: Sequence[Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._place = {id(one): n for n, one in enumerate(shared)}

    def persistent_id(self, given: Any) -> int | None:
        return self._place.get(id(given))


class _Unpickler(pickle.Unpickler):
    """Reads what :class:`_Pickler` of this computer's own worker wrote."""

    def __init__(self, data: bytes, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._shared = shared

    def persistent_load(self, place: Any) -> Any:
        return self._shared[place]


def _pickled(answer: Any, shared: Sequence[Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, shared).dump(answer)
    return file.getvalue()


def _work(
    connection: Connection[Any, Any], function: Callable[[Any], Any], shared: Sequence[Any]
) -> None:
    serve_parent()
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        start = time.monotonic()
        try:
            answer = _pickled(function(task), shared)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            answer = _pickled(Lost(why, time.monotonic() - start), shared)
        try:
            connection.send_bytes(answer)
        except OSError:
            return
