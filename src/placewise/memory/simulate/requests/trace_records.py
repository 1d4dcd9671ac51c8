"""Converts a trace chunk to records like those of the executor's compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import TRACE_RECORD, TRACE_RUN, WINDOW_SHIFT
from placewise.executor.trace import TraceChunk


def records_of(chunk: TraceChunk) -> tuple[NDArray[Any], NDArray[Any]]:
    """TRACE_RECORD of each access, and TRACE_RUN of each stretch of accesses by one warp in one
    phase. The address window of array ``a`` is ``a + 1``; that of accesses to no array is 0."""
    records = np.empty(len(chunk), TRACE_RECORD)
    for name in ("site", "stride", "row", "mask"):
        records[name] = getattr(chunk, name)
    window = np.asarray(chunk.array, np.int64) + 1 << WINDOW_SHIFT
    records["base"] = window + chunk.base
    records["upper"] = window + chunk.upper
    who = np.stack([chunk.block, chunk.warp, chunk.phase], axis=1)
    first = np.flatnonzero(np.r_[len(who) > 0, (who[1:] != who[:-1]).any(axis=1)])
    runs = np.empty(len(first), TRACE_RUN)
    runs["first"] = first
    for n, name in enumerate(("block", "warp", "phase")):
        runs[name] = who[first, n]
    return records, runs
