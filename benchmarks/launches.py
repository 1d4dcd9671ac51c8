"""Host loops: what a launch costs on device memory that stays, and whole programs of many launches.

``python -m benchmarks.launches``; figures are medians over repetitions, on one thread
and on all. Elapsed times of small launches hang on how fast the system wakes a thread, and so on
what else it runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.results import Figure, report
from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch

SOURCE = """
__global__ void increment(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 1;
}
__global__ void level(const int *row, const int *column, int *depth, int now, int n, int *more) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || depth[v] != now) return;
    for (int e = row[v]; e < row[v + 1]; ++e)
        if (depth[column[e]] < 0) { depth[column[e]] = now + 1; *more = 1; }
}
__global__ void jacobi(const float *from, float *to, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        to[y * n + x] = 0.25f * (from[y * n + x - 1] + from[y * n + x + 1]
                                 + from[(y - 1) * n + x] + from[(y + 1) * n + x]);
}
"""
LAUNCHES = 500
REPEATS = 7
OTHER_ARRAYS = 200
"""Arrays that lie in the same memory and take no part."""


def main() -> None:
    """Measure, print a table, write results/launches.json."""
    increment, level, jacobi = compile_module(
        SOURCE, "launches.cu", ("increment", "level", "jacobi"), CompileOptions()
    )
    figures = [
        *_overhead(increment),
        _breadth_first_search(level),
        _iteration(jacobi),
    ]
    if not report("launches", figures):
        sys.exit(1)


def _median(run: Callable[[], float]) -> float:
    run()
    return statistics.median(run() for _ in range(REPEATS))


def _overhead(kernel: Kernel) -> list[Figure]:
    memory = DeviceMemory()
    a = memory.upload("a", np.zeros(1024, np.int32))
    for n in range(OTHER_ARRAYS):
        memory.alloc(f"other{n}", 1024, np.float32)
    figures = []
    count = 0
    for threads, named in ((1, "one thread"), (None, "all cores")):
        used: list[float] = []

        def run(threads: int | None = threads, used: list[float] = used) -> float:
            start, cpu = time.perf_counter(), time.process_time()
            for _ in range(LAUNCHES):
                memory.launch(
                    kernel, Launch((8, 1, 1), (128, 1, 1)), [a, np.int32(1024)], threads=threads
                )
            used.append((time.process_time() - cpu) / LAUNCHES * 1e6)
            return (time.perf_counter() - start) / LAUNCHES * 1e6

        elapsed = _median(run)
        value = statistics.median(used)
        count += (REPEATS + 1) * LAUNCHES
        figures.append(
            Figure(
                f"one small launch, {named}, processor time",
                value,
                "µs",
                "thousands of launches in a second",
                value < 500,
            )
        )
        figures.append(
            Figure(f"one small launch, {named}, elapsed", elapsed, "µs", "for scale", True)
        )
    right = bool((a.download() == count).all())
    figures.append(Figure("every launch counted", count if right else "wrong", "", "exact", right))
    return figures


def _breadth_first_search(kernel: Kernel) -> Figure:
    n = 20000
    random = random_array((n, n), density=1.5e-4, rng=np.random.default_rng(0))
    graph = csr_array(csr_array(random + random.T) != 0).astype(np.float64)
    expected = dijkstra(graph, indices=0, unweighted=True)
    expected[np.isinf(expected)] = -1
    first = np.where(np.arange(n) == 0, 0, -1).astype(np.int32)
    right = True

    def run() -> float:
        nonlocal right
        start = time.perf_counter()
        memory = DeviceMemory()
        row = memory.upload("row", graph.indptr.astype(np.int32))
        column = memory.upload("column", graph.indices.astype(np.int32))
        depth, more = memory.upload("depth", first), memory.alloc("more", 1, np.int32)
        now, going = 0, True
        while going:
            more.fill(0)
            arguments = [row, column, depth, np.int32(now), np.int32(n), more]
            memory.launch(kernel, Launch((-(-n // 256), 1, 1), (256, 1, 1)), arguments)
            going, now = bool(more.download()[0]), now + 1
        seconds = time.perf_counter() - start
        right = right and bool(np.array_equal(depth.download(), expected))
        return seconds * 1e3

    value = _median(run)
    named = f"breadth-first search, {n} vertices, {graph.nnz} edges"
    return Figure(named, value, "ms", "depths of SciPy's", right)


def _iteration(kernel: Kernel) -> Figure:
    n, steps = 256, 200
    start_grid = np.zeros((n, n), np.float32)
    start_grid[0] = 1
    expected = start_grid.copy()
    for _ in range(steps):
        sides = expected[1:-1, :-2] + expected[1:-1, 2:]
        inner = np.float32(0.25) * (sides + expected[:-2, 1:-1] + expected[2:, 1:-1])
        expected[1:-1, 1:-1] = inner
    right = True

    def run() -> float:
        nonlocal right
        start = time.perf_counter()
        memory = DeviceMemory()
        a, b = memory.upload("a", start_grid), memory.upload("b", start_grid)
        for _ in range(steps):
            memory.launch(kernel, Launch((n // 32, n // 8, 1), (32, 8, 1)), [a, b, np.int32(n)])
            a, b = b, a
        seconds = time.perf_counter() - start
        right = right and bool(np.array_equal(a.download(), expected))
        return seconds * 1e3

    value = _median(run)
    return Figure(f"{steps} Jacobi steps on {n} × {n}", value, "ms", "bits of NumPy's", right)


if __name__ == "__main__":
    main()
