"""The access trace against addresses worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_run import Collector, arguments, compiled, run
from test_kernels import BASIC, SPACES, TOGETHER

from placewise.executor import TraceChunk, execute
from placewise.kernel.launch import Inputs, Launch, TextureArgument


def warps_of(
    grid: tuple[int, int], block: tuple[int, int]
) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """(block, warp, global (x, y) of its threads) in the order of execution."""
    found = []
    for b in range(grid[0] * grid[1]):
        bx, by = b % grid[0], b // grid[0]
        threads = [
            (bx * block[0] + t % block[0], by * block[1] + t // block[0])
            for t in range(block[0] * block[1])
        ]
        found += [(b, w, threads[32 * w : 32 * w + 32]) for w in range(-(-len(threads) // 32))]
    return found


def lanes(offsets: list[int | None]) -> tuple[int | None, ...]:
    return (*offsets, *(None,) * (32 - len(offsets)))


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
@pytest.mark.parametrize("block", [(16, 16), (32, 2), (7, 5), (1, 40)])
def test_matrix_product(arch: str, block: tuple[int, int]) -> None:
    n = 21
    grid = (-(-n // block[0]), -(-n // block[1]))
    trace = Collector()
    a = np.ones((n, n), np.float32)
    options = {"consumer": trace}
    result = run(
        BASIC, "matmul", grid, block, arch=arch, options=options, A=a, B=a, C=a, n=np.int32(n)
    )
    expected: dict[str, list[object]] = {"A": [], "B": [], "C": []}
    for b, w, threads in warps_of(grid, block):
        inside = [c < n and r < n for c, r in threads]
        if not any(inside):
            continue

        def row(offset, b=b, w=w, threads=threads, inside=inside):
            offsets = [
                4 * offset(c, r) if i else None for (c, r), i in zip(threads, inside, strict=True)
            ]
            return (b, w, lanes(offsets))

        for k in range(n):
            expected["A"].append(row(lambda c, r, k=k: r * n + k))
            expected["B"].append(row(lambda c, r, k=k: k * n + c))
        expected["C"].append(row(lambda c, r: r * n + c))
    assert trace.of("A", "load") == expected["A"]
    assert trace.of("B", "load") == expected["B"]
    assert trace.of("C", "store") == expected["C"]
    assert trace.arrays == ("A", "B", "C")
    assert len(trace.accesses) == result.site_executions.sum()
    counted = np.bincount([a[0] for a in trace.accesses], minlength=len(result.sites))
    assert np.array_equal(counted, result.site_executions)


def test_gathers_and_strides() -> None:
    rng = np.random.default_rng(1)
    b = rng.integers(0, 9, 300).astype(np.uint8)
    trace = Collector()
    run(
        SPACES, "bytes", 4, 32, options={"consumer": trace}, b=b, w=np.ones(100, np.int16),
        out=np.zeros(100, np.uint8), n=np.int32(100),
    )  # fmt: skip
    for array, kind, step, start in (
        ("b", "load", 3, 0),
        ("w", "load", 2, 0),
        ("out", "store", -1, 99),
    ):
        got = trace.of(array, kind)
        for block in range(4):
            count = 32 if block < 3 else 4
            offsets = [start + step * (32 * block + lane) for lane in range(count)]
            assert got[block] == (block, 0, lanes(list(offsets))), array


def test_sparse_columns() -> None:
    rows, width = 8, 45
    rng = np.random.default_rng(2)
    pointers = np.arange(0, rows * width + 1, width, dtype=np.int32)
    columns = rng.integers(0, 1000, rows * width).astype(np.int32)
    x = np.zeros(1000, np.float32)
    trace = Collector()
    run(
        BASIC, "spmv", 2, 128, options={"consumer": trace}, rp=pointers, ci=columns,
        v=np.zeros(rows * width, np.float32), x=x, y=np.zeros(rows, np.float32), n=np.int32(rows),
    )  # fmt: skip
    expected = []
    for row in range(rows):
        for start in (0, 32):
            part = columns[row * width + start : row * width + min(start + 32, width)]
            expected.append((row // 4, row % 4, lanes([4 * int(c) for c in part])))
    assert sorted(trace.of("x", "load"), key=str) == sorted(expected, key=str)


WIDE = """
extern "C" __global__ void wide(const T *a, T *out, int lanes, int turns) {
    __shared__ T tile[32];
    int lane = threadIdx.x;
    if (lane < lanes) tile[lane] = a[lane];
    __syncwarp();
    if (lane < lanes) out[lane] = tile[lanes - 1 - lane];
    for (int turn = 1; turn < turns; ++turn)
        if (lane < lanes) out[turn * 32 + lane] = a[turn * 32 + lane];
}
"""


@pytest.mark.parametrize("machine_code", [False, True], ids=["ptx", "machine-code"])
@pytest.mark.parametrize("lanes_on", [1, 5, 16, 17, 32])
@pytest.mark.parametrize(("type_", "words"), [("float", 1), ("float2", 2), ("float4", 4)])
def test_some_lanes_of_wide_accesses_are_recorded_once(
    type_: str, words: int, lanes_on: int, machine_code: bool
) -> None:
    trace = Collector()
    size, turns = 4 * words, 3
    values = np.arange(turns * 32 * words, dtype=np.float32)
    kernel = compiled(WIDE.replace("T ", f"{type_} "), "wide", "sm_86")
    given = arguments(
        a=values, out=np.zeros_like(values), lanes=np.int32(lanes_on), turns=np.int32(turns)
    )
    result = execute(
        replace(kernel, machine_code=machine_code), Launch((1, 1, 1), (32, 1, 1)), Inputs(given),
        consumer=trace,
    )  # fmt: skip
    for array, kind in (("a", "load"), ("out", "store")):
        expected = [
            (0, 0, lanes([size * (32 * turn + lane) for lane in range(lanes_on)]))
            for turn in range(turns)
        ]
        assert trace.of(array, kind) == expected
    counted = np.bincount([a[0] for a in trace.accesses], minlength=len(result.sites))
    assert np.array_equal(counted, result.site_executions)


def test_shared_memory_and_space_filter() -> None:
    x = np.arange(64, dtype=np.int32)
    everything = Collector()
    run(TOGETHER, "scan", 1, 64, shared=256, options={"consumer": everything}, x=x, out=x)
    shared = [a for a in everything.accesses if everything.sites[a[0]].space == "shared"]
    assert {a[4] for a in shared} == {-1}
    assert shared[0][5] == lanes([4 * i for i in range(32)])
    first_read = next(
        a for a in shared if everything.sites[a[0]].kind == "load" and a[3] != 0xFFFFFFFF
    )
    assert first_read[5] == (None, *(4 * i for i in range(31)))
    only_global = Collector()
    options = {"consumer": only_global, "trace_spaces": frozenset({"global"})}
    run(TOGETHER, "scan", 1, 64, shared=256, options=options, x=x, out=x)
    kept = [a for a in everything.accesses if everything.sites[a[0]].space == "global"]
    assert only_global.accesses == kept


def test_constants_and_textures() -> None:
    trace = Collector()
    data = np.arange(40, dtype=np.float32)
    result = run(
        SPACES, "spaces", 1, 50, constants=(("K", np.zeros(9, np.float32)),),
        options={"consumer": trace},
        t=TextureArgument("t", data), o=np.zeros(50, np.float32), n=np.int32(50),
    )  # fmt: skip
    assert trace.arrays[:2] == ("t", "o")
    assert {"K", "filled", "table"} <= set(trace.arrays)
    i = np.arange(50)

    def split(offsets: list[int | None]) -> list[tuple[int, int, tuple[int | None, ...]]]:
        return [(0, w, lanes(offsets[32 * w : 32 * w + 32])) for w in range(2)]

    assert trace.of("K", "load") == split([4 * int(k) for k in i % 9])
    texels = [4 * (int(k) - 1) if 1 <= k < 41 else None for k in i]
    assert trace.of("t", "load") == split(texels)
    spaces = {s.opcode.split(".")[0] + "." + s.space for s in result.sites}
    assert {"ld.constant", "tex.texture", "st.global"} <= spaces
    sources = [s.source_line for s in result.sites]
    assert all(line is not None and SPACES.splitlines()[line - 1].strip() for line in sources)


def test_only_wanted_blocks_are_traced_and_all_run() -> None:
    wanted = np.zeros(10, bool)
    wanted[[2, 7]] = True
    a = np.ones(640, np.float32)
    inputs = {"a": a, "b": a, "c": np.zeros(640, np.float32), "n": np.int32(640)}
    for threads in (1, 2):
        trace = Collector()
        options = {"consumer": trace, "trace_blocks": wanted, "threads": threads}
        result = run(BASIC, "vecadd", 10, 64, options=options, **inputs)
        assert (result.output("c") == 2).all()
        assert [x[1] for x in trace.accesses] == [2] * 6 + [7] * 6
        assert result.site_executions.tolist() == [20, 20, 20]


def test_only_given_blocks_run() -> None:
    a = np.ones(640, np.float32)
    inputs = {"a": a, "b": a, "c": np.zeros(640, np.float32), "n": np.int32(640)}
    result = run(BASIC, "vecadd", 10, 64, options={"run_blocks": np.array([3, 9])}, **inputs)
    ran = np.repeat(np.arange(10), 64)
    assert np.array_equal(result.output("c"), np.where((ran == 3) | (ran == 9), 2, 0))


def test_long_traces_come_in_chunks() -> None:
    class Counter:
        records = chunks = rows = 0

        def begin(self, sites: object, arrays: object) -> None:
            self.sites = sites

        def chunk(self, chunk: TraceChunk) -> None:
            self.chunks += 1
            self.records += len(chunk.site)
            assert chunk.row.max(initial=-1) < len(chunk.offsets)

    n = 100
    counter = Counter()
    a = np.ones((n, n), np.float32)
    options = {"consumer": counter}
    result = run(BASIC, "matmul", (7, 7), (16, 16), options=options, A=a, B=a, C=a, n=np.int32(n))
    assert counter.records == result.site_executions.sum()
    assert counter.chunks > 1


def test_a_failing_consumer_ends_the_run() -> None:
    class Failing:
        def begin(self, sites: object, arrays: object) -> None:
            pass

        def chunk(self, chunk: TraceChunk) -> None:
            raise RuntimeError("no more")

    a = np.ones((200, 200), np.float32)
    with pytest.raises(RuntimeError, match="no more"):
        run(
            BASIC, "matmul", (13, 13), (16, 16), options={"consumer": Failing()},
            A=a, B=a, C=a, n=np.int32(200),
        )  # fmt: skip


def test_instruction_counts() -> None:
    """vecadd on 70 of 96 threads: instructions of the guard by all warps, of the body by some."""
    a = np.ones(70, np.float32)
    kernel_lines = (
        9  # four parameters, three special registers, mad, setp, and the branch: counted below
    )
    result = run(BASIC, "vecadd", 1, 96, a=a, b=a, c=a.copy(), n=np.int32(70))
    from cuda_run import compiled

    body = compiled(BASIC, "vecadd").ptx.split(".entry vecadd")[1].split(".entry")[0]
    lines = [x.strip() for x in body.splitlines()]
    instructions = [x for x in lines if x.endswith(";") and not x.startswith(".")]
    before = next(i for i, x in enumerate(instructions) if x.startswith("@")) + 1
    inside = len(instructions) - before - 1
    assert before > kernel_lines
    # The last warp has 6 lanes inside and 26 that go straight to the exit.
    assert result.thread_instructions == 96 * before + 70 * inside + 96
    assert result.warp_instructions == 3 * before + 3 * inside + 4


PHASES = """
extern "C" __global__ void phases(int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = out[threadIdx.x];
    for (int i = 0; i < n; ++i) {
        __syncthreads();
        int next = s[(threadIdx.x + 1) % 64];
        __syncthreads();
        s[threadIdx.x] = next;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void named(int *out) {
    int warp = threadIdx.x / 32;
    out[threadIdx.x] = 1;
    if (warp < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 2;
    asm volatile("bar.sync 0, 128;" ::: "memory");
    out[threadIdx.x] = 3;
    if (warp < 3) {
        if (warp == 0) asm volatile("bar.arrive 2, 96;" ::: "memory");
        else asm volatile("bar.sync 2, 96;" ::: "memory");
        out[threadIdx.x] = 4;
        asm volatile("bar.sync 3;" ::: "memory");
        out[threadIdx.x] = 5;
    }
}
"""


def test_phases_count_the_barriers_behind_a_warp() -> None:
    trace = Collector()
    x = np.arange(64, dtype=np.int32)
    result = run(PHASES, "phases", 3, 64, options={"consumer": trace}, out=x, n=np.int32(2))
    assert trace.sites == result.sites
    for block in range(3):
        for warp in range(2):
            mine = [
                (trace.sites[a[0]].space[0] + trace.sites[a[0]].kind[0], p)
                for a, p in zip(trace.accesses, trace.phases, strict=True)
                if a[1:3] == (block, warp)
            ]
            middle = [("sl", 1), ("ss", 2), ("sl", 3), ("ss", 4)]
            assert mine == [("gl", 0), ("ss", 0), *middle, ("gs", 4)]


def test_barriers_of_some_warps_do_not_begin_a_phase() -> None:
    trace = Collector()
    run(PHASES, "named", 1, 128, options={"consumer": trace}, out=np.zeros(128, np.int32))
    phases = {
        w: [p for a, p in zip(trace.accesses, trace.phases, strict=True) if a[2] == w]
        for w in range(4)
    }
    # The last warp ends before the third barrier, which is then one of all that live.
    assert phases == {0: [0, 0, 1, 1, 2], 1: [0, 0, 1, 1, 2], 2: [0, 0, 1, 1, 2], 3: [0, 0, 1]}


HALVES = """
extern "C" __global__ void halves(const float *x, float *out, int pitch, int step, int rows) {
    int column = threadIdx.x % 16, row = threadIdx.x / 16;
    if (row < rows) out[threadIdx.x] = x[40 + row * pitch + column * step];
}
"""


@pytest.mark.parametrize("step", [0, 1, 3, -2])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_each_half_warp_has_a_line_of_its_own(step: int, rows: int) -> None:
    class Columns:
        def begin(self, sites: object, arrays: object) -> None:
            self.seen: list[tuple[int, ...]] = []

        def chunk(self, chunk: TraceChunk) -> None:
            assert (chunk.row == -1).all()
            mine = zip(chunk.array, chunk.base, chunk.upper, chunk.stride, strict=True)
            self.seen += [tuple(int(v) for v in c[1:]) for c in mine if c[0] == 0]

    columns = Columns()
    x = np.zeros(2048, np.float32)
    values = {"pitch": 100, "step": step, "rows": rows}
    run(
        HALVES, "halves", 1, 64, options={"consumer": columns}, x=x, out=x,
        **{k: np.int32(v) for k, v in values.items()},
    )  # fmt: skip
    starts = [(160, 560), (960, 1360)]
    expected = [
        (a, b if rows > 2 * w + 1 else a + 64 * step, 4 * step) for w, (a, b) in enumerate(starts)
    ]
    assert columns.seen == expected[: (rows + 1) // 2]


MOVING = """
extern "C" __global__ void moving(const double *x, float *out, int n, int pitch, int step) {
    extern __shared__ short s[];
    int column = threadIdx.x % 16, row = threadIdx.x / 16;
    const double *from = x + row * pitch + column;
    short *to = s + 200 + threadIdx.x;
    float sum = 0;
    #pragma unroll 3
    for (int k = 0; k < n; ++k) {
        sum += from[-k * pitch + 60 * n] + from[k * step] + x[k * step + 9];
        to[-k * step] = k;
        sum += s[2 * k + 1] + to[k - 100];
    }
    out[threadIdx.x] = sum;
}
"""


def test_addresses_that_move_either_way_in_a_loop() -> None:
    n, pitch, step = 11, 30, 7
    trace = Collector()
    run(
        MOVING, "moving", 1, 64, shared=1024, options={"consumer": trace}, x=np.zeros(2048),
        out=np.zeros(64, np.float32), n=np.int32(n), pitch=np.int32(pitch), step=np.int32(step),
    )  # fmt: skip
    expected: dict[tuple[str, str], list[tuple[int, tuple[int, ...]]]] = {}
    for warp in range(2):
        threads = range(32 * warp, 32 * warp + 32)
        for k in range(n):
            starts = [t // 16 * pitch + t % 16 for t in threads]
            for space, kind, places in (
                ("global", "load", [a - k * pitch + 60 * n for a in starts]),
                ("global", "load", [a + k * step for a in starts]),
                ("global", "load", [k * step + 9] * 32),
                ("shared", "store", [200 + t - k * step for t in threads]),
                ("shared", "load", [2 * k + 1] * 32),
                ("shared", "load", [100 + t + k for t in threads]),
            ):
                size = 8 if space == "global" else 2
                row = (warp, tuple(size * p for p in places))
                expected.setdefault((space, kind), []).append(row)
    found: dict[tuple[str, str], list[tuple[int, tuple[int | None, ...]]]] = {}
    for site, _, warp, _, _, offsets in trace.accesses:
        which = trace.sites[site]
        found.setdefault((which.space, which.kind), []).append((warp, offsets))
    del found["global", "store"]
    # Independent loads of a turn come in the order that NVRTC gives them.
    assert {k: sorted(v) for k, v in found.items()} == {k: sorted(v) for k, v in expected.items()}


def test_a_consumer_may_take_back_blocks_while_they_run() -> None:
    blocks = 3000
    wanted = np.ones(blocks, bool)

    class Satisfied:
        records = 0

        def begin(self, sites: object, arrays: object) -> None:
            pass

        def chunk(self, chunk: TraceChunk) -> None:
            self.records += len(chunk)
            wanted[:] = False

    consumer = Satisfied()
    a = np.arange(blocks * 256, dtype=np.float32)
    options = {"consumer": consumer, "trace_blocks": wanted, "threads": 1}
    values = {"a": a, "b": a, "c": np.zeros_like(a), "n": np.int32(a.size)}
    result = run(BASIC, "vecadd", blocks, 256, options=options, **values)
    assert np.array_equal(result.output("c"), 2 * a)
    assert result.site_executions.tolist() == [blocks * 8] * 3
    # Four buffers are under way at most when the first one has been read; the launch fills more.
    assert 0 < consumer.records < result.site_executions.sum()
