"""The PTX parser on hand-written modules and on what NVRTC emits for every architecture."""

from __future__ import annotations

import contextlib
import struct

import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, supported_archs
from placewise.kernel.ptx import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    outline,
    parse_ptx,
)
from placewise.kernel.ptx.module import Arguments, Label

MODULE = """
.version 8.5
.target sm_90, debug
.address_size 64
// a comment with { and "quotes
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.visible .const .align 4 .f32 K[3] = {0f3F800000, -2.5, 0d4008000000000000};
.global .align 8 .b64 table[2] = {K, generic(numbers)+4};
.global .align 2 .u16 numbers[2][3] = {{1, 2, 3}, {-1, 0x10, 7}};
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 result) twice (.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [x];
  add.s32 %r1, %r1, %r1;
  st.param.b32 [result+0], %r1;
  ret;
}
.visible .entry k(
  .param .u64 .ptr .global .align 16 k_param_0,
  .param .align 8 .b8 k_param_1[24],
  .param .u16 k_param_2
)
.maxntid 128, 2, 1
.minnctapersm 2
{
  .reg .pred %p<3>;
  .reg .b32 %r<10>, named;
  .reg .f32 %f<2>; .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[64];
  .loc 1 10 3
  mov.u32 %r1, %tid.x;
START:
  .loc 2 700 1, function_name $L__info_string0, inlined_at 1 12 5
  @!%p1 bra.uni START;
  .loc 2 600 1, function_name $L__info_string1+9, inlined_at 2 700 1
  ld.global.v2.f32 {%f0, %f1}, [%rd1+-8];
  .loc 1 0 0
  setp.lt.s32 %p1|%p2, %r1, 0x1F;
  shfl.sync.idx.b32 _|%p1, named, 3, 31, -1; /* over
  two lines */ add.f32 %f0, %f0, 0fBF800000;
  {
    .reg .b32 named, tmp;
    .param .b32 arg;
    mov.b32 tmp, named;
    st.param.b32 [arg+0], -5;
    call.uni (arg), twice, (arg);
  }
  { .reg .b32 tmp; mov.b32 tmp, 010; }
  setp.eq.and.b32 %p1, %r1, %r2, !%p2;
  tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];
  mov.u64 %rd2, table+8;
  ld.shared.u32 %r1, [tile+4];
  st.global.u32 [16], WARP_SZ;
  ts: .branchtargets START, END;
  brx.idx %r1, ts;
END:
  .pragma "nounroll";
  ret;
}
.file 1 "/home/user/kernel.cu"
.file 2 "header.h"
.section .debug_str { $L__info_string0: .b8 1,2 }
"""


@pytest.fixture(scope="module")
def parsed():
    return parse_ptx(MODULE, "k", "kernel.ptx")


def find(parsed, opcode: str, nth: int = 0) -> Instruction:
    body = parsed.functions["k"].body
    return [i for i in body if isinstance(i, Instruction) and i.opcode == opcode][nth]


def test_outline(parsed) -> None:
    assert parsed.version == "8.5"
    assert parsed.target == "sm_90"
    assert parsed.files == {1: "/home/user/kernel.cu", 2: "header.h"}
    assert parsed.declared == {"vprintf"}
    assert set(parsed.functions) == {"k", "twice"}
    entry = parsed.functions["k"]
    assert [(p.name, p.size, p.align) for p in entry.parameters] == [
        ("k_param_0", 8, 8),
        ("k_param_1", 24, 8),
        ("k_param_2", 2, 2),
    ]
    assert entry.max_threads == 256
    assert entry.is_entry
    assert not parsed.functions["twice"].is_entry
    assert entry.branch_targets == {"ts": ("START", "END")}
    assert [x.name for x in entry.body if isinstance(x, Label)] == ["START", "END"]


def test_variables(parsed) -> None:
    variables = parsed.variables
    assert variables["K"].initial == struct.pack("<3f", 1.0, -2.5, 3.0)
    assert variables["numbers"].initial == struct.pack("<6h", 1, 2, 3, -1, 16, 7)
    assert variables["table"].relocations == ((0, "K", 0), (8, "numbers", 4))
    assert (variables["dynamic"].size, variables["dynamic"].align) == (0, 16)
    assert variables["dynamic"].external
    tile = parsed.functions["k"].locals[0]
    assert (tile.name, tile.space, tile.size) == ("tile", "shared", 64)


def test_operands(parsed) -> None:
    p1, r1 = Register("%p1", "pred"), Register("%r1", "b32")
    assert find(parsed, "mov.u32").operands == (r1, Special("%tid.x"))
    branch = find(parsed, "bra.uni")
    assert (branch.guard, branch.guard_negated, branch.operands) == (p1, True, (Symbol("START"),))
    load = find(parsed, "ld.global.v2.f32")
    assert load.operands[0] == Vector((Register("%f0", "f32"), Register("%f1", "f32")))
    assert load.operands[1] == Address(Register("%rd1", "b64"), -8)
    compare = find(parsed, "setp.lt.s32")
    assert compare.operands == (Pair(p1, Register("%p2", "pred")), r1, Immediate(31))
    shuffle = find(parsed, "shfl.sync.idx.b32")
    assert shuffle.operands[0] == Pair(Sink(), p1)
    assert shuffle.operands[1] == Register("named", "b32")
    assert shuffle.operands[4] == Immediate(-1)
    assert find(parsed, "add.f32").operands[2] == Immediate(0xBF800000, 32)
    assert find(parsed, "setp.eq.and.b32").operands[3] == Negated(Register("%p2", "pred"))
    texture = find(parsed, "tex.1d.v4.f32.s32")
    assert texture.operands[1] == Address(Register("%rd1", "b64"), 0, (Register("%r5", "b32"),))
    assert find(parsed, "mov.u64").operands[1] == Symbol("table", 8)
    assert find(parsed, "ld.shared.u32").operands[1] == Address(Symbol("tile"), 4)
    assert find(parsed, "st.global.u32").operands == (Address(None, 16), Immediate(32))
    assert find(parsed, "brx.idx").operands == (r1, Symbol("ts"))


def test_scopes_keep_names_apart(parsed) -> None:
    inner, second = find(parsed, "mov.b32", 0), find(parsed, "mov.b32", 1)
    names = [r.name for r in (*inner.operands, second.operands[0])]
    assert len(set(names)) == 3
    assert "named" not in names
    assert second.operands[1] == Immediate(8), "octal"
    call = find(parsed, "call.uni")
    argument = call.operands[2]
    assert isinstance(argument, Arguments)
    assert call.operands[1] == Symbol("twice")
    assert argument.elements[0].name.startswith("arg@")


def test_places(parsed) -> None:
    assert find(parsed, "mov.u32").place == (1, 10)
    assert find(parsed, "bra.uni").place == (1, 12), "inlined code belongs to the line of its call"
    assert find(parsed, "ld.global.v2.f32").place == (1, 12)
    assert find(parsed, "setp.lt.s32").place == (1, 12), "line 0 is no line"
    lines = MODULE.splitlines()
    for item in parsed.functions["k"].body:
        if isinstance(item, Instruction):
            assert item.opcode in lines[item.line - 1]


HEAD = ".version 8.0 .target sm_80 .address_size 64 "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + ".entry k() { add.s32 %r1, %r2, %r3; }", "%r1"),
        (HEAD + ".entry k() { .reg .b32 r; mov r, 0q; }", "expected"),
        (HEAD + ".entry k() { ret; ", "closed"),
        (HEAD + ".entry k() { .frobnicate 3; }", ".frobnicate"),
        (HEAD + ".global .q32 x; .entry k() { }", ".q32"),
        ("int main() { return 0; }", "unexpected 'int'"),
        ("", "no entry 'k'"),
        (HEAD + ".entry other() { ret; }", "no entry 'k'"),
        (HEAD + ".entry k() { .reg .b32 %r<999999999>; ret; }", "999,999,999 registers '%r'"),
        (HEAD + ".entry k() { .shared .b8 t[4294967296]; ret; }", "'t' has 4,294,967,296 bytes"),
        (HEAD + ".global .b8 t[2000000000] = {1}; .entry k() { ret; }", "2,000,000,000 bytes"),
        (HEAD + ".entry k() { .local .f64 t[65537]; ret; }", "'t' has 524,296 bytes"),
    ],
)
def test_bad_text_gives_one_located_error(text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message.replace(".", r"\.")) as caught:
        parse_ptx(text, "k", "bad.ptx")
    assert caught.value.where is not None
    assert caught.value.where.startswith("bad.ptx")


@pytest.mark.parametrize(
    "declared", [".reg .b32 %r<999999999>;", ".shared .align 4 .b8 t[4294967296];"]
)
def test_what_the_assembler_must_not_get_is_refused_before_bodies_are_read(declared: str) -> None:
    with pytest.raises(CaseError, match="at most"):
        outline(HEAD + ".entry k() { " + declared + " ret; }", "bad.ptx")


def test_register_parameters_and_pointers_to_shared_memory_are_no_declarations() -> None:
    text = (
        HEAD
        + ".func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b) { mov.b32 r, a; ret; }"
        + ".entry k(.param .u64 .ptr .shared .align 4 p) { ret; }"
    )
    assert outline(text).entries == ("k",)


@pytest.mark.parametrize("cut", range(0, len(MODULE), 37))
def test_cut_off_text_never_escapes_as_another_error(cut: int) -> None:
    with contextlib.suppress(CaseError):
        parse_ptx(MODULE[:cut], "k", "bad.ptx")


SOURCE = """
extern "C" __global__ void k(const float4* __restrict__ a, float* b, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = a[i];
  s[threadIdx.x] = v.x + sinf(v.y);
  __syncthreads();
  if (i < n) b[i] = s[63 - threadIdx.x] * v.z;
}
"""


@pytest.mark.parametrize("arch", supported_archs())
def test_every_architecture_of_the_compiler(arch: int) -> None:
    kernel = compile_kernel(SOURCE, "k.cu", "k", CompileOptions(arch=f"sm_{arch}"))
    module = parse_ptx(kernel.ptx, "k")
    body = module.functions["k"].body
    expected = kernel.ptx.count(";\n")
    assert 20 < len(body) <= expected
    assert {p.size for p in module.functions["k"].parameters} == {8, 4}
    lines = {i.place[1] for i in body if isinstance(i, Instruction) and i.place}
    assert lines <= set(range(2, 10))
