"""Layouts and placements searched together."""

import numpy as np
import pytest

from placewise import advise_jointly, make_case
from placewise.advisor import Demand
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case
from placewise.report.layouts.joint import write_joint_files

DTYPE = np.dtype([(n, "f4") for n in "xyzw"] + [("cold", "f4", 4)], align=True)
SOURCE = """struct P { float x, y, z, w; float cold[4]; };
__global__ void k(const P *p, const float *weights, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int j = 0; j < m; j++)
        if (i < n) s += weights[j] * p[i].x;
    if (i < n) out[i] = s;
}"""


def case(n=1 << 14, m=64):
    p = np.zeros(n, DTYPE)
    p["x"] = np.arange(n)
    arrays = [p, np.ones(m, np.float32), np.zeros(n, np.float32)]
    return make_case("k", SOURCE, [*arrays, np.int32(n), np.int32(m)], block=256, problem=n)


@pytest.mark.slow
def test_the_best_form_may_change_both():
    advice = advise_jointly(case(), "A100", finalists=3)
    layouts = {f.layout is None for f in advice.forms}
    placed = {f.option is None for f in advice.forms}
    assert layouts == placed == {True, False}
    assert [f.ratio.ratio for f in advice.forms] == sorted(f.ratio.ratio for f in advice.forms)
    best = advice.recommended
    assert best is not None
    frame = advice.to_dataframe()
    assert len(frame) == len(advice.forms) + 1
    assert frame["ratio"].iloc[-1] == 1.0
    assert list(frame.loc[frame["recommended"], "milliseconds"]) == [best.timed.ms]
    assert best.layout is not None
    assert best.ratio.ratio <= advice.forms[0].ratio.ratio * 1.02
    # The form that is handed out computes what the kernel did.
    named = advice.case
    expected = execute(compile_case(named), named.launch, named.inputs).output("out")
    found = execute(compile_case(best.case), best.case.launch, best.case.inputs).output("out")
    assert np.array_equal(found, expected)


def test_machines_whose_times_are_not_predicted_are_refused():
    with pytest.raises(UnsupportedError, match="compared by their times"):
        advise_jointly(case(n=256, m=2), "K20c")


GATHER = """__global__ void gather(const float *x, const float *y, const int *near, float *sum,
                       int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = x[near[i]] + y[near[i]];
}"""


@pytest.mark.slow
def test_separate_arrays_are_joined_and_placed_together(tmp_path):
    n = 1 << 15
    rng = np.random.default_rng(2)
    given = [rng.random(n, np.float32), rng.random(n, np.float32), rng.integers(0, n, n, np.int32),
             np.zeros(n, np.float32), np.int32(n)]  # fmt: skip
    made = make_case("gather", GATHER, given, block=256, problem=n)
    advice = advise_jointly(made, "A100", join=("x", "y"), finalists=1, demand=Demand(0.5, 0.0))
    best = advice.recommended
    assert best is not None
    assert best.layout is not None
    files = {f.name: f.read_text() for f in write_joint_files(advice, tmp_path / "out")}
    assert set(files) == {"joint.json", "gather.cu", "gather-convert.cuh", "gather_convert.py"} | {
        name for name in files if "-host" in name
    }
    # The conversions take the arrays as the program has them.
    assert "(const float *x, const float *y, " in files["gather-convert.cuh"]
    assert "_from_arrays(x, y)" in files["gather_convert.py"]
