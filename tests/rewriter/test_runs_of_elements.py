"""Loops in which each thread goes over a run of neighbouring elements, up to the end of the array:
in tiles they have the same bits in every element, on the inputs that they were written for and on
others."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

RNG = np.random.default_rng(7)
HEAD = """
__global__ void k(float *out, const float *in, int per, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
"""
COUNTED = "for (int c = 0; c < per; c++) { int i = t * per + c; if (%s) %s }"
KERNELS = {
    "stored": COUNTED % ("i < n", "out[i] = in[i] * 2;"),
    "updated": COUNTED % ("i < n", "out[i] += in[i];"),
    "from the fifth on": COUNTED % ("i >= 5 && i < n", "out[i] += in[i];"),
    "the smaller of two ends": COUNTED % ("i < min(n, t * per + per - 1)", "out[i] = in[i];"),
    "the larger of two starts": COUNTED % ("i >= max(3, t * per + 1) && i < n", "out[i] = in[i];"),
}


def made(body: str, threads: int, per: int, n: int):
    """A case with arrays longer than what the threads go over, and no zero in them."""
    out = RNG.integers(1, 99, threads * per + 40).astype("f4")
    data = RNG.uniform(0.5, 2, threads * per + 64).astype("f4")
    arguments = [out, data, np.int32(per), np.int32(n)]
    return make_case("k", f"{HEAD}{body}\n}}\n", arguments, block=32, problem=threads)


def run(case):
    named, checker = named_case(case), Checker()
    found = execute(compile_case(case), named.launch, named.inputs, check=checker)
    assert not checker.findings
    return found.output("out").tobytes()


@pytest.mark.parametrize("name", KERNELS)
def test_every_element_has_the_same_bits_whatever_the_size(name):
    case = made(KERNELS[name], 70, 16, 1000)
    placement = Placement.of({"in": "shared", "out": "shared"}, 8)
    written = rewrite(case, placement, load_machine("A100"), analyse_source(case)).case
    assert "in_tile[" in written.source
    assert "out_tile[" in written.source
    for threads, per, n in (
        (70, 16, 1000),
        (70, 16, 1120),
        (33, 17, 200),
        (64, 8, 509),
        (96, 5, 1),
    ):
        other = made(KERNELS[name], threads, per, n)
        assert run(replace(other, source=written.source)) == run(other), (threads, per, n)
