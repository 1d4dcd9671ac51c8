"""Runs the tasks of a sweep on the workers of an existing Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from placewise.errors import PlacewiseError, UnsupportedError
from placewise.sweep.plan import Task
from placewise.sweep.store import Outcome

LEAST_CHUNK_S = 0.05
"""Least work, in seconds, that is sent in one message. Dask's own cost of a task is a few
hundredths of it at most (Dask's best practices, "Avoid very large graphs": 1 ms for each task)."""
_CHUNK_S = 4 * LEAST_CHUNK_S
"""Work per message, in seconds, that is aimed at."""
_CONNECT_S = 20
_one_at_a_time = threading.Lock()
"""Lock of a worker process, which may have several threads, since compiler and simulator have one
state per process."""


def outcomes_by_dask(
    tasks: Sequence[Task], predict: Callable[[Task], Outcome], *, address: str
) -> Iterator[tuple[Task, Outcome]]:
    """Outcomes of ``tasks`` in the order in which the cluster with the scheduler at ``address``
    makes them.

    Tasks are sent in chunks of at least 50 ms of work, estimated from the times of earlier tasks.
    The workers must see the case's files under the same paths. Raises UnsupportedError where Dask
    is not installed, PlacewiseError where there is no scheduler or it has no workers.
    """
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise UnsupportedError(
            "Dask is not installed", where="--dask", hint="pip install 'placewise[dask]'"
        ) from None
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PlacewiseError(
            f"no Dask scheduler answers: {' '.join(str(error).split())[:200]}",
            where=f"--dask {address}",
            hint="give its address, such as tcp://login1:8786",
        ) from error
    with client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise PlacewiseError("the Dask cluster has no workers", where=f"--dask {address}")
        chunks = _Chunks(tasks)
        running: dict[Any, tuple[Task, ...]] = {}

        def submit() -> Any:
            chunk = chunks.next()
            future = client.submit(_run_chunk, predict, chunk, pure=False)
            running[future] = chunk
            return future

        first = [submit() for _ in range(2 * workers) if chunks.left]
        done = as_completed(first, loop=client.loop)
        for future in done:
            chunk = running.pop(future)
            outcomes = _outcomes(future, chunk)
            chunks.learn(outcomes)
            if chunks.left:
                done.add(submit())
            yield from zip(chunk, outcomes, strict=True)


class _Chunks:
    """Groups tasks into chunks of about :data:`_CHUNK_S` seconds of work."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.left = list(tasks)
        self._seconds = 0.0
        self._done = 0

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        self._seconds += sum(outcome.seconds for outcome in outcomes)
        self._done += len(outcomes)

    def next(self) -> tuple[Task, ...]:
        """The next chunk; a single task as long as no time is known."""
        each = self._seconds / self._done if self._done else _CHUNK_S
        size = max(1, round(_CHUNK_S / max(each, 1e-6)))
        chunk, self.left = tuple(self.left[:size]), self.left[size:]
        return chunk


def _run_chunk(predict: Callable[[Task], Outcome], chunk: tuple[Task, ...]) -> list[Outcome]:
    with _one_at_a_time:
        return [predict(task) for task in chunk]


def _outcomes(future: Any, chunk: tuple[Task, ...]) -> list[Outcome]:
    """Outcomes of a chunk; an error for all its tasks where the worker was lost."""
    try:
        received: list[Outcome] = future.result()
        return received
    except Exception as error:
        what = " ".join(str(error).split())[:300]
        return [Outcome(error=f"lost on the cluster: {what}") for _ in chunk]
