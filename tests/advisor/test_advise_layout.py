"""Advice on layouts."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import PointerTo, Struct, advise_layout, make_case
from placewise.errors import CaseError, UnsupportedError

STRUCT = "struct P { float x, y, z, w; float cold[4]; };\n"
DTYPE = np.dtype([(n, "f4") for n in "xyzw"] + [("cold", "f4", 4)], align=True)
PUSH = STRUCT + (
    "__global__ void push(P *p, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) p[i].x += p[i].y;\n}"
)


def particles(n=1 << 16):
    made = np.zeros(n, DTYPE)
    made["x"], made["y"] = np.arange(n), 0.5
    return made


def push(n=1 << 16):
    return make_case("push", PUSH, [particles(n), np.int32(n)], block=256, problem=n)


@pytest.mark.slow
def test_fields_that_are_read_alone_are_moved_apart():
    advice = advise_layout(push(), "A100")
    (found,) = advice.structs
    assert found.best is not None
    assert found.best.layout.group_of("x") != found.best.layout.group_of("cold")
    assert found.best.speedup > 1.3
    assert all(option.proven for option in found.options)
    assert found.conversion.launches >= 1
    document = advice.to_dict()
    assert document["structs"][0]["recommended"] == found.best.layout.describe()
    frame = advice.to_dataframe()
    assert list(frame["layout"]) == [option.text for option in found.options]
    assert frame["ratio"].is_monotonic_increasing
    assert list(frame.loc[frame["recommended"], "layout"]) == [found.best.text]
    assert advice.verdict.startswith(f"Lay p (P) out as {found.best.layout.kind()}")
    assert advice.verdict in repr(advice)


def test_layouts_can_be_named():
    advice = advise_layout(push(), "A100", layouts=["soa", "{x y}@8 {z w cold}"])
    kinds = {option.layout.kind() for option in advice.structs[0].options}
    assert kinds == {"SoA", "SoAoS"}
    with pytest.raises(CaseError, match="leaves out field 'z'"):
        advise_layout(push(), "A100", layouts=["{x y} {w cold}"])


def test_a_demand_that_is_not_met_keeps_the_layout():
    from placewise.advisor import Demand

    advice = advise_layout(push(), "A100", layouts=["soa"], demand=Demand(0.9, 50.0))
    assert advice.structs[0].best is None
    assert advice.structs[0].conversion is None
    assert advice.verdict.startswith("Keep the layout of p (P)")
    assert advice.verdict in repr(advice)


def test_a_wrong_layout_would_be_found(monkeypatch):
    """A rewrite that puts two fields in each other's place is not proven."""
    from placewise.rewriter.layouts import accessors

    honest = accessors._place

    def swapped(arrays, layout, names, field, index):
        field = {"x": "y", "y": "x"}.get(field, field)
        return honest(arrays, layout, names, field, index)

    monkeypatch.setattr(accessors, "_place", swapped)
    advice = advise_layout(push(), "A100", layouts=["soa"])
    assert not advice.structs[0].options[0].proven
    assert "p differs" in advice.structs[0].options[0].detail


def test_an_obstacle_is_told_and_nothing_is_tried():
    source = STRUCT + "__global__ void k(P *p, int n) { float *q = (float *)p; q[n] = 1; }"
    case = make_case("k", source, [particles(256), np.int32(3)], block=1, grid=1)
    (found,) = advise_layout(case, "A100").structs
    assert "(line 2)" in found.arrays.obstacle
    assert found.options == ()


def test_kernels_without_structs_have_no_layouts():
    assert advise_layout("spmv", "A100").structs == ()


def test_old_machines_have_proofs_but_no_times():
    advice = advise_layout(push(1 << 12), "K20c", layouts=["soa"])
    option = advice.structs[0].options[0]
    assert option.proven
    assert option.ratio is None
    assert advice.structs[0].best is None


def test_ptx_is_refused():
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }"
    case = make_case("k", ptx, [], block=1, grid=1)
    with pytest.raises(UnsupportedError, match="CUDA C"):
        advise_layout(case, "A100")


GATHER = """__global__ void gather(const float *x, const float *y, const float *z, const int *near,
                      float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = near[i];
    sum[i] = x[j] + y[j] * z[j];
}"""


def gather(n=1 << 16):
    rng = np.random.default_rng(1)
    arguments = [*(rng.random(n, np.float32) for _ in "xyz"), rng.integers(0, n, n, np.int32),
                 np.zeros(n, np.float32), np.int32(n)]  # fmt: skip
    return make_case("gather", GATHER, arguments, block=256, problem=n)


@pytest.mark.slow
def test_separate_arrays_that_are_looked_up_gain_as_one_array_of_structs():
    advice = advise_layout(gather(1 << 17), "A100", join=["z", "x", "y"])
    (found,) = advice.structs
    assert found.names == ("x", "y", "z")
    assert found.now.describe() == "{x} {y} {z}"
    assert found.best.layout.kind() == "AoS"
    assert found.best.speedup > 1.1
    texts = [option.text for option in found.options]
    assert "{x y z}" in texts
    assert "{x y z}@16" in texts
    assert "{x} {y} {z}" not in texts
    assert all(option.proven for option in found.options)
    # There and back: three arrays of floats, and the structs; padded ones are a third larger.
    n = 1 << 17
    new = {"{x y z}": 12 * n, "{x y z}@16": 16 * n}[found.best.text]
    assert found.conversion.bytes == 2 * (12 * n + new)
    document = advice.to_dict()["structs"][0]
    assert document["arrays"] == ["x", "y", "z"]
    assert document["present"] == "{x} {y} {z}"


def test_separate_arrays_are_proposed_where_data_says_which_element():
    (note,) = (n for n in advise_layout(gather(1 << 10), "A100").notes if "--join" in n)
    assert "--join x,y,z tries them" in note
    straight = GATHER.replace("near[i]", "i")
    case = replace(gather(1 << 10), source=straight)
    assert not any("--join" in n for n in advise_layout(case, "A100").notes)


def test_what_cannot_be_joined_is_an_error():
    with pytest.raises(CaseError, match="'w' is no array of numbers"):
        advise_layout(gather(1 << 10), "A100", join=["x", "w"])


CLOUD = """struct Cloud { const float *x, *y, *z; int count; };
__global__ void gather(Cloud cloud, const int *near, float *sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cloud.count) return;
    int j = near[i];
    sum[i] = cloud.x[j] + cloud.y[j] * cloud.z[j];
}"""


@pytest.mark.slow
def test_a_struct_of_pointers_is_tried_as_one_array_of_structs():
    n = 1 << 15
    rng = np.random.default_rng(1)
    dtype = np.dtype([(f, np.uintp) for f in "xyz"] + [("count", "i4")], align=True)
    cloud = Struct(dtype, {f: PointerTo(f) for f in "xyz"} | {"count": n})
    case = make_case(
        "gather", CLOUD, [cloud, rng.integers(0, n, n, np.int32), np.zeros(n, np.float32)],
        block=256, problem=n, buffers={f: rng.random(n, np.float32) for f in "xyz"},
    )  # fmt: skip
    (found,) = advise_layout(case, "A100", layouts=["aos", "{x y z}@16"]).structs
    assert found.names == ("cloud.x", "cloud.y", "cloud.z")
    assert [o.proven for o in found.options] == [True, True]
    assert found.to_dict()["present"] == "{x} {y} {z}"
