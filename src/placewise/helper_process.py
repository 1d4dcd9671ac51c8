"""For processes that work for a parent: they end when it ends, and leave Ctrl-C to it."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl
"""Looked up at import, because a process that is forked from one with threads must do as little as
possible."""


def serve_parent() -> None:
    """Have the kernel end this process when its parent ends; do not answer Ctrl-C.

    Called in the new process, which the parent's main thread must have started: Linux sends the
    signal when the thread that started a process ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """Have the kernel end this process when the thread that started it ends.
    It can also be the ``preexec_fn`` of a program that one thread starts and waits for.
    """
    before = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != before:
        os._exit(1)
