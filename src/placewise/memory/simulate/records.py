"""A trace chunk as the records it is a view of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.execute.layout import TRACE_RECORD
from placewise.execute.trace import TraceChunk


def records_of(chunk: TraceChunk) -> NDArray[Any]:
    """(n,) :data:`TRACE_RECORD`: the executor's own buffer where the columns are views of one,
    else a copy."""
    first = chunk.base
    whole = first.base
    if isinstance(whole, np.ndarray) and whole.dtype == TRACE_RECORD and whole.ndim == 1:
        start = (first.ctypes.data - whole.ctypes.data) // TRACE_RECORD.itemsize
        if 0 <= start <= len(whole) - len(chunk):
            records = whole[start : start + len(chunk)]
            if all(_same(records[n], getattr(chunk, n)) for n in TRACE_RECORD.names or ()):
                return records
    records = np.empty(len(chunk), TRACE_RECORD)
    for name in TRACE_RECORD.names or ():
        records[name] = getattr(chunk, name)
    return records


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two columns are the same memory."""
    return one.ctypes.data == other.ctypes.data and one.strides == other.strides
