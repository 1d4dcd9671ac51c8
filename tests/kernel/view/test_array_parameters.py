"""A parameter that is declared as an array is a pointer, as in C++."""

import numpy as np
import pytest

from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

SOURCE = """
__global__ void k(const float a[], float out[], const int at[64], int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * a[i] + *(a + at[i % 64]);
}
"""


def case():
    rng = np.random.default_rng(3)
    a, at = rng.standard_normal(100, dtype=np.float32), rng.integers(0, 100, 64, np.int32)
    return make_case("k", SOURCE, [a, np.zeros(100, np.float32), at, np.int32(100)],
                     block=32, problem=100)  # fmt: skip


@pytest.mark.parametrize("space", ["readonly", "texture", "constant", "shared"])
@pytest.mark.parametrize("array", ["a", "at"])
def test_it_is_placed_as_a_pointer_is(array, space):
    one = case()
    written = rewrite(one, Placement.of({array: space}), load_machine("A100"), analyse_source(one))
    runs = []
    for made in (one, written.case):
        named = named_case(made)
        runs.append(execute(compile_case(made), named.launch, named.inputs).output("out"))
    a, _, at = (x.data for x in named_case(one).inputs.arrays)
    assert np.allclose(runs[0], 2 * a + a[at[np.arange(100) % 64]], rtol=1e-6)
    assert np.array_equal(*runs)


LOAD = """
__global__ void k(const float2 *a, float *out) {
    int i = threadIdx.x;
    out[i] = __ldg(a + i).y + 8.0f/__ldg(&a[i]).x;
}
"""


def test_a_load_function_in_front_of_a_member_leaves_parentheses():
    a = np.arange(1, 65, dtype=np.float32).reshape(32, 2)
    one = make_case("k", LOAD, [a, np.zeros(32, np.float32)], block=32, grid=1)
    view = analyse_source(one)
    written = rewrite(one, Placement.of({"a": "constant"}), load_machine("A100"), view).case
    named = named_case(written)
    out = execute(compile_case(written), named.launch, named.inputs).output("out")
    assert np.allclose(out, a[:, 1] + 8 / a[:, 0], rtol=1e-6)
