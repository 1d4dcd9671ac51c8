"""Pointers in a struct that the kernel gets by value are placed like other arrays."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import PointerTo, Struct, advise, make_case
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import CaseError, ExecutionError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.written_out.struct_members import with_members_apart, with_structs
from placewise.rewriter import rewrite
from placewise.space import Placement

SOURCE = """
struct Cloud { const float *x, *y; int n; float *out; };
extern "C" __global__ void k(Cloud c, const float *w) {
    // c.x is smoothed.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c.n) {
        float s = w[i & 7];
        for (int j = 0; j < 4; j++) s += c.x[i + j] * c.y[j];
        c.out[i] = s;
    }
}
"""
CLOUD = np.dtype([("x", "u8"), ("y", "u8"), ("n", "i4"), ("out", "u8")], align=True)


def cloud(n, source=SOURCE, seed=1, **members):
    rng = np.random.default_rng(seed)
    pointers = {"x": PointerTo("xs"), "y": PointerTo("ys"), "n": n, "out": PointerTo("os")}
    buffers = {
        "xs": rng.uniform(size=n + 4).astype(np.float32),
        "ys": rng.uniform(size=4).astype(np.float32),
        "os": np.zeros(n, np.float32),
    }
    arguments = [Struct(CLOUD, {**pointers, **members}), rng.uniform(size=8).astype(np.float32)]
    return make_case("k", source, arguments, block=128, problem=n, buffers=buffers)


def expected(case):
    data = {b.name: b.data.astype(np.float64) for b in case.inputs.buffers}
    w = case.inputs.arguments[1].data
    n = len(data["os"])
    at = np.arange(n)
    return w[at & 7] + sum(data["xs"][at + j] * data["ys"][j] for j in range(4))


def outputs(case, name):
    named, checker = named_case(case), Checker()
    run = execute(
        compile_case(case), named.launch, named.inputs, threads=1, check=checker, with_buffers=True
    )
    assert checker.clean
    return run.output(name)


def test_members_stand_apart_and_come_back():
    case = cloud(300)
    apart = with_members_apart(case)
    assert "k(Cloud c, const float *c_x, const float *c_y, float *c_out, const float *w)" in (
        apart.source
    )
    assert "// c.x is smoothed." in apart.source
    assert "c_x[i + j] * c_y[j]" in apart.source
    assert "i < c.n" in apart.source
    assert np.allclose(outputs(apart, "c_out"), expected(case))
    back = with_structs(apart, apart)
    assert back.source == case.source
    assert np.array_equal(outputs(back, "c_out"), outputs(case, "os"))


MOVES = [
    {"c_x": "readonly"},
    {"c_x": "texture", "c_y": "constant"},
    {"c_y": "constant", "w": "texture"},
    {"c_x": "shared"},
    {"c_x": "shared", "c_out": "shared", "c_y": "l2only"},
]


@pytest.mark.parametrize("moves", MOVES, ids=lambda moves: "-".join(moves))
def test_each_placement_computes_the_same_bits(moves, machine):
    case = cloud(300)
    apart = with_members_apart(case)
    written = rewrite(apart, Placement.of(moves), machine, analyse_source(apart))
    source = written.case.source
    parameters = source.split("void k(")[1].split(")")[0]
    assert parameters.startswith("Cloud c")
    assert "*" not in parameters.removesuffix("const float *w"), "what has not moved is in c"
    assert np.array_equal(outputs(written.case, "c_out"), outputs(case, "os"))
    if "constant" not in moves.values():
        other = cloud(555, seed=2)
        again = with_members_apart(other)
        moved = rewrite(again, Placement.of(moves), machine, analyse_source(again))
        assert moved.case.source == source
        assert np.array_equal(outputs(moved.case, "c_out"), outputs(other, "os"))


def test_a_tile_whose_size_a_member_decides_is_checked(machine):
    source = SOURCE.replace("j < 4", "j < c.n")
    small, large = cloud(40, source), cloud(90, source)
    small, large = (
        replace(c, inputs=replace(c.inputs, buffers=tuple(
            replace(b, data=np.resize(b.data, 200)) if b.name in ("xs", "ys") else b
            for b in c.inputs.buffers
        ))) for c in (small, large)
    )  # fmt: skip
    apart, other = with_members_apart(small), with_members_apart(large)
    placement = Placement.of({"c_y": "shared"})
    written = rewrite(apart, placement, machine, analyse_source(apart))
    assert np.array_equal(outputs(written.case, "c_out"), outputs(small, "os"))
    assert "|| c.n != 40) __trap();" in written.case.source
    moved = named_case(with_structs(replace(other, source=written.case.source), other))
    with pytest.raises(ExecutionError, match="trap"):
        execute(compile_case(moved), moved.launch, moved.inputs)


LEFT = {
    "copied": SOURCE.replace("int i =", "Cloud d = c; int i =").replace("c.n", "d.n"),
    "passed on": "struct Cloud;\n" + SOURCE.replace(
        "extern", "__device__ int count(const Cloud &c) { return c.n; }\nextern"
    ).replace("i < c.n", "i < count(c)"),
    "in a macro": SOURCE.replace("c.y[j]", "Y[j]").replace(
        "struct", "#define Y c.y\nstruct"
    ),
    "a template": SOURCE.replace('extern "C" ', "template <int N> ").replace("j < 4", "j < N"),
    "declared before": SOURCE.replace(
        "extern", 'extern "C" __global__ void k(Cloud c, const float *w);\nextern'
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LEFT)
def test_structs_that_are_used_otherwise_stay_whole(what):
    case = cloud(300, LEFT[what])
    if what == "a template":
        case = replace(case, kernel="k<4>")
    assert with_members_apart(case) is case
    assert np.allclose(outputs(case, "os"), expected(case))


def test_a_pointer_into_a_buffer_or_beside_another_stays():
    inner = cloud(300, x=PointerTo("xs", 1))
    assert [m.member for m in with_members_apart(inner).members] == ["y", "out"]
    shared = cloud(300, y=PointerTo("xs"))
    assert [m.member for m in with_members_apart(shared).members] == ["out"]


def test_rewrite_takes_members_by_their_names():
    case = cloud(300)
    written = write_placement(case, "A100", {"c.x": "readonly"})
    assert "__ldg(&c.x[i + j])" in written.rewritten.case.source
    assert written.verification.identical
    assert "c_out" in written.verification.arrays
    assert written.case.source == case.source
    with pytest.raises(CaseError, match=r"no array 'c\.z'"):
        write_placement(case, "A100", {"c.z": "readonly"})


def test_advise_ranks_members(machine):
    advice = advise(cloud(300), machine, finalists=2)
    assert {"c_x", "c_y", "c_out"} <= {one.array for one in advice.arrays}
    assert advice.case.source == SOURCE
    assert any("c_x is c.x" in note for note in advice.notes)
    proven = [o for o in advice.options if o.proven]
    assert proven
    assert all("c_out" in o.verification.arrays for o in proven)
