"""For which launches alone a rewritten kernel holds, in words and in its code."""

import numpy as np

import placewise
from placewise.advisor.advice import Option
from placewise.advisor.explain.notes import bound_note
from placewise.model import SAME, Prediction
from placewise.space import Placement

SOURCE = """
__global__ void f(const float *table, float *out, int n, int other) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += table[k] * other;
    out[i] = sum;
}
"""


def _option(rewritten):
    nothing = Prediction("path", 1.0, (), (1.0, 1.0), absolute=False)
    return Option(Placement.of({}), nothing, SAME, None, rewritten=rewritten)


def test_the_note_names_what_the_kernel_checks():
    arguments = [np.ones(40, np.float32), np.zeros(128, np.float32), np.int32(40), np.int32(3)]
    case = placewise.make_case("f", SOURCE, arguments, block=64, grid=2)
    rewritten = placewise.rewrite(case, {"table": "shared"}, "A100")
    checks = dict(rewritten.checks)
    assert {f"blockDim.{axis}": n for axis, n in zip("xyz", (64, 1, 1), strict=True)} == {
        name: value for name, value in checks.items() if name.startswith("blockDim")
    }
    for name, value in checks.items():
        assert f"{name} != {value}" in rewritten.case.source
    (note,) = bound_note(_option(rewritten))
    assert "blocks of 64 × 1 × 1 threads" in note
    assert ("n = 40" in note) == ("n" in checks)


def test_there_is_no_note_on_what_holds_everywhere():
    arguments = [np.ones(40, np.float32), np.zeros(128, np.float32), np.int32(40), np.int32(3)]
    case = placewise.make_case("f", SOURCE, arguments, block=64, grid=2)
    rewritten = placewise.rewrite(case, {"table": "readonly"}, "A100")
    assert rewritten.checks == ()
    assert bound_note(_option(rewritten)) == ()
    assert bound_note(_option(None)) == ()
    assert bound_note(None) == ()
