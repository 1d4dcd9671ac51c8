"""Recursion, calls through pointers and virtual functions, stacks of threads."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import compiled, run

from placewise.errors import ExecutionError
from placewise.executor.device_memory.address_space import FIRST_WINDOW
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.ir.nodes import Switch
from placewise.executor.lower_ptx.control import callgraph
from placewise.executor.translate import lowered
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.launch import Launch

RNG = np.random.default_rng(11)


def test_functions_that_call_themselves():
    source = """
    __device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    __device__ unsigned ackermann(unsigned m, unsigned n) {
        if (m == 0) return n + 1;
        if (n == 0) return ackermann(m - 1, 1);
        return ackermann(m - 1, ackermann(m, n - 1));
    }
    extern "C" __global__ void k(int* f, unsigned* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        f[i] = fib(i % 13);
        a[i] = ackermann(i % 3, i % 7);
    }"""

    def ackermann(m, n):
        if m == 0:
            return n + 1
        return ackermann(m - 1, ackermann(m, n - 1) if n else 1)

    fib = [0, 1]
    while len(fib) < 13:
        fib.append(fib[-1] + fib[-2])
    result = run(source, "k", 2, 48, f=np.zeros(96, np.int32), a=np.zeros(96, np.uint32))
    assert result.output("f").tolist() == [fib[i % 13] for i in range(96)]
    assert result.output("a").tolist() == [ackermann(i % 3, i % 7) for i in range(96)]


def test_functions_that_call_each_other_keep_their_arrays():
    source = """
    struct Wide { double a; int b[3]; char c; };
    __device__ int odd(int n, Wide w);
    __device__ __noinline__ int even(int n, Wide w) {
        int own[4];
        for (int j = 0; j < 4; ++j) own[j] = n * j + w.b[j % 3];
        int below = n ? odd(n - 1, w) : w.c;
        return below + own[(n + w.c) & 3] * 3;
    }
    __device__ __noinline__ int odd(int n, Wide w) {
        int own[5];
        for (int j = 0; j < 5; ++j) own[j] = n + j * w.b[1];
        w.b[n % 3] += n;
        w.a += 0.5;
        int below = n ? even(n - 1, w) : (int)w.a;
        return below - own[(n * w.c) % 5];
    }
    extern "C" __global__ void k(int* out, const int* n) {
        int i = threadIdx.x;
        Wide w = {i * 1.0, {i, 2 * i, 3}, (char)(i & 7)};
        out[i] = even(n[i], w);
    }"""

    def even(n, a, b, c):
        own = [n * j + b[j % 3] for j in range(4)]
        below = odd(n - 1, a, list(b), c) if n else c
        return below + own[(n + c) & 3] * 3

    def odd(n, a, b, c):
        own = [n + j * b[1] for j in range(5)]
        b[n % 3] += n
        a += 0.5
        below = even(n - 1, a, list(b), c) if n else int(a)
        return below - own[n * c % 5]

    n = RNG.integers(0, 12, 64).astype(np.int32)
    result = run(source, "k", 1, 64, out=np.zeros(64, np.int32), n=n)
    expected = [even(int(n[i]), float(i), [i, 2 * i, 3], i & 7) for i in range(64)]
    assert result.output("out").tolist() == expected


def test_recursive_sort_in_shared_memory_with_a_barrier_around():
    source = """
    __device__ void quicksort(float* a, int low, int high) {
        if (low >= high) return;
        float pivot = a[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) { float t = a[i]; a[i] = a[j]; a[j] = t; ++i; --j; }
        }
        quicksort(a, low, j);
        quicksort(a, i, high);
    }
    extern "C" __global__ void k(float* data, float* reversed) {
        __shared__ float rows[40][25];
        int t = threadIdx.x;
        for (int e = 0; e < 25; ++e) rows[t][e] = data[(blockIdx.x * 40 + t) * 25 + e];
        quicksort(rows[t], 0, 24);
        __syncthreads();
        int other = 39 - t;
        for (int e = 0; e < 25; ++e) {
            data[(blockIdx.x * 40 + t) * 25 + e] = rows[t][e];
            reversed[(blockIdx.x * 40 + t) * 25 + e] = rows[other][24 - e];
        }
    }"""
    data = RNG.standard_normal((80, 25)).astype(np.float32)
    result = run(source, "k", 2, 40, data=data, reversed=np.zeros_like(data))
    ordered = np.sort(data, axis=1)
    np.testing.assert_array_equal(result.output("data"), ordered)
    expected = ordered.reshape(2, 40, 25)[:, ::-1, ::-1].reshape(80, 25)
    np.testing.assert_array_equal(result.output("reversed"), expected)


def test_functions_that_are_lowered_once(monkeypatch):
    """Where putting every call in place would be too long, calls jump to one copy and back."""
    monkeypatch.setattr(callgraph, "_LIMIT", 0)
    source = """
    struct Two { float x; double y; };
    __device__ __noinline__ Two inner(Two v, int k) {
        for (int j = 0; j < k; ++j) { v.x = v.x * 1.5f + k; v.y -= v.x; }
        return v;
    }
    __device__ __noinline__ float outer(float a, int k) {
        Two v = inner({a, 1.0}, k);
        v = inner(v, k / 2);
        __syncthreads();
        return v.x + (float)v.y;
    }
    extern "C" __global__ void k(float* out, const float* a) {
        __shared__ float s[64];
        int i = threadIdx.x;
        s[i] = outer(a[i], i % 5);
        s[i] += outer(a[i ^ 1], 2);
        if (i & 2) s[i] += inner({a[i], 0.5}, 3).x; else s[i] -= inner({a[i], 2.0}, i % 3).x;
        __syncthreads();
        out[i] = s[63 - i];
    }"""
    f = np.float32

    def inner(x, y, k):
        for _ in range(k):
            x = f(np.float64(x) * 1.5 + k)
            y -= np.float64(x)
        return x, y

    def outer(a, k):
        x, y = inner(*inner(a, 1.0, k), k // 2)
        return f(x + f(y))

    a = RNG.integers(-20, 20, 64).astype(f)
    result = run(source, "k", 1, 64, out=np.zeros(64, f), a=a)
    s = []
    for i in range(64):
        total = f(outer(a[i], i % 5) + outer(a[i ^ 1], 2))
        s.append(
            f(total + inner(a[i], 0.5, 3)[0]) if i & 2 else f(total - inner(a[i], 2.0, i % 3)[0])
        )
    np.testing.assert_allclose(result.output("out"), s[::-1], rtol=1e-6)
    kernel = compiled(source, "k")
    blocks = lowered(kernel, FIRST_WINDOW).blocks
    assert any(isinstance(b.terminator, Switch) for b in blocks)


VIRTUAL = """
struct Shape {
    __device__ virtual float area(float k) const = 0;
    __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
    float s;
    __device__ Square(float s) : s(s) {}
    __device__ float area(float k) const override { return s * s * k; }
    __device__ int sides() const override { return 4; }
};
struct Circle : Shape {
    float r;
    __device__ Circle(float r) : r(r) {}
    __device__ float area(float k) const override { return 3.0f * r * r + k; }
};
struct Pair : Shape {
    const Shape *a, *b;
    __device__ Pair(const Shape* a, const Shape* b) : a(a), b(b) {}
    __device__ float area(float k) const override { return a->area(k) + b->area(2.0f); }
    __device__ int sides() const override { return a->sides() + b->sides(); }
};
extern "C" __global__ void k(float* area, int* sides, const int* kind) {
    int i = threadIdx.x;
    Square square((float)i);
    Circle circle((float)i + 1);
    Pair pair(&square, &circle), more(&pair, &pair);
    const Shape* all[] = {&square, &circle, &pair, &more};
    area[i] = all[kind[i]]->area(3.0f);
    sides[i] = all[kind[i]]->sides();
}"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_virtual_functions(arch):
    kind = RNG.integers(0, 4, 64).astype(np.int32)
    result = run(
        VIRTUAL, "k", 1, 64, arch=arch,
        area=np.zeros(64, np.float32), sides=np.zeros(64, np.int32), kind=kind,
    )  # fmt: skip
    i = np.arange(64.0)

    def square(k):
        return i * i * k

    def circle(k):
        return 3 * (i + 1) ** 2 + k

    def pair(k):
        return square(k) + circle(2)

    areas = [square(3), circle(3), pair(3), pair(3) + pair(2)]
    np.testing.assert_allclose(result.output("area"), np.choose(kind, areas), rtol=1e-6)
    np.testing.assert_array_equal(result.output("sides"), np.choose(kind, [4, 0, 4, 8]))


POINTERS = """
typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ int power(int a, int b) { return b ? a * power(a, b - 1) : 1; }
__device__ Operation table[4] = {plus, times, power, nullptr};
__constant__ Operation fixed = times;
extern "C" __global__ void k(int* out, const int* which, int common) {
    int i = threadIdx.x;
    Operation own = table[which[i]];
    out[i] = own(i % 7, i % 5) + fixed(i, 2) + table[common](3, 4);
}"""


def test_calls_through_tables_of_functions():
    which = RNG.integers(0, 3, 96).astype(np.int32)
    result = run(POINTERS, "k", 1, 96, out=np.zeros(96, np.int32), which=which, common=np.int32(2))
    a, b = np.arange(96) % 7, np.arange(96) % 5
    expected = np.choose(which, [a + b, a * b, a**b]) + 2 * np.arange(96) + 81
    np.testing.assert_array_equal(result.output("out"), expected)


def test_a_call_through_a_null_pointer_is_an_error():
    which = np.zeros(32, np.int32)
    which[5] = 3
    with pytest.raises(ExecutionError, match=r"pointer.*thread \(5, 0, 0\)") as error:
        run(POINTERS, "k", 1, 32, out=np.zeros(32, np.int32), which=which, common=np.int32(0))
    assert "test.cu:11" in str(error.value)


VARIABLES = """
typedef int (*Step)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int less(int x) { return x - 1; }
__device__ Step chosen = twice;
__device__ Step table[3] = { square, nullptr, less };
__constant__ Step fixed = less;
__device__ Step for_the_host = square;
extern "C" __global__ void k(int* out, Step given) {
    int i = threadIdx.x;
    out[i] = chosen(i) + 1000 * table[i & 2](i) + 1000000 * fixed(i) + 100000000 * given(i % 4);
}"""


def test_variables_that_begin_as_the_address_of_a_function():
    kernel = compiled(VARIABLES, "k")
    memory = DeviceMemory()
    out = memory.upload("out", np.zeros(32, np.int32))
    # No code mentions this variable: only the host reads it.
    pointer = memory.symbol(kernel, "for_the_host", np.uint64).download()
    assert memory.symbol(kernel, "table", np.uint64).download()[0] == pointer[0]
    i = np.arange(32)

    def expected(given):
        table = np.where(i & 2, i - 1, i * i)
        return 2 * i + 1000 * table + 1000000 * (i - 1) + 100000000 * given

    memory.launch(kernel, Launch((1, 1, 1), (32, 1, 1)), [out, pointer[0]])
    assert (out.download() == expected((i % 4) ** 2)).all()
    chosen = memory.symbol(kernel, "chosen", np.uint64)
    memory.launch(kernel, Launch((1, 1, 1), (32, 1, 1)), [out, chosen.download()[0]])
    assert (out.download() == expected(2 * (i % 4))).all()
    chosen.write(pointer)
    memory.launch(kernel, Launch((1, 1, 1), (32, 1, 1)), [out, chosen.download()[0]])
    assert (out.download() == expected((i % 4) ** 2) - 2 * i + i * i).all()


ACROSS_KERNELS = """
struct Shape {
    __device__ virtual int area(int n) const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape { int side;
    __device__ Square(int s) : side(s) {}
    __device__ int area(int n) const override { return n * side * side; } };
struct Line : Shape {
    __device__ int area(int n) const override { return -n; } };
typedef int (*Step)(int);
__device__ int next(int x) { return x + 1; }
__device__ int before(int x) { return x - 1; }
extern "C" __global__ void make(Shape** shapes, Step* steps) {
    int i = threadIdx.x;
    if (i % 3) shapes[i] = new Square(i); else shapes[i] = new Line;
    steps[i] = i % 2 ? next : before;
}
extern "C" __global__ void use(Shape** shapes, Step* steps, int* out) {
    int i = threadIdx.x;
    out[i] = 10 * shapes[i]->area(i) + steps[i](i);
    delete shapes[i];
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_pointers_that_one_kernel_stores_are_called_by_the_next(arch):
    make, use = compile_module(
        ACROSS_KERNELS, "test.cu", ("make", "use"), CompileOptions(arch=arch)
    )
    memory = DeviceMemory()
    shapes, steps = (memory.alloc(name, 40, np.uint64) for name in ("shapes", "steps"))
    out = memory.alloc("out", 40, np.int32)
    block = Launch((1, 1, 1), (40, 1, 1))
    memory.launch(make, block, [shapes, steps])
    memory.launch(use, block, [shapes, steps, out])
    i = np.arange(40)
    area = np.where(i % 3, i**3, -i)
    assert (out.download() == 10 * area + np.where(i % 2, i + 1, i - 1)).all()


def test_pointers_to_functions_of_another_module_are_an_error():
    source = """
    typedef int (*Step)(int);
    __device__ int step(int x) { return x + NUMBER; }
    __device__ Step chosen = step;
    extern "C" __global__ void k(int* out, Step given) { out[threadIdx.x] = given(threadIdx.x); }"""
    one, two = (compiled(source.replace("NUMBER", n), "k") for n in "12")
    memory = DeviceMemory()
    out = memory.alloc("out", 32, np.int32)
    launch = Launch((1, 1, 1), (32, 1, 1))
    pointer = memory.symbol(one, "chosen", np.uint64).download()[0]
    memory.launch(one, launch, [out, pointer])
    assert (out.download() == np.arange(32) + 1).all()
    with pytest.raises(ExecutionError, match="address of no function"):
        memory.launch(two, launch, [out, pointer])


def test_recursion_without_end_is_an_error():
    source = """
    __device__ int down(int n) { return n == -7 ? 0 : down(n + 1) * 3 + n; }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = down(threadIdx.x); }"""
    with pytest.raises(ExecutionError, match="the stack of a thread is full"):
        run(source, "k", 1, 32, out=np.zeros(32, np.int32))


ALLOCA = """
__device__ __noinline__ int sum_of(int n) {
    unsigned long long at;
    asm volatile("alloca.u64 %0, %1;" : "=l"(at) : "l"((unsigned long long)n * 4));
    int* room = (int*)__cvta_local_to_generic(at);
    for (int j = 0; j < n; ++j) room[j] = j * j;
    int total = 0;
    for (int j = 0; j < n; ++j) total += room[n - 1 - j];
    return total;
}
extern "C" __global__ void k(int* out, int repeats, int more) {
    int total = 0;
    for (int r = 0; r < repeats; ++r) total += sum_of((threadIdx.x + r) % 9 + 1 + more);
    out[threadIdx.x] = total;
}"""


def test_memory_taken_from_the_stack_is_given_back():
    arguments = {"repeats": np.int32(5000), "more": np.int32(0)}
    result = run(ALLOCA, "k", 1, 32, out=np.zeros(32, np.int32), **arguments)
    squares = np.array([sum(j * j for j in range(n)) for n in range(11)])
    expected = [squares[(t + np.arange(5000)) % 9 + 1].sum() for t in range(32)]
    assert result.output("out").tolist() == expected


def test_too_much_memory_taken_from_the_stack_is_an_error():
    arguments = {"repeats": np.int32(1), "more": np.int32(1 << 20)}
    with pytest.raises(ExecutionError, match="the stack of a thread is full"):
        run(ALLOCA, "k", 1, 32, out=np.zeros(32, np.int32), **arguments)


HEAP = """
struct Node { int value; Node* next; __device__ virtual int twice() { return 2 * value; } };
struct Odd : Node { char room[50]; __device__ int twice() override { return 2 * value + 1; } };
extern "C" __global__ void k(int* out, int* kept, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* list = nullptr;
    for (int j = 0; j < length + i % 3; ++j) {
        Node* one = (i + j) & 1 ? new Odd : new Node;
        one->value = i * j;
        one->next = list;
        list = one;
    }
    int total = 0;
    while (list) {
        total += list->twice();
        Node* next = list->next;
        delete list;
        list = next;
    }
    out[i] = total;
    // More than the heap holds, were it not given back.
    int got = 0;
    for (int r = 0; r < 200; ++r) {
        int* room = (int*)malloc(4000);
        if (room) { room[r] = i; got += room[r] == i; }
        free(room);
    }
    kept[i] = got;
}"""


def test_device_code_allocates_memory():
    result = run(HEAP, "k", 3, 40, out=np.zeros(120, np.int32), kept=np.zeros(120, np.int32),
                 length=np.int32(5))  # fmt: skip
    expected = [sum(2 * i * j + ((i + j) & 1) for j in range(5 + i % 3)) for i in range(120)]
    assert result.output("out").tolist() == expected
    assert result.output("kept").tolist() == [200] * 120


def test_a_full_heap_gives_null():
    source = """
    extern "C" __global__ void k(int* out, size_t bytes) {
        char* room = (char*)malloc(bytes);
        out[threadIdx.x] = room != nullptr;
        if (room) { room[0] = 1; room[bytes - 1] = 2; }
    }"""
    for size, fit in ((1 << 20, 31), (1 << 40, 0), (2**64 - 1, 0)):
        result = run(source, "k", 1, 32, out=np.zeros(32, np.int32), bytes=np.uint64(size))
        assert result.output("out").sum() == fit


def test_memory_freed_twice_is_an_error():
    source = """
    extern "C" __global__ void k(int* out) {
        int* room = (int*)malloc(8);
        out[threadIdx.x] = 1;
        free(room);
        if (threadIdx.x == 7) free(room);
    }"""
    with pytest.raises(ExecutionError, match=r"free\(\) .* freed already, in .*thread \(7, 0, 0\)"):
        run(source, "k", 1, 32, out=np.zeros(32, np.int32))
