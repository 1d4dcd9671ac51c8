"""Traces taken by compiled code, against the same traces taken by Python."""

from __future__ import annotations

import numpy as np
import pytest
from numba import carray, cfunc, from_dtype, types

from placewise.executor import CompiledConsumer, Taker, TraceChunk, execute, lane_offsets
from placewise.executor.device_memory.address_space import TRACE_RECORD, TRACE_RUN, WINDOW_SHIFT
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

SOURCE = r"""
extern "C" __global__ void mixed(const float *x, const int *at, float *y, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = x[i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < i % 7; ++k) sum += x[at[(i + k) % n]];
    y[i] = sum + s[63 - threadIdx.x];
}
"""
BLOCKS, THREADS = 160, 64
N = BLOCKS * THREADS

_P = types.CPointer
_RECORD, _RUN = from_dtype(TRACE_RECORD), from_dtype(TRACE_RUN)
_SIGNATURE = types.int64(
    _P(types.int64), _P(_RECORD), types.int64, _P(_RUN), types.int64, _P(types.int32), types.int64
)
_ROOM = 1 << 18
_ROW = 8


@cfunc(_SIGNATURE)
def keep(state, records, n, runs, n_runs, offsets, m):  # type: ignore[no-untyped-def]
    """Write (site, block, warp, phase, mask, window, lane, offset) of every lane behind state[2:];
    state[0] counts them, and nothing is taken while state[1] is 0."""
    header = carray(state, (2,))
    if header[1] == 0:
        return 1
    header[1] -= 1
    rows = carray(state, (2 + _ROW * _ROOM,))
    record, run, offset = carray(records, (n,)), carray(runs, (n_runs,)), carray(offsets, (m,))
    at = 0
    for i in range(n):
        while at + 1 < n_runs and run[at + 1].first <= i:
            at += 1
        r = record[i]
        window = r.base >> WINDOW_SHIFT
        start = window << WINDOW_SHIFT
        place = r.row
        for lane in range(32):
            if r.mask >> np.uint32(lane) & np.uint32(1):
                if r.row >= 0:
                    where = np.int64(offset[place])
                    place += 1
                elif lane < 16:
                    where = r.base - start + r.stride * lane
                else:
                    where = r.upper - start + r.stride * (lane - 16)
                to = 2 + _ROW * header[0]
                rows[to] = r.site
                rows[to + 1] = run[at].block
                rows[to + 2] = run[at].warp
                rows[to + 3] = run[at].phase
                rows[to + 4] = r.mask
                rows[to + 5] = window
                rows[to + 6] = lane
                rows[to + 7] = where
                header[0] += 1
    return 0


class Keeping:
    """Keeps every lane of every access, in compiled code."""

    def __init__(self, *, parallel: bool = False, at_once: int = 1 << 60) -> None:
        self.parallel = parallel
        self.at_once = at_once
        self.refusals = 0
        self.states: dict[int, np.ndarray] = {}

    def begin_taking(self, sites, arrays, windows):  # type: ignore[no-untyped-def]
        self.windows = windows

    def taker(self, worker: int) -> Taker:
        self.states[worker] = np.zeros(2 + _ROW * _ROOM, np.int64)
        self.states[worker][1] = self.at_once
        return Taker(keep.address, self.states[worker].ctypes.data, keep)

    def refused(self, worker: int) -> None:
        self.refusals += 1
        self.states[worker][1] = self.at_once

    def lanes(self) -> np.ndarray:
        parts = [s[2 : 2 + _ROW * s[0]].reshape(-1, _ROW) for s in self.states.values()]
        rows = np.concatenate(parts)
        rows[:, 5] = self.windows[rows[:, 5]]
        return rows


class Chunks:
    """The same lanes, from chunks given to Python."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []

    def begin(self, sites: object, arrays: object) -> None:
        pass

    def chunk(self, chunk: TraceChunk) -> None:
        access, lane = np.nonzero(chunk.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1)
        columns = [chunk.site, chunk.block, chunk.warp, chunk.phase, chunk.mask, chunk.array]
        whole = [c[access].astype(np.int64) for c in columns]
        self.rows.append(np.stack([*whole, lane, lane_offsets(chunk)[access, lane]], axis=1))


@pytest.fixture(scope="module")
def launched():  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(3)
    kernel = compile_kernel(SOURCE, "mixed.cu", "mixed", CompileOptions(arch="sm_80"))
    inputs = Inputs(
        (
            ArrayArgument("x", rng.random(N, np.float32)),
            ArrayArgument("at", rng.integers(0, N, N).astype(np.int32)),
            ArrayArgument("y", np.zeros(N, np.float32)),
            ScalarArgument("n", np.int32(N)),
        )
    )

    def run(consumer, **options):  # type: ignore[no-untyped-def]
        return execute(
            kernel, Launch((BLOCKS, 1, 1), (THREADS, 1, 1)), inputs, consumer=consumer, **options
        )

    return run


def test_compiled_code_gets_the_trace_that_python_gets(launched):  # type: ignore[no-untyped-def]
    python, compiled = Chunks(), Keeping()
    assert isinstance(compiled, CompiledConsumer)
    launched(python, threads=1)
    launched(compiled, threads=2)
    assert list(compiled.states) == [0]
    np.testing.assert_array_equal(compiled.lanes(), np.concatenate(python.rows))


def test_every_worker_delivers_to_a_taker_of_its_own(launched):  # type: ignore[no-untyped-def]
    python, compiled = Chunks(), Keeping(parallel=True)
    launched(python)
    launched(compiled, threads=2)
    expected, found = np.concatenate(python.rows), compiled.lanes()
    # A worker's blocks come in ascending order, and a block from one worker alone.
    for state in compiled.states.values():
        blocks = state[2 : 2 + _ROW * state[0]].reshape(-1, _ROW)[:, 1]
        assert (np.diff(blocks) >= 0).all()
    order = np.argsort(found[:, 1], kind="stable")
    np.testing.assert_array_equal(found[order], expected)


def test_a_chunk_that_is_refused_comes_again(launched):  # type: ignore[no-untyped-def]
    python, compiled = Chunks(), Keeping(at_once=1)
    launched(python)
    launched(compiled)
    assert compiled.refusals > 3
    np.testing.assert_array_equal(compiled.lanes(), np.concatenate(python.rows))


def test_what_a_refusal_raises_ends_the_run(launched):  # type: ignore[no-untyped-def]
    class Full(Keeping):
        def refused(self, worker: int) -> None:
            raise MemoryError("full")

    with pytest.raises(MemoryError, match="full"):
        launched(Full(at_once=1))


def test_only_the_blocks_that_are_wanted(launched):  # type: ignore[no-untyped-def]
    wanted = np.zeros(BLOCKS, bool)
    wanted[[3, 17]] = True
    for parallel in (False, True):
        compiled = Keeping(parallel=parallel)
        done = launched(compiled, trace_blocks=wanted, threads=2)
        assert set(compiled.lanes()[:, 1]) == {3, 17}
        assert done.block_executions[0, 0] == BLOCKS * THREADS // 32
