"""The program's entry point. It imports almost nothing at the top, so that early on Ctrl-C can
simply end the process, without a traceback."""

from __future__ import annotations

# ``signal`` itself is slower to import, and Ctrl-C during that import would show a traceback.
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
        # Python code that runs while the interpreter ends could otherwise show a traceback.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)
