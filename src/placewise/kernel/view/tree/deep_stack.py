"""Calls libclang with a stack that deeply nested sources do not exhaust."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

_BYTES = 1 << 29
"""A sum of 30,000 terms takes some 20 MB; pages that are not used cost nothing."""
_lock = threading.Lock()
Result = TypeVar("Result")


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """What ``work`` returns or raises, called in a thread with a stack of 512 MB.

    libclang's recursion is as deep as a source is nested. An exhausted stack ends the process.
    """
    # Without this libclang parses in a thread of its own, whose stack has 8 MB.
    os.environ["LIBCLANG_NOTHREADS"] = "1"
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with _lock:
        before = threading.stack_size(_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
