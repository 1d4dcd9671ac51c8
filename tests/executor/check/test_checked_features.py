"""Kernels without a fault that allocate, recurse, copy in bulk or use tensor cores stay clean."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import run
from test_async_copies import BULK, LIBRARY
from test_calls import HEAP, VIRTUAL
from test_tensor_core_kernels import multiply

from placewise.executor.check import Checker

RECURSIVE = """
__device__ int fib(int n) {
    int own[3] = {n, n - 1, n - 2};
    return n < 2 ? own[0] : fib(own[1]) + fib(own[(n & 0) + 2]);
}
extern "C" __global__ void k(int* out) { out[threadIdx.x] = fib(threadIdx.x % 9); }"""
VECTORS = """
extern "C" __global__ void k(float4* total, const float4* x) {
    atomicAdd(total + (threadIdx.x & 1), x[threadIdx.x]);
}"""


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


def recursion(**options):
    run(RECURSIVE, "k", 1, 64, out=zeros(64), **options)


def virtual_calls(**options):
    kind = np.arange(64, dtype=np.int32) % 4
    area = zeros(64, dtype=np.float32)
    run(VIRTUAL, "k", 1, 64, area=area, sides=zeros(64), kind=kind, **options)


def allocation(**options):
    run(HEAP, "k", 3, 40, out=zeros(120), kept=zeros(120), length=np.int32(3), **options)


def tensor_cores(**options):
    multiply(32, 32, 32, **options)


def bulk_copies(**options):
    data = zeros(3, 100, dtype=np.float32)
    words = np.int32(100)
    run(BULK, "k", 3, 64, arch="sm_90", shared=400, out=data, in_=data, words=words, **options)


def library_copies(**options):
    data = zeros(3, 96)
    run(LIBRARY["copy"], "k", 1, 96, arch="sm_90", out=data, in_=data, **options)


def vector_atomics(**options):
    x = np.ones((128, 4), np.float32)
    run(VECTORS, "k", 2, 64, arch="sm_90", total=zeros(2, 4, dtype=np.float32), x=x, **options)


@pytest.mark.parametrize(
    "program",
    [
        recursion,
        virtual_calls,
        allocation,
        tensor_cores,
        bulk_copies,
        library_copies,
        vector_atomics,
    ],
)
def test_nothing_is_found_in_it(program):
    checker = Checker()
    program(options={"check": checker})
    assert not checker.findings
