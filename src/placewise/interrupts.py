"""Ctrl-C: answered within seconds whatever runs, and passed on to code that waits for a kernel.

Python raises KeyboardInterrupt between two bytecodes of the main thread. It waits as long as a
library call takes (a compiler may take minutes), and in a finalizer or a callback from compiled
code the exception is printed and forgotten.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

STATUS = 130
"""Exit status after Ctrl-C, as shells have it."""
_NOT_ANSWERED_S = 1.0
"""Seconds after Ctrl-C from which on a library call is taken to keep Python from answering."""
_NOT_ENDED_S = 6.0
"""Seconds after Python has answered Ctrl-C at which the process ends, even if it still cleans
up."""
_AGAIN_S = 0.02
"""Seconds after which Ctrl-C is raised again."""
_answered = threading.Event()


def raise_soon() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt, and the process ends soon after.

    A thread ends the process if the exception is not raised within a second, or if the process
    still runs seconds later. Does nothing if Ctrl-C is ignored or another handler is installed.
    """
    if not _is_main() or signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # Written to by Python's own handler in C, which runs whatever the main thread does.
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    signal.signal(signal.SIGINT, _raise)
    sys.unraisablehook = _raise_again


@contextlib.contextmanager
def interrupts_told(tell: Callable[[BaseException], None]) -> Iterator[None]:
    """Within the block, SIGINT calls ``tell`` with a KeyboardInterrupt.
    It is raised at the end of the block, unless another exception is. Nothing changes in threads
    other than the main one, or if another handler is installed.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _is_main() or before not in (signal.default_int_handler, _raise):
        yield
        return
    told: list[BaseException] = []

    def handler(_number: int, _frame: FrameType | None) -> None:
        _answered.set()
        told.append(KeyboardInterrupt())
        tell(told[-1])

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if told:
        raise told[0]


def _raise(_number: int, _frame: FrameType | None) -> None:
    _answered.set()
    raise KeyboardInterrupt


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise a KeyboardInterrupt again that a finalizer or the like could not pass on."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    # A little later, since what is raised in here would be lost, too.
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(_AGAIN_S, signal.pthread_kill, (main, signal.SIGINT)).start()


def _watch(reader: int) -> None:
    while os.read(reader, 1)[0] != signal.SIGINT:
        pass
    if _answered.wait(_NOT_ANSWERED_S):
        time.sleep(_NOT_ENDED_S)
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(STATUS)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
