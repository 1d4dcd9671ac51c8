"""Ctrl-C while a kernel runs: told to who waits for the run, instead of raised wherever Python is.

Python raises KeyboardInterrupt between any two bytecodes of the main thread. In a finalizer or a
callback from compiled code it is printed and forgotten, and an endless kernel goes on.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupts_told(tell: Callable[[BaseException], None]) -> Iterator[None]:
    """Within, SIGINT calls ``tell`` with a KeyboardInterrupt, which is raised at the end unless
    something else is. Nothing changes in other threads than the main one, and where somebody has a
    handler of their own."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    told: list[BaseException] = []

    def handler(_number: int, _frame: object) -> None:
        told.append(KeyboardInterrupt())
        tell(told[-1])

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if told:
        raise told[0]
