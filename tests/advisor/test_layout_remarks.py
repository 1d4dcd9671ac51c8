"""Lint names the layout that mends an array of structs."""

import numpy as np

from placewise import lint, make_case

SOURCE = """struct P { float x, y; float cold[14]; };
__global__ void push(P *p, float *plain, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { p[i].x += p[i].y; plain[i * 16] = 1; }
}"""


def test_an_array_of_structs_has_its_layout_named_a_plain_one_has_none():
    n = 1 << 14
    given = [np.zeros((n, 16), np.float32), np.zeros(n * 16, np.float32), np.int32(n)]
    report = lint(make_case("push", SOURCE, given, block=256, problem=n), "A100")
    by_array = {r.array: r.message for r in report.remarks}
    assert "placewise layout" in by_array["p"]
    assert "times the traffic" in by_array["p"]
    assert "placewise layout" not in by_array["plain"]


def test_a_struct_that_is_refused_keeps_its_remark():
    n = 1 << 12
    source = SOURCE.replace("p[i].x += p[i].y;", "float *q = (float *)(p + i); q[0] += q[1];")
    given = [np.zeros((n, 16), np.float32), np.zeros(n * 16, np.float32), np.int32(n)]
    report = lint(make_case("push", source, given, block=256, problem=n), "A100")
    messages = [r.message for r in report.remarks if r.array == "p"]
    assert messages
    assert not any("placewise layout" in m for m in messages)
