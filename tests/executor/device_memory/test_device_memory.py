"""Device memory that several launches share, driven as a host program drives it."""

import multiprocessing

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import dijkstra

from placewise.errors import CaseError, ExecutionError, UnsupportedError
from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch

SOURCE = """
__constant__ float weights[4];
__constant__ float *table;
__device__ int count;
__device__ int first_free = 7;
__device__ int *alias = &count;

__global__ void level(const int *row, const int *column, int *depth, int now, int n, int *more) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || depth[v] != now) return;
    for (int e = row[v]; e < row[v + 1]; ++e)
        if (depth[column[e]] < 0) { depth[column[e]] = now + 1; *more = 1; }
}

__global__ void rows(float **from, float *to, int width) {
    to[blockIdx.x * width + threadIdx.x] = from[blockIdx.x][threadIdx.x];
}

struct View { const float *data; int stride; short offset; double factor; };
__global__ void strided(View v, float *out) {
    int i = threadIdx.x;
    out[i] = v.data[i * v.stride + v.offset] * v.factor;
}

struct Node { int value; Node *next; };
__global__ void list(const Node *head, int *sum) {
    for (const Node *n = head; n; n = n->next) *sum += n->value;
}

__global__ void weighted(float *x) { x[threadIdx.x] *= weights[threadIdx.x % 4]; }
__global__ void looked_up(float *x) { x[threadIdx.x] = table[threadIdx.x]; }
__global__ void counted() { atomicAdd(alias, 1); first_free += 10; }
__global__ void add(const float *a, const float *b, float *c) {
    int i = threadIdx.x;
    c[i] = a[i] + b[i];
}
__global__ void own_block(int *a) { a[blockIdx.x] += gridDim.x; }
"""


def kernel(name: str, source: str = SOURCE) -> Kernel:
    return compile_kernel(source, "memory.cu", name, CompileOptions())


def line(threads: int, blocks: int = 1) -> Launch:
    return Launch((blocks, 1, 1), (threads, 1, 1))


def test_breadth_first_search_level_by_level() -> None:
    n = 500
    edges = csr_array(random_array((n, n), density=0.006, rng=np.random.default_rng(3)))
    graph = csr_array((edges + edges.T) != 0).astype(np.float64)
    memory = DeviceMemory()
    row = memory.upload("row", graph.indptr.astype(np.int32))
    column = memory.upload("column", graph.indices.astype(np.int32))
    depth = memory.upload("depth", np.where(np.arange(n) == 0, 0, -1).astype(np.int32))
    more = memory.alloc("more", 1, np.int32)
    level, now = kernel("level"), 0
    while True:
        more.fill(0)
        arguments = [row, column, depth, np.int32(now), np.int32(n), more]
        result = memory.launch(level, line(128, -(-n // 128)), arguments)
        assert result.read >= {"row", "depth"}
        if not more.download()[0]:
            break
        now += 1
    expected = dijkstra(graph, indices=0, unweighted=True)
    expected[np.isinf(expected)] = -1
    assert np.array_equal(depth.download(), expected)
    assert now == expected.max()
    assert result.written == frozenset()


def test_a_table_of_pointers() -> None:
    memory = DeviceMemory()
    data = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    parts = [memory.upload(f"part{i}", part) for i, part in enumerate(data)]
    table = memory.upload("table", np.array([p.address for p in parts]))
    # One row of the table points into the middle of another array.
    long = memory.upload("long", np.arange(100, dtype=np.float32))
    table.write(long.at(60).address, start=2)
    out = memory.alloc("out", (5, 40), np.float32)
    memory.launch(kernel("rows"), line(40, 5), [table, out, np.int32(40)])
    data[2] = np.arange(60, 100)
    assert np.array_equal(out.download(), data)


VIEW = np.dtype([("data", "u8"), ("stride", "i4"), ("offset", "i2"), ("factor", "f8")], align=True)


def test_a_struct_by_value_that_holds_a_pointer() -> None:
    memory = DeviceMemory()
    x = memory.upload("x", np.arange(100, dtype=np.float32))
    out = memory.alloc("out", 32, np.float32)
    view = np.array((x.at(5).address, 2, 3, 0.5), VIEW)[()]
    memory.launch(kernel("strided"), line(32), [view, out])
    assert np.array_equal(out.download(), (5 + 2 * np.arange(32) + 3) * np.float32(0.5))


def test_a_linked_list_in_device_memory() -> None:
    node = np.dtype([("value", "i4"), ("next", "u8")], align=True)
    memory = DeviceMemory()
    nodes = memory.upload("nodes", np.zeros(6, node))
    order = [3, 1, 4, 0, 5, 2]
    content = nodes.download()
    content["value"] = [1, 10, 100, 1000, 10000, 100000]
    content["next"][order[:-1]] = [nodes.at(i).address for i in order[1:]]
    nodes.write(content)
    total = memory.upload("total", np.zeros(1, np.int32))
    memory.launch(kernel("list"), line(1), [nodes.at(order[0]), total])
    assert total.download()[0] == 111111
    memory.launch(kernel("list"), line(1), [None, total])
    assert total.download()[0] == 111111


def test_arguments_may_be_one_array_and_parts_of_it() -> None:
    memory = DeviceMemory()
    x = memory.upload("x", np.arange(24, dtype=np.float32).reshape(3, 8))
    result = memory.launch(kernel("add"), line(8), [x, x.at(1), x.at(2, 0)])
    expected = np.arange(24).reshape(3, 8)
    expected[2] = expected[0] + expected[1]
    assert np.array_equal(x.download(), expected)
    assert result.written == {"x"}
    assert np.array_equal(result.output("x"), expected)
    memory.launch(kernel("add"), line(8), [x, x, x])
    expected[0] *= 2
    assert np.array_equal(x.download(), expected)


def test_constants_stay_from_launch_to_launch() -> None:
    memory, weighted = DeviceMemory(), kernel("weighted")
    x = memory.upload("x", np.ones(8, np.float32))
    memory.constant(weighted, "weights", np.array([1, 2, 3, 4], np.float32))
    for _ in range(3):
        memory.launch(weighted, line(8), [x])
    assert np.array_equal(x.download(), np.array([1, 8, 27, 64] * 2, np.float32))
    assert np.array_equal(memory.symbol(weighted, "weights", np.float32).download(), [1, 2, 3, 4])


def test_kernels_of_one_source_share_its_variables() -> None:
    memory = DeviceMemory()
    looked_up, counted = kernel("looked_up"), kernel("counted")
    data = memory.upload("data", np.arange(8, dtype=np.float32) ** 2)
    memory.constant(counted, "table", data.address)
    out = memory.alloc("out", 8, np.float32)
    memory.launch(looked_up, line(8), [out])
    assert np.array_equal(out.download(), np.arange(8) ** 2)
    for _ in range(2):
        memory.launch(counted, line(32), [])
    assert memory.symbol(looked_up, "count", np.int32).download() == [64]
    free = memory.symbol(looked_up, "first_free", np.int32)
    assert free.download() == [27]
    free.write(np.int32(1))
    memory.launch(counted, line(1), [])
    assert free.download() == [11]


def test_variables_of_two_modules_have_addresses_of_their_own() -> None:
    memory = DeviceMemory()
    other = kernel("own", "__device__ int count = 5; __global__ void own() { count += 1; }")
    counted = kernel("counted")
    memory.launch(counted, line(2), [])
    memory.launch(other, line(1), [])
    mine, theirs = (memory.symbol(k, "count", np.int32) for k in (counted, other))
    assert mine.address != theirs.address
    assert (mine.download()[0], theirs.download()[0]) == (2, 6)
    # A variable's address may go to a kernel of another module.
    total = kernel("plus", "__global__ void plus(int *p) { *p += 100; }")
    memory.launch(total, line(1), [theirs])
    assert (mine.download()[0], theirs.download()[0]) == (2, 106)


def test_grids_and_arrays_change_between_launches() -> None:
    memory, own_block = DeviceMemory(), kernel("own_block")
    expected = np.zeros(50, np.int32)
    a = memory.upload("a", expected)
    instructions = set()
    for blocks in (3, 50, 1, 50, 7):
        result = memory.launch(own_block, line(1, blocks), [a])
        instructions.add((result.warp_instructions, blocks))
        expected[:blocks] += blocks
        memory.alloc(f"more{len(memory.regions())}", 10, np.int32)
    assert np.array_equal(a.download(), expected)
    assert len({total / blocks for total, blocks in instructions}) == 1
    assert len(instructions) == 4


def test_memory_that_was_never_written() -> None:
    memory = DeviceMemory()
    a = memory.alloc("a", (2, 3), np.float32)
    assert np.isnan(a.download()).all()
    assert a.region.defined is not None
    assert not a.region.defined.any()
    a.write(np.float32(1), start=1)
    assert a.region.defined.tolist() == [0] * 4 + [1] * 4 + [0] * 16
    b = memory.alloc("b", 8, np.int32)
    memory.launch(kernel("own_block"), line(1, 8), [b])
    assert b.region.defined is not None
    assert b.region.defined.all()


def test_freed_memory_is_out_of_reach() -> None:
    memory, add = DeviceMemory(), kernel("add")
    x = memory.upload("x", np.zeros(8, np.float32))
    table = memory.upload("table", np.array([x.address]))
    rows = kernel("rows")
    memory.free(x)
    for use in (
        lambda: x.address,
        x.download,
        lambda: x.write(np.zeros(1, np.float32)),
        lambda: x.at(1).address,
        lambda: memory.launch(add, line(8), [x, x, x]),
    ):
        with pytest.raises(CaseError, match="array 'x': the array was freed"):
            use()
    with pytest.raises(CaseError, match="array 'x': freed twice"):
        memory.free(x)
    # Its name may be used again, its address is not: a dangling pointer stays one.
    memory.upload("x", np.ones(8, np.float32))
    out = memory.alloc("out", 8, np.float32)
    with pytest.raises(ExecutionError, match=r"reads 4 bytes at address .*'x': freed"):
        memory.launch(rows, line(8), [table, out, np.int32(8)])


def test_memory_outlives_a_kernel_that_fails() -> None:
    memory, add = DeviceMemory(), kernel("add")
    x = memory.upload("x", np.ones(8, np.float32))
    short = memory.upload("short", np.ones(4, np.float32))
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"out of bounds.* array 'short'"):
            memory.launch(add, line(8), [x, short, x])
        memory.launch(add, line(4), [short, short, short])

    class Failing:
        def begin(self, sites: object, arrays: object) -> None:
            pass

        def chunk(self, chunk: object) -> None:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        memory.launch(add, line(8), [x, x, x], consumer=Failing())
    before = x.download()
    result = memory.launch(add, line(8), [x, x, x])
    assert np.array_equal(x.download(), 2 * before)
    assert short.download().tolist() == [4] * 4
    assert result.thread_instructions == 8 * result.warp_instructions


def test_windows_run_out_and_come_back() -> None:
    memory = DeviceMemory()
    arrays = []
    with pytest.raises(UnsupportedError, match="arrays and module variables at a time"):  # noqa: PT012
        for i in range(5000):
            arrays.append(memory.alloc(f"a{i}", 1, np.int32))
    assert len(arrays) > 1500
    for a in arrays:
        memory.free(a)
    for i in range(5000):
        memory.free(memory.alloc(f"b{i}", 1, np.int32))
    x = memory.upload("x", np.zeros(4, np.int32))
    result = memory.launch(kernel("own_block"), line(1, 4), [x])
    assert x.download().tolist() == [4] * 4
    assert result.written == {"x"}


def test_what_cannot_be_passed_is_said() -> None:
    memory, add = DeviceMemory(), kernel("add")
    x = memory.upload("x", np.zeros(8, np.float32))
    with pytest.raises(CaseError, match=r"argument 2: .*not ndarray\n  hint: upload the array"):
        memory.launch(add, line(8), [x, np.zeros(8, np.float32), x])
    with pytest.raises(CaseError, match=r"argument 3: .*not int\n  hint: NumPy scalars"):
        memory.launch(add, line(8), [x, x, 0])  # type: ignore[list-item]
    with pytest.raises(CaseError, match="argument 1: array 'x' belongs to another DeviceMemory"):
        DeviceMemory().launch(add, line(8), [x, x, x])
    with pytest.raises(CaseError, match=r"3 parameters, but 2 arguments.*\n  hint: given: x, null"):
        memory.launch(add, line(8), [x, None])
    with pytest.raises(
        CaseError,
        match="a struct of data, stride, offset, factor has 24 bytes, but the kernel takes 8",
    ):
        memory.launch(add, line(8), [x, x, np.array((0, 1, 2, 0.5), VIEW)[()]])
    packed = np.array((0, 1, 2, 0.5), np.dtype([(n, VIEW[n]) for n in VIEW.names or ()]))
    with pytest.raises(CaseError, match=r"has 22 bytes.* takes 24 here\n  hint: .*align=True"):
        memory.launch(kernel("strided"), line(8), [packed[()], x])


def test_what_cannot_be_stored_is_said() -> None:
    memory, weighted = DeviceMemory(), kernel("weighted")
    x = memory.upload("x", np.zeros((2, 4), np.float32))
    for wrong, message in (
        (lambda: memory.upload("x", np.zeros(1)), "has an array of that name already"),
        (lambda: memory.upload("o", np.array([None])), "arrays of object have no bytes"),
        (lambda: memory.alloc("o", -1, np.int8), "negative extent"),
        (lambda: memory.alloc("o", (1 << 40, 1 << 40), np.int32), "at most 68,719,476,736"),
        (lambda: Launch((1.5, 1, 1), (32, 1, 1)), "whole dimensions"),  # type: ignore[arg-type]
        (lambda: x.fill("a"), "does not fit its elements of float32"),
        (lambda: memory.alloc("i", 2, np.int32).fill(2.5), "2.5 is no int32"),
        (lambda: memory.alloc("j", 2, np.int32).fill(1 << 40), "does not fit its elements"),
        (lambda: x.write(np.zeros(2)), "float64 elements for an array of float32"),
        (lambda: x.write(np.zeros(3, np.float32), 6), "3 elements from index 6 on.* has 8"),
        (lambda: x.at(3), r"index \(3,\) lies outside of shape \(2, 4\)"),
        (lambda: x.at(0, 0, 0), "3 indices for 2 dimensions"),
        (lambda: memory.free(memory.symbol(weighted, "weights")), "lives as long as the memory"),
        (lambda: memory.symbol(weighted, "nope"), "no such variable\n  hint: it has: weights"),
        (lambda: memory.symbol(weighted, "weights", VIEW), "not a whole number"),
        (
            lambda: memory.constant(weighted, "weights", np.zeros(3, np.float32)),
            "constant 'weights': .* has 12 bytes, but the variable has 16",
        ),
    ):
        with pytest.raises(CaseError, match=message):
            wrong()


def _launch_in_child(answer: object) -> None:
    memory = DeviceMemory()
    a = memory.upload("a", np.zeros(64, np.int32))
    memory.launch(kernel("own_block"), line(1, 64), [a])
    answer.put(a.download().tolist())  # type: ignore[attr-defined]


def test_a_forked_process_starts_threads_of_its_own() -> None:
    memory = DeviceMemory()
    a = memory.upload("a", np.zeros(64, np.int32))
    memory.launch(kernel("own_block"), line(1, 64), [a])
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    child = context.Process(target=_launch_in_child, args=(answer,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert answer.get() == [64] * 64
