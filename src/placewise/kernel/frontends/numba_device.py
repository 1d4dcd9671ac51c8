"""Numba's question for the current device, answered without a driver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Device:
    """All that Numba asks of a device in order to compile for it."""

    compute_capability: tuple[int, int]


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """Inside, this thread compiles device functions for ``capability``, such as ``(8, 0)``.

    ``numba.cuda.compile`` takes the capability as an argument, but the functions that a kernel
    calls are compiled for the device that the driver names. Numba keeps them in the form before
    NVVM, which is the same for all capabilities from 7.5 on, so a function that was compiled for
    one serves the others. No other thread compiles meanwhile, and none sees this answer.
    """
    from numba.cuda import dispatcher

    asked, own = dispatcher.get_current_device, threading.get_ident()

    def current_device() -> Any:
        return _Device(capability) if threading.get_ident() == own else asked()

    with dispatcher.global_compiler_lock:
        dispatcher.get_current_device = current_device
        try:
            yield
        finally:
            dispatcher.get_current_device = asked
