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


GATHER = """__device__ float at(const float *q, int j) { return q[j]; }
__global__ void gather(const float *x, const float *y, const float *z, const float *w,
                       const int *near, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { int j = near[i]; sum[i] = at(x, j) + y[j] * z[j] + w[i]; }
}"""


def test_separate_arrays_that_are_looked_up_have_joining_named():
    n = 1 << 14
    rng = np.random.default_rng(3)
    given = [*(rng.random(n, np.float32) for _ in "xyzw"), rng.integers(0, n, n, np.int32),
             np.zeros(n, np.float32), np.int32(n)]  # fmt: skip
    report = lint(make_case("gather", GATHER, given, block=256, problem=n), "A100")
    by_array = {r.array: r.message for r in report.remarks if "uncoalesced" in r.rule.value}
    assert "x, y, z as one array of structs" in by_array["y"]
    assert "times their traffic (`placewise layout --join x,y,z`" in by_array["z"]
    assert "sum" not in by_array
