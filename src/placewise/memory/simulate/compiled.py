"""The compiled functions of the simulation as Python and the executor's code call them.

Their machine code is kept from one process to the next, by the text of this package: each function
holds all that it calls, of which the files of Numba's cache know nothing.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import carray, cfunc, from_dtype, njit, types
from numpy.typing import NDArray

from placewise.execute.device_memory.address_space import TRACE_RECORD, TRACE_RUN
from placewise.memory.simulate.caches import cache, l2, l2_arrivals, store_merging
from placewise.memory.simulate.dram import banks
from placewise.memory.simulate.requests import collect as rq
from placewise.memory.simulate.requests.bank_patterns import Patterns
from placewise.memory.simulate.requests.line_requests import Buffer, Cut
from placewise.memory.simulate.requests.templates import FORM
from placewise.memory.simulate.schedule import wave as wv
from placewise.memory.simulate.simd.jit_helpers import pointer

_TEXT = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
_VERSION = 1 + int.from_bytes(hashlib.sha256(_TEXT).digest()[:7])
_ONE, _TWO = 2, 3
"""Words that describe an array of one or two dimensions: where it is, and its shape."""
_P = types.CPointer


def words_of(
    sites: rq.Sites,
    pairs: rq.Pairs,
    patterns: Patterns,
    buffer: Buffer,
    state: NDArray[np.int64],
    cut: Cut,
) -> NDArray[np.int64]:
    """What the taker's state points to."""
    words: list[int] = []
    for array in (*sites, *pairs, *patterns, *buffer, state):
        words += [array.ctypes.data, *array.shape]
    return np.array([*words, *cut], np.int64)


def _taker(version: int, offset: Any) -> Any:
    """``take`` for offsets of a type; ``version`` is part of what it is kept by."""
    records, runs = from_dtype(TRACE_RECORD), from_dtype(TRACE_RUN)
    i64 = types.int64

    @cfunc(
        i64(_P(i64), _P(records), i64, _P(runs), i64, _P(offset), i64),
        cache=True,
        error_model="numpy",
    )
    def take(state: Any, records: Any, n: int, runs: Any, n_runs: int, offsets: Any, m: int) -> Any:
        if version == 0:
            return 0
        w = carray(state, (WORDS,))
        return rq.collect(
            carray(records, (n,)),
            carray(runs, (n_runs,)),
            carray(offsets, (m,)),
            rq.Sites(
                carray(pointer(w[0]), (w[1], w[2]), np.int16),
                carray(pointer(w[3]), (w[4], w[5]), np.bool_),
                carray(pointer(w[6]), (w[7],), np.int64),
                carray(pointer(w[8]), (w[9],), np.int32),
                carray(pointer(w[10]), (w[11],), np.int32),
                carray(pointer(w[12]), (w[13],), np.bool_),
                carray(pointer(w[14]), (w[15],), np.int32),
            ),
            rq.Pairs(
                carray(pointer(w[16]), (w[17], w[18]), np.int32),
                carray(pointer(w[19]), (w[20],), rq.PAIR),
                carray(pointer(w[21]), (w[22],), np.int64),
                carray(pointer(w[23]), (w[24],), FORM),
            ),
            Cut(w[58], w[59], w[60], w[61], w[62], w[63], w[64], w[65], w[66]),
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
        )

    return take


WORDS = 67
"""Of :func:`words_of`."""


@functools.cache
def taker(*, large: bool) -> Any:
    """The compiled function that takes the executor's chunks; ``large``: offsets have 64 bits."""
    return _taker(_VERSION, types.int64 if large else types.int32)


@functools.cache
def callable_taker(*, large: bool) -> Callable[..., int]:
    """The same, to be called from Python with addresses and lengths."""
    kinds = [ctypes.c_int64, ctypes.c_void_p, *(ctypes.c_void_p, ctypes.c_int64) * 3]
    return ctypes.CFUNCTYPE(*kinds)(taker(large=large).address)


def _entries(version: int) -> tuple[Any, ...]:
    """The functions that Python calls; ``version`` is part of what they are kept by."""

    @njit(cache=True, nogil=True, _nrt=False)
    def sort_segments(*arguments: Any) -> None:
        if version:
            wv.sort_segments(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def run_sms(*arguments: Any) -> None:
        if version:
            wv.run_sms(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def run_l2(*arguments: Any) -> None:
        if version:
            l2.run_l2(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def run_arrivals(*arguments: Any) -> None:
        if version:
            l2_arrivals.run_arrivals(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def run_banks(*arguments: Any) -> None:
        if version:
            banks.run_banks(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def lines_missed(*arguments: Any) -> Any:
        return cache.lines_missed(*arguments) if version else 0

    @njit(cache=True, nogil=True, _nrt=False)
    def count_neighbours(*arguments: Any) -> None:
        if version:
            store_merging.count_neighbours(*arguments)

    return sort_segments, run_sms, run_l2, run_arrivals, run_banks, lines_missed, count_neighbours


sort_segments, run_sms, run_l2, run_arrivals, run_banks, lines_missed, count_neighbours = _entries(
    _VERSION
)
