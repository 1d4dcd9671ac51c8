"""The program's entry point. It imports almost nothing at the top, so that early on Ctrl-C can
simply end the process, without a traceback."""

from __future__ import annotations

# ``signal`` itself is slower to import, and Ctrl-C during that import would show a traceback.
import _signal as signal  # type: ignore[import-not-found]
import atexit
import gc
import os
import sys

NEW_OBJECTS = 50_000
"""Python looks for unreachable objects whenever so many new ones are there. With its own default
of 700 that takes a tenth of a short command's time, most of it for what imports have made."""


def script() -> None:
    """The command ``placewise``: like :func:`main`, but the process ends at once."""
    gc.set_threshold(NEW_OBJECTS)
    _leave(_status())


def main() -> None:
    """Run the command line and exit, see :func:`placewise.cli.guarded.run_command_line`."""
    sys.exit(_status())


def _status() -> int:
    """Run the command line; returns the exit status."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from placewise.cli.guarded import run_command_line

    status = run_command_line()
    if ours:
        # Python code that runs while the interpreter ends could otherwise show a traceback.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return status


def _leave(status: int) -> None:
    """End the process like ``sys.exit``, after its threads and exit functions, but leave its memory
    to the operating system: to free its objects one by one takes up to a fifth of a second."""
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            # Nobody reads it, or it is closed.
            pass
    os._exit(status)
