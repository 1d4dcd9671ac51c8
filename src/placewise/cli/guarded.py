"""Runs the command line. Any error ends in one message and an exit status."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TextIO

from placewise import interrupts
from placewise.errors import PlacewiseError

OUTPUT_LOST = 1
"""Exit status where standard output cannot be written."""
BAD_INPUT = 2
"""Exit status for bad input."""
OWN_FAULT = 3
"""Exit status for errors in Placewise itself."""
SHOW_TRACEBACK = "PLACEWISE_TRACEBACK"
"""Environment variable; if it is set, errors in Placewise itself show their traceback."""
_OUTPUT_ENDS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF)
"""Errors that mean that standard output cannot be written: no space, not open for writing, or
(EPIPE) the reader has stopped, which needs no message."""
_PACKAGE = Path(__file__).parent.parent


def run_command_line() -> int:
    """Run the command that ``sys.argv`` gives; on any error, print one message.

    Returns the exit status: 2 for bad input, 1 if standard output cannot be written, 130 after
    Ctrl-C, 3 for an error in Placewise itself; otherwise the status that the command ends with.
    """
    for stream in (sys.stdout, sys.stderr):
        # Characters that the encoding does not have are shown as "?".
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        from placewise.cli.main import app

        interrupts.raise_soon()
        try:
            app()
        finally:
            # Flush now: an error while the interpreter ends could not be reported.
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit as end:
        # Typer turns an interrupt into this status and prints nothing.
        if end.code == interrupts.STATUS:
            _say("interrupted")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        _say("interrupted")
        return interrupts.STATUS
    except BaseException as error:
        if isinstance(error, OSError) and _is_output_lost(error):
            _discard(sys.stdout)
            if not isinstance(error, BrokenPipeError):
                _say(f"error: standard output cannot be written: {error.strerror}")
            return OUTPUT_LOST
        if isinstance(error, Exception) and (told := told_by(error)) is not None:
            _say(f"error: {told}")
            return BAD_INPUT
        _say(f"error: {_own_fault(error)}")
        if os.environ.get(SHOW_TRACEBACK):
            _say("".join(traceback.format_exception(error)))
        return OWN_FAULT
    return 0


def told_by(error: Exception) -> str | None:
    """The message for an error that is not an error in Placewise itself; None if it is one."""
    match error:
        case PlacewiseError():
            return str(error)
        case MemoryError():
            return (
                "this computer does not have enough memory\n"
                "  hint: give a smaller grid, smaller arrays or a shorter source"
            )
        case RecursionError():
            return (
                "the input is nested too deeply\n"
                "  hint: split long expressions, chains of else if, or nested lists"
            )
        case OSError() if error.filename is not None:
            name = os.fsdecode(error.filename) if not isinstance(error.filename, int) else ""
            return f"{name}: {error.strerror or error}"
        # Python 3.13 may raise SystemError in place of OSError when it imports an extension module.
        case OSError() | SystemError() if not _folder_exists():
            return "the working folder no longer exists\n  hint: change to one that does"
        case _:
            return None


def _own_fault(error: BaseException) -> str:
    """The message for an error in Placewise itself."""
    place = _place(error.__traceback__)
    what = " ".join(str(error).split())[:300]
    return (
        f"Placewise failed{place}: {type(error).__name__}{': ' if what else ''}{what}\n"
        f"  hint: please report this, with the input; {SHOW_TRACEBACK}=1 shows more"
    )


def _place(trace: TracebackType | None) -> str:
    """The last line of Placewise's code in a traceback, as `` at FILE:LINE``; empty where there is
    none."""
    for frame in reversed(traceback.extract_tb(trace)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f" at {path.relative_to(_PACKAGE)}:{frame.lineno}"
    return ""


def _is_output_lost(error: OSError) -> bool:
    return error.errno in _OUTPUT_ENDS and error.filename is None


def _folder_exists() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return False
    return True


def _discard(stream: TextIO | None) -> None:
    """Discard output that is still in the buffer, since flushing it at the interpreter's end would
    fail again."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(text: str) -> None:
    """Print ``text`` on standard error, in red up to its colon on a terminal."""
    if sys.stderr is None:
        return
    start, colon, rest = text.partition(":")
    if colon and sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        start, colon = f"\033[1;31m{start}", ":\033[0m"
    try:
        print(f"{start}{colon}{rest}", file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)
