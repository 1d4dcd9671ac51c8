"""Machine code that calls through pointers or calls itself: against NumPy and against the PTX, on
every covered target."""

from dataclasses import replace

import numpy as np
import pytest
from both_engines import compare

from placewise.errors import ExecutionError
from placewise.executor import DeviceMemory, execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, compile_module
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SOME = [pytest.param(a, marks=() if a == "sm_80" else pytest.mark.slow) for a in ARCHS]
SOURCE = r"""
typedef int (*Binary)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int divisor(int a, int b) {
    while (b) { int rest = a % b; a = b; b = rest; }
    return a;
}
__device__ Binary table[3] = {add, multiply, divisor};
extern "C" __global__ void by_table(int *x, const int *which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = table[which[i]](x[i], i + 1);
}

struct Shape { __device__ virtual int area(int) const = 0; int side; };
struct Square : Shape { __device__ int area(int h) const override { return side * side + h; } };
struct Box : Shape { __device__ int area(int h) const override { return side * h; } };
extern "C" __global__ void by_object(int *x, const int *which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Square square;
    Box box;
    square.side = 3;
    box.side = i;
    Shape *shape = i < n && which[i] == 1 ? (Shape *)&box : (Shape *)&square;
    if (i < n) x[i] = shape->area(x[i]);
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void by_itself(int *x, const int *which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fibonacci(x[i] % 12) + which[i];
}

__device__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : 2 * odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 7 : 3 + even(n - 1); }
extern "C" __global__ void by_each_other(int *x, const int *which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = which[i] ? even(x[i] % 9) : odd(x[i] % 9);
}

__device__ Binary kept;
extern "C" __global__ void keep(int which) { kept = which ? multiply : add; }
extern "C" __global__ void use_kept(int *x, const int *y, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] = kept(x[i], y[i]);
}

extern "C" __global__ void lost(int *x, const int *which, int n) {
    Binary wild = (Binary)(unsigned long long)(which[0] + 12345);
    x[0] = n ? wild(1, 2) : table[which[1]](1, 2);
}
__device__ int down(int n) { return n == 0 ? 0 : 1 + down(n - 1) * 2 % 5; }
extern "C" __global__ void deep(int *x, const int *which, int n) { x[0] = down(n + which[0]); }
"""
N = 120
RANDOM = np.random.default_rng(5)
X = RANDOM.integers(0, 100, 128).astype(np.int32)
WHICH = RANDOM.integers(0, 3, 128).astype(np.int32)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n):
    return 1 if n == 0 else 2 * odd(n - 1)


def odd(n):
    return 7 if n == 0 else 3 + even(n - 1)


EXPECTED = {
    "by_table": lambda x, which, i: (x + i + 1, x * (i + 1), np.gcd(x, i + 1))[which],
    "by_object": lambda x, which, i: i * x if which == 1 else 9 + x,
    "by_itself": lambda x, which, _i: fibonacci(x % 12) + which,
    "by_each_other": lambda x, which, _i: even(x % 9) if which else odd(x % 9),
}


def inputs(n=N):
    arrays = (ArrayArgument("x", X), ArrayArgument("which", WHICH))
    return Inputs((*arrays, ScalarArgument("n", np.int32(n))))


def check(kernel, name):
    found = compare(kernel, Launch((2, 1, 1), (64, 1, 1)), inputs())
    expected = [EXPECTED[name](int(X[i]), int(WHICH[i]), i) for i in range(N)] + list(X[N:])
    assert found.machine_code.output("x").tolist() == [int(v) for v in expected]
    assert not found.different


@pytest.mark.parametrize("arch", SOME)
@pytest.mark.parametrize("name", EXPECTED)
def test_calls_by_one_kernel(name, arch):
    check(compile_kernel(SOURCE, "calls.cu", name, CompileOptions(arch=arch)), name)


@pytest.mark.parametrize("arch", SOME)
@pytest.mark.parametrize("name", EXPECTED)
def test_calls_of_a_module_of_several_kernels(name, arch):
    """There a pointer is an offset of the function's place in a constant bank."""
    kernels = compile_module(SOURCE, "calls.cu", tuple(EXPECTED), CompileOptions(arch=arch))
    check(kernels[tuple(EXPECTED).index(name)], name)


@pytest.mark.parametrize("which", [0, 1])
def test_pointers_that_a_kernel_keeps_are_good_for_the_next(which):
    names = ("keep", "use_kept")
    kernels = compile_module(SOURCE, "calls.cu", names, CompileOptions(arch="sm_80"))
    keep, use = (replace(k, machine_code=True) for k in kernels)
    memory = DeviceMemory()
    x, y = memory.upload("x", X[:64]), memory.upload("y", WHICH[:64])
    memory.launch(keep, Launch((1, 1, 1), (1, 1, 1)), (np.int32(which),))
    memory.launch(use, Launch((1, 1, 1), (64, 1, 1)), (x, y, np.int32(64)))
    expected = X[:64] * WHICH[:64] if which else X[:64] + WHICH[:64]
    assert np.array_equal(x.download(), expected)


@pytest.mark.parametrize(
    ("name", "n", "message"), [("lost", 1, "no function"), ("deep", 1 << 20, "out of bounds")]
)
def test_calls_that_lead_nowhere_end_the_run(name, n, message):
    kernel = compile_kernel(SOURCE, "calls.cu", name, CompileOptions(arch="sm_80"))
    with pytest.raises(ExecutionError, match=message):
        execute(replace(kernel, machine_code=True), Launch((1, 1, 1), (1, 1, 1)), inputs(n))
