"""What decides about accesses and branches, on kernels read by hand."""

import numpy as np
import pytest
from numba import cuda

from placewise import kernel_from
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.launches.facts import check_read_only_loads, facts_of

HEAD = "__global__ void f(const float *x, const int *at, float *y, int n, float a, int s) {"


@pytest.mark.parametrize(
    ("body", "deciding"),
    [
        ("if (threadIdx.x < n) y[threadIdx.x] = a * x[threadIdx.x] + s;", {0, 2, 3}),
        ("y[threadIdx.x + s] = a * x[threadIdx.x] + n;", {0, 2, 5}),
        ("y[threadIdx.x] = x[at[threadIdx.x]] * a * n * s;", {0, 1, 2}),
        ("if (a > 0) y[threadIdx.x] = s * n * x[0];", {0, 2, 4}),
        ("int i = a > 0 ? n : s; y[i] = x[i];", {0, 2, 3, 4, 5}),
        ("float t = 0; for (int k = 0; k < n; k++) t += s * x[k]; y[0] = t * a;", {0, 2, 3}),
    ],
)
def test_deciding_arguments(body, deciding):
    kernel = kernel_from(HEAD + body + "}\n", "f")
    assert facts_of(kernel, frozenset({0, 1, 2})).deciding == deciding


def test_an_index_that_goes_through_shared_memory():
    """``s`` decides where is loaded, ``n`` only what is stored."""
    body = """__shared__ int place[64];
    place[threadIdx.x] = threadIdx.x * s;
    __syncthreads();
    y[threadIdx.x] = x[place[63 - threadIdx.x]] + n; }
    """
    kernel = kernel_from(HEAD + body, "f")
    assert facts_of(kernel, frozenset({0, 1, 2})).deciding == {0, 2, 5}


def test_an_index_that_goes_through_an_array():
    """``n`` is stored in the array that indices are read from, ``s`` in another one."""
    source = """__global__ void f(int *at, float *y, int n, int s) {
        at[threadIdx.x] = n;
        __syncthreads();
        y[at[63 - threadIdx.x]] = s;
    }"""
    assert facts_of(kernel_from(source, "f"), frozenset({0, 1})).deciding == {0, 1, 2}


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def test_arguments_of_numba():
    """``a`` is the first argument; arrays are groups of parameters."""
    x = np.ones(8, np.float32)
    kernel = kernel_from(saxpy, arguments=[np.float32(1), x, x])
    assert facts_of(kernel, frozenset({1, 2})).deciding == {1, 2}


def with_read_only(kernel, *numbers):
    """``kernel`` with some of its loads from global memory made ``.nc``, by their order."""
    from dataclasses import replace

    head, *rest = kernel.ptx.split("ld.global.")
    assert len(rest) > max(numbers)
    text = head + "".join(
        ("ld.global.nc." if n in numbers else "ld.global.") + part for n, part in enumerate(rest)
    )
    return replace(kernel, ptx=text)


def test_read_only_loads_of_what_is_never_written():
    kernel = kernel_from(HEAD + "y[threadIdx.x] += x[threadIdx.x]; }\n", "f")
    arrays = frozenset({0, 1, 2})
    loads = kernel.ptx.split("ld.global.")
    assert len(loads) == 3
    outcomes = []
    for number in (0, 1):
        try:
            check_read_only_loads(with_read_only(kernel, number), arrays)
            outcomes.append(True)
        except DoubtError:
            outcomes.append(False)
    # One of the two loads is x's, the other y's, which is written.
    assert sorted(outcomes) == [False, True]


def test_read_only_loads_through_a_chosen_pointer():
    """A load that may be of either array is none of the read-only one."""
    source = """__global__ void f(const float *x, float *y, int n) {
        const float *p = threadIdx.x < n ? x : y;
        y[threadIdx.x] = p[threadIdx.x + 32];
    }"""
    kernel = kernel_from(source, "f")
    with pytest.raises(DoubtError, match="might write to data"):
        check_read_only_loads(with_read_only(kernel, 0), frozenset({0, 1}))


def test_stores_through_unknown_addresses():
    source = """__global__ void f(const float *x, long long where) {
        *(float *)where = x[threadIdx.x];
    }"""
    kernel = kernel_from(source, "f")
    with pytest.raises(DoubtError, match="unknown address"):
        check_read_only_loads(with_read_only(kernel, 0), frozenset({0}))
