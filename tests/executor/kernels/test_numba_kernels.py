"""Numba functions: compiled without a GPU, launched with the arguments that Numba takes."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from placewise.errors import CaseError, CompileError, UnsupportedError
from placewise.executor import DeviceMemory, execute
from placewise.kernel.frontends.numba_kernel import numba_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

cuda = pytest.importorskip("numba.cuda")
pytest.importorskip("numba_cuda")

TILE = 8
PADDED = TILE + 1


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit(fastmath=True)
def transposed(a, b):
    tile = cuda.shared.array((TILE, PADDED), dtype=np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = tile[tx, ty]


@cuda.jit
def kinds(flag, small, c, total, out):
    i = cuda.grid(1)
    if flag and i < out.shape[0]:
        out[i] = c * small + out[i]
        cuda.atomic.add(total, 0, i)


@cuda.jit
def dynamic(x):
    shared = cuda.shared.array(0, dtype=np.int32)
    i = cuda.threadIdx.x
    shared[i] = x[i]
    cuda.syncthreads()
    x[i] = shared[cuda.blockDim.x - 1 - i]


def plain(x):
    x[cuda.grid(1)] = math.sqrt(x[cuda.grid(1)])


LINE = Launch((4, 1, 1), (32, 1, 1))


def test_arrays_and_numbers_as_numba_takes_them() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 100)).astype(np.float32)
    memory = DeviceMemory()
    dx, dy = memory.upload("x", x), memory.upload("y", y)
    out = memory.alloc("out", 100, np.float32)
    kernel = numba_kernel(saxpy, [np.float32(1.5), dx, dy, out])
    assert (kernel.name, kernel.arch) == ("saxpy", "sm_80")
    result = memory.launch(kernel, LINE, [np.float32(1.5), dx, dy, out])
    # Numba contracts to a fused multiply-add: one rounding.
    exact = 1.5 * x.astype(np.float64) + y
    assert np.array_equal(out.download(), exact.astype(np.float32))
    assert result.written == {"out"}
    assert {site.source_file for site in result.sites} == {__file__}
    start = saxpy.py_func.__code__.co_firstlineno
    assert {site.source_line for site in result.sites} == {start + 4}


def test_matrices_have_their_shape() -> None:
    a = np.arange(13 * 21, dtype=np.float32).reshape(13, 21)
    kernel = numba_kernel(transposed, [a, a.T.copy()])
    inputs = Inputs((ArrayArgument("a", a), ArrayArgument("b", np.zeros((21, 13), np.float32))))
    result = execute(kernel, Launch((3, 2, 1), (TILE, TILE, 1)), inputs)
    assert np.array_equal(result.output("b"), a.T)


@pytest.mark.parametrize("flag", [False, True])
def test_booleans_small_integers_and_complex_numbers(flag: bool) -> None:
    memory = DeviceMemory()
    out = memory.upload("out", np.arange(50) * np.complex64(1j))
    total = memory.upload("total", np.zeros(1, np.int64))
    given = [flag, np.int8(-3), np.complex64(2 + 5j), total, out]
    kernel = numba_kernel(kinds, given)
    memory.launch(kernel, LINE, given)
    expected = np.arange(50) * 1j + (np.complex64(2 + 5j) * -3 if flag else 0)
    assert np.array_equal(out.download(), expected.astype(np.complex64))
    assert total.download()[0] == (49 * 50 // 2 if flag else 0)


def test_dynamic_shared_memory_and_plain_functions() -> None:
    memory = DeviceMemory()
    x = memory.upload("x", np.arange(32, dtype=np.int32))
    memory.launch(numba_kernel(dynamic, [x]), Launch((1, 1, 1), (32, 1, 1), 128), [x])
    assert np.array_equal(x.download(), np.arange(32)[::-1])
    y = memory.upload("y", np.arange(128, dtype=np.float64))
    memory.launch(numba_kernel(plain, [y], arch="sm_90"), LINE, [y])
    assert np.array_equal(y.download(), np.sqrt(np.arange(128)))


def test_types_in_place_of_arguments() -> None:
    from numba import types

    kernel = numba_kernel(saxpy, [types.float32, *[types.float32[::1]] * 3], arch="sm_75")
    values = np.arange(4, dtype=np.float32)
    arguments = (
        ScalarArgument("a", np.int32(2)),
        *(ArrayArgument(name, values) for name in ("x", "y", "out")),
    )
    result = execute(kernel, LINE, Inputs(arguments))
    assert np.array_equal(result.output("out"), 3 * values)


def test_arguments_that_the_kernel_was_not_compiled_for() -> None:
    memory = DeviceMemory()
    x = memory.upload("x", np.zeros(4, np.float32))
    table = memory.upload("table", np.zeros((2, 2), np.float32))
    double = memory.upload("double", np.zeros(4))
    kernel = numba_kernel(saxpy, [np.float32(1), x, x, x])
    for arguments, message in (
        ([1.0, x, x], "takes 4 arguments, but 3 are given"),
        ([1.0, x, x, table], r"argument 4: array 'table' has 2 dimensions of float32, but .* 1 of"),
        ([1.0, x, double, x], r"argument 3: array 'double' has 1 dimensions of float64.*\n  hint"),
        ([1.0, x, 3.0, x], "argument 3: the kernel was compiled for an array of float32, not a fl"),
        ([x, x, x, x], "argument 1: the kernel was compiled for a float32, not an array"),
        ([1j, x, x, x], "argument 1: .*float32, 1j does not fit"),
        ([1.0, x, x.at(1), x], "argument 3: .* an array of float32, not a pointer"),
    ):
        with pytest.raises(CaseError, match=message):
            memory.launch(kernel, LINE, arguments)
    small = numba_kernel(kinds, [True, np.int8(1), np.complex64(0), x, np.zeros(1, np.complex64)])
    out = memory.upload("out", np.zeros(1, np.complex64))
    with pytest.raises(CaseError, match="argument 2: 200 does not fit the int8"):
        memory.launch(small, LINE, [True, 200, np.complex64(0), x, out])


@cuda.jit
def unknown_name(x):
    x[0] = nowhere  # noqa: F821


@cuda.jit(link=["other.ptx"])
def linked(x):
    x[0] = 1


def test_functions_that_cannot_be_compiled() -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(CompileError, match=r"Numba refuses it: .*nowhere") as caught:
        numba_kernel(unknown_name, [x])
    line = unknown_name.py_func.__code__.co_firstlineno
    assert caught.value.where in (f"{__file__}:{line}", f"{__file__}:{line + 2}")
    with pytest.raises(UnsupportedError, match=r"option link of @cuda.jit"):
        numba_kernel(linked, [x])
    with pytest.raises(CaseError, match="is no Numba kernel"):
        numba_kernel(3, [x])
    with pytest.raises(CaseError, match=r"argument 1: the array of shape .* not contiguous"):
        numba_kernel(plain, [x[::2]])
    with pytest.raises(CaseError, match=r"argument 1: Numba cannot pass a dict"):
        numba_kernel(plain, [{}])
    with pytest.raises(UnsupportedError, match=r"argument 1: values of Numba's type .*Tuple"):
        numba_kernel(plain, [(1, 2)])


SIMULATED = """
import numpy as np, placewise
from numba import cuda

@cuda.jit
def zero(x):
    x[cuda.grid(1)] = 0

placewise.execute(placewise.make_case("zero", zero, [np.ones(32)], block=32, grid=1))
"""


def test_the_simulator_of_numba_is_named() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "CaseError: numba: NUMBA_ENABLE_CUDASIM is set" in ran.stderr
    assert "hint: unset it" in ran.stderr


@cuda.jit
def halves(x):
    i = cuda.grid(1)
    x[i] = x[i] * x[i]


@cuda.jit
def converted(x):
    i = cuda.grid(1)
    x[i] = np.float32(x[i]) * np.float32(2)


@cuda.jit
def whole_grid(x):
    cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = 1


def test_functions_that_numba_links_at_a_launch_are_not_covered() -> None:
    half = np.arange(128, dtype=np.float16)
    for function in (halves, plain):
        with pytest.raises(UnsupportedError, match="half-precision arithmetic in Numba"):
            numba_kernel(function, [half])
    with pytest.raises(UnsupportedError, match=r"links 'cudaCG\w+' .*\n  hint: cooperative grids"):
        numba_kernel(whole_grid, [np.zeros(128)])
    memory = DeviceMemory()
    x = memory.upload("x", half)
    memory.launch(numba_kernel(converted, [x]), LINE, [x])
    assert np.array_equal(x.download(), 2 * half)


@cuda.jit(device=True)
def square(value):
    return value * value


@cuda.jit(device=True)
def squared_length(z):
    return square(z.real) + square(z.imag)


@cuda.jit(device=True)
def escape(c, limit):
    z = 0j
    for n in range(limit):
        if squared_length(z) >= 4.0:
            return n
        z = z * z + c
    return limit


@cuda.jit
def mandelbrot(points, limit, out):
    i = cuda.grid(1)
    if i < points.size:
        out[i] = escape(points[i], limit)


@cuda.jit(device=True)
def clamp(value, low=0, high=1):
    return min(max(value, low), high)


@cuda.jit
def clamped(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = clamp(x[i])
        y[i] = clamp(y[i], -5, 5)


def test_device_functions_that_call_device_functions() -> None:
    re, im = np.meshgrid(np.linspace(-2, 1, 30), np.linspace(-1, 1, 20))
    points, limit = (re + 1j * im).ravel(), 25
    memory = DeviceMemory()
    given = [memory.upload("points", points), limit, memory.alloc("out", 600, np.int32)]
    memory.launch(numba_kernel(mandelbrot, given), Launch((5, 1, 1), (128, 1, 1)), given)
    expected, z = np.full(600, limit), np.zeros(600, complex)
    for n in range(limit):
        expected[(expected == limit) & (z.real**2 + z.imag**2 >= 4)] = n
        alive = expected == limit
        z[alive] = z[alive] ** 2 + points[alive]
    assert np.array_equal(given[2].download(), expected)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_device_functions_for_several_types_and_targets(arch: str) -> None:
    x, y = np.linspace(-1, 2, 128), np.arange(-64, 64, dtype=np.int64)
    memory = DeviceMemory()
    given = [memory.upload("x", x), memory.upload("y", y)]
    kernel = numba_kernel(clamped, given, arch=arch)
    memory.launch(kernel, LINE, given)
    assert kernel.arch == arch
    assert np.array_equal(given[0].download(), np.clip(x, 0, 1))
    assert np.array_equal(given[1].download(), np.clip(y, -5, 5))


def test_random_numbers_of_numba() -> None:
    from numba.cuda import random

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = random.xoroshiro128p_uniform_float64(states, i)

    states = np.zeros(128, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(states, np.uint64(1), 0)
    memory = DeviceMemory()
    out = memory.alloc("out", 128, np.float64)
    given = [memory.upload("states", states), out]
    memory.launch(numba_kernel(draw, given), LINE, given)
    # The generator's first draw is the sum of its two words, of which 53 bits make the number.
    first = (states["s0"] + states["s1"]) >> np.uint64(11)
    assert np.array_equal(out.download(), first * 2.0**-53)
