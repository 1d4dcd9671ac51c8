"""Arrays that a kernel reads only as elements of another type are arrays of those."""

import numpy as np
import pytest

from placewise import make_case
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

BODY = """struct Body { float x, y, z, mass; };
struct Wide { float x, y, z, vx, vy, vz, mass, age; };
__global__ void k(const KIND *a, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int j = 0; j < n; j++) {
        float4 v = reinterpret_cast<const float4 *>(a)[INDEX];
        s += v.x * v.y - v.z * v.w + i;
    }
    o[i] = s;
}
"""
FORMS = {
    "numbers": ("float", "j", "f4", 4),
    "structs of one vector": ("Body", "j", [(n, "f4") for n in ("x", "y", "z", "mass")], 1),
    "structs of two vectors": (
        "Wide", "2 * j + 1",
        [(n, "f4") for n in ("x", "y", "z", "vx", "vy", "vz", "mass", "age")], 1,
    ),
}  # fmt: skip


def case(form, seed):
    kind, index, dtype, each = FORMS[form]
    source = BODY.replace("KIND", kind).replace("INDEX", index)
    n = 64
    data = np.random.default_rng(seed).uniform(-1, 1, 16 * n).astype("f4").view(dtype)[: n * each]
    return make_case("k", source, [data, np.zeros(64, np.float32), np.int32(n)], block=32, grid=2)


def run(one):
    named, checker = named_case(one), Checker()
    ran = execute(compile_case(one), named.launch, named.inputs, check=checker)
    assert checker.clean
    return ran.output("o")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("space", ["readonly", "streaming", "texture", "constant", "shared"])
def test_every_memory_computes_the_same(form, space):
    machine, placement = load_machine("A100"), Placement.of({"a": space})
    one, other = case(form, 1), case(form, 2)
    view = analyse_source(one)
    assert view.array("a").read_as == "float4"
    written = rewrite(one, placement, machine, view)
    again = rewrite(other, placement, machine, analyse_source(other))
    assert again.case.source == written.case.source
    assert np.array_equal(run(written.case), run(one))
    assert np.array_equal(run(again.case), run(other))
    if space == "texture":
        assert "tex1Dfetch<float4>" in written.case.source


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_over_them_runs_in_chunks(form):
    one = case(form, 1)
    placement = Placement.of({"a": "shared"}, chunk=16)
    written = rewrite(one, placement, load_machine("A100"), analyse_source(one))
    assert np.array_equal(run(written.case), run(one))


def test_bytes_that_are_read_as_words_are_words_in_constant_memory():
    """The written case can be run again: its constant has the type that its buffer is declared
    with."""
    source = """
    __global__ void k(const unsigned char *a, float *o) {
        const float *words = (const float *)a;
        o[threadIdx.x] = words[threadIdx.x];
    }
    """
    data = np.random.default_rng(2).random(32, np.float32)
    given = make_case(
        "k", source, [data.view(np.uint8), np.zeros(32, np.float32)], block=32, grid=1
    )
    placement = Placement((("a", "constant"),))
    found = rewrite(given, placement, load_machine("A100"), analyse_source(given))
    named = named_case(found.case)
    result = execute(compile_case(named), named.launch, named.inputs)
    np.testing.assert_array_equal(result.output("o"), data)
