"""The program's entry point. Imports next to nothing at the top, so that Ctrl-C ends the process
without a word until there is something to put in order."""

from __future__ import annotations

# The module that signal gives names to, there at once: also this import can be interrupted.
import _signal as signal  # type: ignore[import-not-found]
import sys


def main() -> None:
    """Run the command line and exit, see :func:`placewise.cli.guarded.run_command_line`."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from placewise.cli.guarded import run_command_line

    status = run_command_line()
    if ours:
        # The interpreter's end runs Python code too, and would show a traceback.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)
