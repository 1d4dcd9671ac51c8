"""Loads of PTX rewritten: which of them, and to what."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.rewriter.ptx_loads import is_written_in_ptx, rewrite_loads

MACHINE = load_machine("A100")
HEAD = """\
.version 7.5
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 o) {
    .reg .b64 %rd<8>;
    .reg .f32 %f<8>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [o];
"""
FIRST = HEAD.count("\n") + 1
"""Line of the first load."""


def kernel_of(*loads):
    body = "".join(f"    {load}\n" for load in loads)
    text = HEAD + body + "    add.f32 %f3, %f1, %f2;\n    st.global.f32 [%rd3], %f3;\n    ret;\n}\n"
    data = [np.full(4, 2, np.float32), np.full(4, 3, np.float32), np.zeros(4, np.float32)]
    case = make_case("k", text, data, block=1, grid=1)
    return case, compile_case(case)


def written(loads, space, arrays=("a",), seen=None):
    case, kernel = kernel_of(*loads)
    seen = seen or {FIRST: frozenset("a"), FIRST + 1: frozenset("b")}
    moves = {array: MACHINE.space(space) for array in arrays}
    rewritten, made = rewrite_loads(case, kernel, moves, seen)
    run = execute(made, case.launch, case.inputs)
    assert dict(run.outputs)[case.inputs.arguments[2].name][0] == 5
    return [line.strip() for line in rewritten.case.source.split("\n")[FIRST - 1 : FIRST + 1]]


A, B = "ld.global.f32 %f1, [%rd1];", "ld.global.f32 %f2, [%rd2];"


@pytest.mark.parametrize(
    ("load", "space", "expected"),
    [
        (A, "readonly", "ld.global.nc.f32 %f1, [%rd1];"),
        (A, "l2only", "ld.global.cg.f32 %f1, [%rd1];"),
        (A, "streaming", "ld.global.cs.f32 %f1, [%rd1];"),
        ("ld.global.nc.f32 %f1, [%rd1];", "l2only", "ld.global.cg.f32 %f1, [%rd1];"),
        ("ld.global.cs.f32 %f1, [%rd1];", "global", A),
        ("ld.global.L1::evict_last.f32 %f1, [%rd1];", "streaming", "ld.global.cs.f32 %f1, [%rd1];"),
        ("ld.weak.f32 %f1, [%rd1];", "l2only", "ld.weak.cg.f32 %f1, [%rd1];"),
        ("ld.f32 %f1, [%rd1];", "l2only", "ld.cg.f32 %f1, [%rd1];"),
        (A, "no_allocate", "ld.global.L1::no_allocate.f32 %f1, [%rd1];"),
        (A, "prefetch_128", "ld.global.L2::128B.f32 %f1, [%rd1];"),
        ("ld.global.L2::64B.f32 %f1, [%rd1];", "streaming", "ld.global.cs.f32 %f1, [%rd1];"),
        ("ld.global.L1::no_allocate.L2::64B.f32 %f1, [%rd1];", "global", A),
    ],
)  # fmt: skip
def test_one_array_moves_and_the_other_stays(load, space, expected):
    assert written([load, B], space) == [expected, B]


def test_the_target_is_one_that_has_the_hint():
    case, kernel = kernel_of(A, B)
    seen = {FIRST: frozenset("a"), FIRST + 1: frozenset("b")}
    for space, target in (("prefetch_128", "sm_75"), ("once", "sm_80")):
        rewritten, _ = rewrite_loads(case, kernel, {"a": MACHINE.space(space)}, seen)
        assert f".target {target}\n" in rewritten.case.source


def test_several_arrays_move_together():
    found = written([A, B], "streaming", ("a", "b"))
    assert [line.split()[0] for line in found] == ["ld.global.cs.f32"] * 2


@pytest.mark.parametrize(
    ("load", "space", "message"),
    [
        ("ld.volatile.global.f32 %f1, [%rd1];", "l2only", "is ordered with other threads"),
        ("ld.f32 %f1, [%rd1];", "readonly", "any memory"),
        (A, "texture", "only CUDA C\\+\\+ is rewritten for texture"),
    ],
)
def test_what_cannot_be_written_is_refused(load, space, message):
    with pytest.raises(UnsupportedError, match=message):
        written([load, B], space)


def test_an_instruction_of_two_arrays_moves_with_both_or_not_at_all():
    both = {FIRST: frozenset("ab"), FIRST + 1: frozenset("b")}
    with pytest.raises(UnsupportedError, match="loads from 'a' and 'b'"):
        written([A, B], "l2only", seen=both)
    assert len(written([A, B], "l2only", ("a", "b"), seen=both)) == 2


def test_ways_that_loads_can_tell():
    able = {s.name for s in MACHINE.spaces if is_written_in_ptx(s)}
    hints = {s.name for s in MACHINE.spaces if s.hint is not None}
    assert able == {"global", "readonly", *hints}
    assert "persisting" not in able, "the host sets that"
