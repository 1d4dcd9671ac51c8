"""Advice on layouts."""

import numpy as np
import pytest

from placewise import advise_layout, make_case
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
