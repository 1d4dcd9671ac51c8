"""Static costs of a user's layouts, beside costs worked out by hand."""

import numpy as np
import pytest

from placewise import advise_layout, estimate_layouts, make_case
from placewise.errors import CaseError, UnsupportedError

ADDITION = """struct Pair { float x, y; };
__global__ void add(const Pair *in, float *result) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    result[tid] = in[tid].x + in[tid].y;
}"""
WARPS = 64 * 256 // 32


def addition():
    pairs = np.zeros(64 * 256, [("x", "f4"), ("y", "f4")])
    given = {"in": pairs, "result": np.zeros(64 * 256, np.float32)}
    return make_case("add", ADDITION, given, grid=64, block=256)


def test_the_papers_vector_addition():
    """Section IV-F by hand: as structs of 8 bytes, x costs two transactions from DRAM and y two
    hits of L1; as arrays each costs one from DRAM."""
    found = estimate_layouts(addition(), "A100")
    (structs,) = found.structs
    assert structs.present.total == WARPS * (2 * 100 + 2 * 1 + 100)
    (option,) = structs.options
    assert option.layout.describe() == "{x} {y}"
    assert option.cost.total == WARPS * 3 * 100
    assert option.ratio == pytest.approx(300 / 302)
    assert structs.best is None, "it saves less than 3 %"
    assert structs.exact
    table = found.to_dataframe()
    assert list(table.kind) == ["SoA"]


def test_without_an_l1_the_second_field_hits_l2():
    """On a K20c global loads bypass L1; the two fields of 16,384 threads lie in 1.5 MB of L2."""
    (structs,) = estimate_layouts(addition(), "K20c", least_gain=0.0).structs
    assert structs.present.total == WARPS * (2 * 100 + 2 * 30 + 100)
    assert structs.best is not None
    assert structs.best.layout.kind() == "SoA"


def test_what_is_assumed_is_told():
    source = ADDITION.replace("result[tid] =", "for (int k = 0; k < result[0]; k++) result[tid] =")
    given = addition().inputs.arguments
    case = make_case("add", source, {a.name: a.data for a in given}, grid=64, block=256)
    found = estimate_layouts(case, "A100", layouts=["soa"])
    assert found.assumed == ("the loop in line 4 has an unknown length",)
    (structs,) = found.structs
    assert len(structs.present.entries) == 2


def test_separate_arrays_that_data_look_up_cost_less_together():
    source = """
    __global__ void gather(const float *x, const float *y, const int *near, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int j = near[i];
        out[i] = x[j] + y[j];
    }"""
    n = 64 * 256
    given = [np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int32),
             np.zeros(n, np.float32)]  # fmt: skip
    case = make_case("gather", source, given, grid=64, block=256)
    (structs,) = estimate_layouts(case, "A100", join=("x", "y")).structs
    # Scattered accesses take 32 transactions each; together the second one hits L1.
    assert structs.present.total == WARPS * (100 + 2 * 32 * 100 + 100)
    assert structs.best is not None
    assert structs.best.layout.describe() == "{x y}"
    assert structs.best.cost.total == WARPS * (100 + 32 * 100 + 32 * 1 + 100)


def test_a_run_shows_the_static_cost_beside_the_sectors():
    case = addition()
    (structs,) = advise_layout(case, "A100", layouts=["soa"]).structs
    (option,) = structs.options
    assert option.static_ratio == pytest.approx(300 / 302)
    assert option.sectors_ratio == 1.0, "both fields of all elements are read"


def test_bad_input_is_one_error():
    with pytest.raises(CaseError, match="leaves out field 'y'"):
        estimate_layouts(addition(), "A100", layouts=["{x}"])
    ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }"
    case = make_case("k", ptx, [], grid=1, block=32)
    with pytest.raises(UnsupportedError, match="layouts are read from CUDA"):
        estimate_layouts(case, "A100")
