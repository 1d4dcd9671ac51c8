"""Tiles of kernels that take a thread's number apart by quotients and remainders.

They hold where no block passes a period. The launch decides that: the kernel is for it alone."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import ExecutionError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement

SCORES = """
__global__ void scores(const float *x, float *y, int B, int T, int H, int D) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < B * H * T * T) {
        int key = at % T, query = (at / T) % T;
        if (key > query) {
            y[at] = -1.0f;
            return;
        }
        int head = (at / (T * T)) % H, batch = at / (H * T * T);
        int width = D * 3;
        const float *q = x + batch * T * width + query * width + head * (D / H);
        const float *k = x + batch * T * width + key * width + head * (D / H) + D;
        float sum = 0.0f;
        for (int i = 0; i < D / H; i++) sum += q[i] * k[i];
        y[at] = sum;
    }
}
"""
EARLY = """
__global__ void early(const float *a, const float *b, float *c, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    if (i == j) { c[i * n + j] = 1.0f; { int k = i; c[k * n + j] += a[i * m]; } return; }
    float sum = 0.0f;
    for (int k = 0; k < m; k++) sum += a[i * m + k] * b[k * n + j];
    if (sum < 0) { c[i * n + j] = 0; return; }
    c[i * n + j] = sum;
}
"""


def floats(*shape, seed=3):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def scores(batches, length, heads, depth, *, block=32, seed=3):
    x = floats(batches, length, 3 * depth, seed=seed)
    y = floats(batches, heads, length, length)
    numbers = map(np.int32, (batches, length, heads, depth))
    return make_case("scores", SCORES, [x, y, *numbers], block=block, problem=y.size)


def early(n, m):
    arrays = floats(n, m), floats(m, n), floats(n, n)
    return make_case(
        "early", EARLY, [*arrays, np.int32(n), np.int32(m)], block=(16, 8), problem=(n, n)
    )


def outputs(case, checked=False):
    named, checker = named_case(case), Checker()
    run = execute(
        compile_case(case), named.launch, named.inputs, check=checker if checked else None
    )
    assert not checker.findings
    return {name: data.tobytes() for name, data in run.outputs if name in run.written}


def chunked(case, machine, arrays, iterations, buffers=1):
    placement = Placement.of(dict.fromkeys(arrays, "shared"), iterations, buffers)
    return rewrite(case, placement, machine, analyse_source(case)).case


def test_rows_of_a_remainder_are_one_blocks_rows():
    (plan,) = analyse_source(scores(2, 64, 3, 60)).chunk_plans
    query, key = (one.tile(8) for one in plan.loops[0].tiles)
    assert (query.rows, query.width) == (1, 8)
    assert (key.rows, key.width, key.pitch, key.padding) == (32, 8, 180, 4)
    assert {"T", "H", "gridDim.x"} <= set(key.bound_to)


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("iterations", [4, 16])
def test_tiles_of_one_launch_compute_the_same_bits(machine, iterations, buffers):
    case = scores(2, 64, 3, 60)
    written = chunked(case, machine, ("x",), iterations, buffers)
    for seed in (3, 4):
        other = scores(2, 64, 3, 60, seed=seed)
        moved = replace(written, inputs=other.inputs)
        assert outputs(moved, checked=True) == outputs(other)


def test_another_launch_traps(machine):
    written = chunked(scores(2, 64, 3, 60), machine, ("x",), 8)
    for other in (scores(2, 32, 3, 60), scores(1, 64, 6, 60)):
        with pytest.raises(ExecutionError, match="trap"):
            outputs(replace(other, source=written.source))


def test_tiles_of_blocks_that_pass_a_period_hold_all_rows(machine):
    case = scores(2, 96, 3, 60, block=64)
    (plan,) = analyse_source(case).chunk_plans
    assert [one.tile(4).rows for one in plan.loops[0].tiles] == [2, 96]
    assert outputs(chunked(case, machine, ("x",), 4), checked=True) == outputs(case)


@pytest.mark.parametrize("iterations", [4, 16])
def test_results_before_an_early_return_stay(machine, iterations):
    sizes = ((48, 40), (33, 17), (9, 5))
    written = chunked(early(*sizes[0]), machine, ("a", "b"), iterations)
    for size in sizes:
        case = early(*size)
        assert outputs(replace(case, source=written.source), checked=True) == outputs(case), size


@pytest.mark.parametrize(
    "body",
    [
        "if (i < n) { if (j == 3) { c[i] = 2; return; } LOOP } c[i * n + j] = 5;",
        "for (int r = 0; r < 2; r++) { if (j == r) { c[i] = 2; return; } LOOP }",
        "if (j == 3) { if (i == 1) return; c[i] = 2; return; } LOOP",
        "for (int r = 0; r < 2; r++) { LOOP if (sum > 9) return; }",
        "if (i < n) { LOOP if (sum > 9) return; } c[i * n + j] = 5;",
        "return; LOOP",
        "int k; for (int r = 0; r < 2; r++) BARE",
        "for (int r = 0; r < 2; r++) if (i < n) LOOP",
    ],
)
def test_returns_that_skip_more_than_the_loop_are_not_followed(body):
    loop = "for (int k = 0; k < m; k++) sum += a[i * m + k] * b[k * n + j];"
    head, _, _ = EARLY.partition("    if (i >= n")
    body = body.replace("BARE", loop.replace("int k", "k"))
    source = f"{head} float sum = 0; {body.replace('LOOP', loop)} c[i * n + j] += sum; }}"
    assert not analyse_source(replace(early(48, 40), source=source)).chunk_plans
