"""Threads that wait for work, since starting one takes longer than a small launch."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

Task = Callable[[], None]

_idle: list[queue.SimpleQueue[Task]] = []
"""Where the threads that have nothing to do take their next task from."""
# A child process inherits the list, but not the threads.
os.register_at_fork(after_in_child=_idle.clear)


def start(task: Task) -> None:
    """Run ``task``, which must not raise, in a thread that does not keep the process alive."""
    try:
        tasks = _idle.pop()
    except IndexError:
        tasks = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(tasks,), daemon=True).start()
    tasks.put(task)


def _serve(tasks: queue.SimpleQueue[Task]) -> None:
    while True:
        tasks.get()()
        _idle.append(tasks)
