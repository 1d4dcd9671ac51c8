"""Loops in which each thread goes over a run of neighbouring elements, up to the end of the array:
in tiles they have the same bits in every element, on the inputs that they were written for and on
others."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

RNG = np.random.default_rng(7)
HEAD = """
__global__ void k(float *out, const float *in, int per, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
"""
# Loops with uniform bounds, in which a condition keeps each element inside the array.
COUNTED = "for (int c = 0; c < per; c++) { int i = t * per + c; if (%s) %s }"
# Loops whose bounds vary between the threads of a block.
RUN = (
    "int start = t * per, end = start + per < n ? start + per : n;"
    " for (int i = start; i < end; i++)"
)
OWN = "for (int i = t * per; i < (t + 1) * per && i < n; i++)"
KERNELS = {
    "stored": COUNTED % ("i < n", "out[i] = in[i] * 2;"),
    "updated": COUNTED % ("i < n", "out[i] += in[i];"),
    "from the fifth on": COUNTED % ("i >= 5 && i < n", "out[i] += in[i];"),
    "the smaller of two ends": COUNTED % ("i < min(n, t * per + per - 1)", "out[i] = in[i];"),
    "a run": f"{RUN} out[i] = in[i] * 2;",
    "a run with braces": f"{RUN} {{ float v = in[i];\n if (v > 0) v *= 2;\n out[i] += v; }}",
    "two conditions": f"{OWN} out[i] += in[i];",
    "the last one": "int last = min(t * per + per, n) - 1;"
    "for (int i = t * per; i <= last; ++i) out[i] = in[i];",
    "unsigned": "unsigned u = t; for (unsigned i = u * per; i < min((u + 1) * per, n); i++)"
    " out[i] = in[i];",
    "64 bits": "size_t u = t; for (size_t i = u * per; i < (u + 1) * per && i < n; i++)"
    " out[i] = in[i];",
    "a pragma": "#pragma unroll 4\n" + OWN + "\n  out[i] =\n    in[i];",
    "the larger of two starts": COUNTED % ("i >= max(3, t * per + 1) && i < n", "out[i] = in[i];"),
}


SIZES = ((70, 16, 1000), (33, 17, 200), (64, 8, 509), (96, 5, 1))
"""Threads, elements for each, and elements of the array."""


def made(body: str, threads: int, per: int, n: int):
    """A case with arrays longer than what the threads go over, and no zero in them."""
    out = RNG.integers(1, 99, threads * per + 40).astype("f4")
    data = RNG.uniform(0.5, 2, threads * per + 64).astype("f4")
    arguments = [out, data, np.int32(per), np.int32(n)]
    return make_case("k", f"{HEAD}{body}\n}}\n", arguments, block=32, problem=threads)


@pytest.mark.parametrize("name", KERNELS)
def test_every_element_has_the_same_bits_whatever_the_size(name, clean_output):
    case = made(KERNELS[name], *SIZES[0])
    placement = Placement.of({"in": "shared", "out": "shared"}, 8)
    written = rewrite(case, placement, load_machine("A100"), analyse_source(case)).case
    assert "in_tile[" in written.source
    assert "out_tile[" in written.source
    for threads, per, n in (*SIZES, (70, 16, 1120)):
        other = made(KERNELS[name], threads, per, n)
        assert clean_output(replace(other, source=written.source), "out") == clean_output(
            other, "out"
        ), (threads, per, n)


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_run_that_is_only_read_has_a_tile(buffers, clean_output):
    case = made(f"float s = 0; {RUN} s += in[i]; out[t] = s;", *SIZES[0])
    placement = Placement.of({"in": "shared"}, 8, buffers)
    written = rewrite(case, placement, load_machine("A100"), analyse_source(case)).case
    for threads, per, n in SIZES:
        other = replace(made("", threads, per, n), source=case.source)
        assert clean_output(replace(other, source=written.source), "out") == clean_output(
            other, "out"
        ), (threads, per, n)


def test_a_loop_up_to_the_threads_number_runs_in_chunks(clean_output):
    body = """if (t >= n) return;
    float s = 0;
    for (int j = 0; j <= t; j++)
        for (int c = 0; c < per; c++) s += in[t * per + c] * in[j * per + c];
    out[t] = s;"""
    case = made(body, 70, 8, 66)
    view = analyse_source(case)
    (plan,) = (p for p in view.chunk_plans if "in" in p.arrays)
    placement = Placement.of({"in": "shared"}, plan.iterations[0])
    written = rewrite(case, placement, load_machine("A100"), view).case
    for threads, per, n in ((70, 8, 66), (96, 8, 96), (33, 8, 5)):
        other = made(body, threads, per, n)
        assert clean_output(replace(other, source=written.source), "out") == clean_output(
            other, "out"
        ), (threads, per, n)


STAY = {
    "a way out": f"{OWN} {{ if (in[i] > 1) break; out[i] = in[i]; }}",
    "a lower bound": "for (int i = t * per - 3; i >= 0 && i < t * per + 9; i++) out[i] = in[i];",
    "an end that must be met": "for (int i = t * per; i != t * per + per; i++) out[i] = in[i];",
    "an end that moves": f"{RUN} {{ out[i] = in[i]; end--; }}",
    "an end in memory": "for (int i = t * per; i < t * per + in[t]; i++) out[i] = in[i];",
    "a variable of before": "int i; for (i = t * per; i < t * per + per; i++) out[i] = in[i];",
    "a stride": "for (int i = t; i < n; i += 64) out[i] = in[i];",
    "a hidden argument": f"{RUN.split(' for')[0]} {{ int per = 3; for{RUN.split(' for')[1]}"
    " out[i] = in[i] * per; }",
    "a barrier": f"{OWN} {{ out[i] = in[i]; __syncthreads(); }}",
}


@pytest.mark.parametrize("what", STAY)
def test_other_loops_stay(what):
    view = analyse_source(made(STAY[what], 64, 16, 1024))
    assert view.inlined is None
    assert not view.chunk_plans
