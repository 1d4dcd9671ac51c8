"""The compiled function that passes the executor's trace chunks to the simulation."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numpy.typing import NDArray

from placewise.compiled_code import compiled_callback
from placewise.executor.device_memory.address_space import TRACE_RECORD, TRACE_RUN
from placewise.memory.simulate.requests.bank_patterns import Patterns
from placewise.memory.simulate.requests.collect import Collector, Trace, collect
from placewise.memory.simulate.requests.line_requests import Buffer, Sizes
from placewise.memory.simulate.requests.streams import STREAM, Sites, Streams
from placewise.memory.simulate.requests.templates import TEMPLATE
from placewise.memory.simulate.simd.jit_helpers import pointer

_P = types.CPointer


def words_of(to: Collector) -> NDArray[np.int64]:
    """(WORDS,) state of the taker: address and shape of each array of a collector, followed by its
    sizes."""
    words: list[int] = []
    for array in (*to.sites, *to.streams, *to.patterns, *to.buffer, to.state):
        words += [array.ctypes.data, *array.shape]
    return np.array([*words, *to.sizes], np.int64)


def _taker(offset: Any) -> Any:
    """The compiled function ``take`` for offsets of this type."""
    records, runs = from_dtype(TRACE_RECORD), from_dtype(TRACE_RUN)
    i64 = types.int64

    @compiled_callback(
        i64(_P(i64), _P(records), i64, _P(runs), i64, _P(offset), i64), error_model="numpy"
    )
    def take(state: Any, records: Any, n: int, runs: Any, n_runs: int, offsets: Any, m: int) -> Any:
        w = carray(state, (WORDS,))
        trace = Trace(carray(records, (n,)), carray(runs, (n_runs,)), carray(offsets, (m,)))
        to = Collector(
            Sites(
                carray(pointer(w[0]), (w[1], w[2]), np.int16),
                carray(pointer(w[3]), (w[4], w[5]), np.bool_),
                carray(pointer(w[6]), (w[7],), np.int64),
                carray(pointer(w[8]), (w[9],), np.int32),
                carray(pointer(w[10]), (w[11],), np.int32),
                carray(pointer(w[12]), (w[13],), np.bool_),
                carray(pointer(w[14]), (w[15],), np.int32),
            ),
            Streams(
                carray(pointer(w[16]), (w[17], w[18]), np.int32),
                carray(pointer(w[19]), (w[20],), STREAM),
                carray(pointer(w[21]), (w[22],), np.int64),
                carray(pointer(w[23]), (w[24],), TEMPLATE),
            ),
            Patterns(
                carray(pointer(w[25]), (w[26], w[27]), np.int64),
                carray(pointer(w[28]), (w[29],), np.int64),
                carray(pointer(w[30]), (w[31],), np.int64),
                carray(pointer(w[32]), (w[33], w[34]), np.int64),
                carray(pointer(w[35]), (w[36],), np.int64),
                carray(pointer(w[37]), (w[38],), np.uint32),
            ),
            Buffer(
                carray(pointer(w[39]), (w[40],), np.int64),
                carray(pointer(w[41]), (w[42], w[43]), np.int64),
                carray(pointer(w[44]), (w[45],), np.bool_),
                carray(pointer(w[46]), (w[47],), np.int64),
                carray(pointer(w[48]), (w[49],), np.int32),
                carray(pointer(w[50]), (w[51],), np.int64),
                carray(pointer(w[52]), (w[53],), np.int64),
                carray(pointer(w[54]), (w[55],), np.int64),
            ),
            carray(pointer(w[56]), (w[57],), np.int64),
            Sizes(w[58], w[59], w[60], w[61], w[62], w[63], w[64], w[65], w[66]),
        )
        return collect(trace, to)

    return take


WORDS = 67
"""Length of the result of :func:`words_of`."""


@functools.cache
def taker(*, large: bool) -> Any:
    """The compiled function that takes the executor's chunks; ``large`` says that offsets have 64
    bits."""
    return _taker(types.int64 if large else types.int32)


@functools.cache
def callable_taker(*, large: bool) -> Callable[..., int]:
    """The function of :func:`taker`, callable from Python with addresses and lengths."""
    kinds = [ctypes.c_int64, ctypes.c_void_p, *(ctypes.c_void_p, ctypes.c_int64) * 3]
    return ctypes.CFUNCTYPE(*kinds)(taker(large=large).address)
