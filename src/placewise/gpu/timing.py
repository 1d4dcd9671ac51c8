"""Times of a kernel's launches on a GPU, from events around each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from placewise.errors import CaseError
from placewise.gpu.device import Device, Scope
from placewise.gpu.record import L2State, Timing

_BATCH = 50
"""Launches after which the host waits: few enough to be queued while the GPU is kept busy."""
_AHEAD_BYTES = 1 << 28
_AHEAD_TIMES = 16
"""Memory is overwritten this often before a batch, which takes an H200 (4.8 TB/s) about 1 ms: the
host queues the batch meanwhile. Without this head start a launch of a few microseconds would be
over before the next one is queued, and the time between its events would be the host's."""


@dataclass(frozen=True)
class Options:
    """How often and in which state of the L2 cache to time."""

    warmup: int = 3
    """Launches before the timed ones, for each state of L2."""
    repeats: int = 20
    l2: tuple[L2State, ...] = ("warm", "flushed")
    state_limit_s: float = 2.0
    """Long kernels are repeated less often, so that the launches of one state stay below this."""
    time_limit_s: float | None = None
    """No further placement is begun after this time."""

    def __post_init__(self) -> None:
        if self.warmup < 0 or self.repeats < 1:
            raise CaseError("needs at least one repeat and no negative warm-up", where="measure")


def time_launches(
    scope: Scope,
    launch: Callable[[], None],
    restore: Callable[[], None],
    state: L2State,
    options: Options,
) -> Timing:
    """Times of launches with L2 in ``state``. ``launch`` queues one; ``restore`` queues what makes
    its inputs what they were. Nothing is waited for in between, so that the GPU never waits for the
    host. Raises DeviceError."""
    device = scope.device
    repeats = _affordable(scope, launch, restore, options)
    flush_bytes = 2 * device.attribute("L2_CACHE_SIZE") if state == "flushed" else 0
    flushed = scope.allocate(flush_bytes) if flush_bytes else None
    ahead = scope.allocate(_AHEAD_BYTES)
    pairs = [(scope.event(), scope.event()) for _ in range(repeats)]
    for first in range(0, repeats, _BATCH):
        for _ in range(_AHEAD_TIMES):
            device.call("cuMemsetD32Async", ahead, 0, _AHEAD_BYTES // 4, device.stream)
        batch = pairs[first : first + _BATCH]
        for count in range(-options.warmup, len(batch)):
            restore()
            if flushed is not None:
                device.call("cuMemsetD8Async", flushed, count & 0xFF, flush_bytes, device.stream)
            if count < 0:
                launch()
            else:
                _bracketed(device, launch, *batch[count])
        device.wait()
    times = tuple(float(device.call("cuEventElapsedTime", *pair)) for pair in pairs)
    low, median, high = (float(q) for q in np.percentile(times, (25, 50, 75)))
    return Timing(state, times, median, (low, high))


def _affordable(
    scope: Scope, launch: Callable[[], None], restore: Callable[[], None], options: Options
) -> int:
    """Repeats within the limit of one state, by the time of one launch; at least one."""
    begin, end = scope.event(), scope.event()
    restore()
    _bracketed(scope.device, launch, begin, end)
    scope.device.wait()
    once_ms = float(scope.device.call("cuEventElapsedTime", begin, end))
    if once_ms <= 0:
        return options.repeats
    return max(1, min(options.repeats, int(1000 * options.state_limit_s / once_ms)))


def _bracketed(device: Device, launch: Callable[[], None], begin: Any, end: Any) -> None:
    device.call("cuEventRecord", begin, device.stream)
    launch()
    device.call("cuEventRecord", end, device.stream)
