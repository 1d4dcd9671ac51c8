"""What the documentation says is refused is refused by name, and nothing else of the PTX ISA is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ptx_harness import kernel_from

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import FIRST_WINDOW
from placewise.executor.lower_ptx import table
from placewise.executor.translate import lowered

DOCS = Path(__file__).parents[3] / "docs" / "explanation" / "executor.md"
_CONTROL = "bra brx ret exit trap brkpt bar barrier call"
CONTROL = frozenset(_CONTROL.split())
_ISA = """
    add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext
    bmsk dp4a dp2a addc subc madc testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh set setp
    selp slct and or xor not cnot lop3 shf shl shr mov shfl prmt ld ldu st multimem prefetch
    prefetchu applypriority discard createpolicy isspacep cvta cvt mapa getctarank cp tensormap tex
    tld4 txq istypep suld sust sured suq bra brx call ret exit bar barrier membar fence atom red
    vote match activemask redux griddepcontrol elect mbarrier clusterlaunchcontrol wmma mma ldmatrix
    stmatrix movmatrix wgmma tcgen05 stacksave stackrestore alloca vadd vsub vabsdiff vmin vmax vshl
    vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4
    vmax4 vset4 brkpt nanosleep pmevent trap setmaxnreg
    """
ISA = frozenset(_ISA.split())
"""First parts of the opcodes of PTX ISA 9.0, chapter "Instructions"."""


def documented():
    """Opcodes in the section on what is refused."""
    text = DOCS.read_text()
    start = text.index("## What is refused")
    section = text[start : text.index("\n## ", start + 1)]
    return {o for o in re.findall(r"`([a-z0-9.]+)`", section) if o[0] != "."}


def test_the_documentation_lists_every_opcode_that_is_not_covered():
    whole = {o for o in documented() if "." not in o}
    missing = ISA - table.COVERED - CONTROL
    assert missing <= whole
    assert whole - missing <= {"mma", "ldmatrix", "stmatrix", "movmatrix", "ue8m0"}
    assert (table.COVERED | CONTROL) <= ISA


REFUSED = {
    "wgmma": "wgmma.fence.sync.aligned",
    "tcgen05": "tcgen05.wait::ld.sync.aligned",
    "mma.sp": "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
    " {%r0, %r1}, {%r0, %r1}, {%r0, %r1}, {%r0, %r1}, %r2, 0",
    "mma.m8n8k4": "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16"
    " {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1}, {%r0, %r1, %r2, %r3}",
    "wmma.mma": "wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64"
    " {%d0, %d1}, {%d0}, {%d1}, {%d0, %d1}",
    "ldmatrix": "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2]",
    "cp.async.bulk.tensor": "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group"
    " [%d0, {%r0}], [%r1]",
    "cp.reduce.async.bulk": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
    " [%d0], [%r0], 16",
    "tensormap": "tensormap.replace.tile.rank.global.b1024.b32 [%d0], 2",
    "st.async": "st.async.mmio.release.gpu.global.u32 [%d0], %r0",
    "st.bulk": "st.bulk.weak.shared::cta [%r0], 64, 0",
    "red.async": "red.async.mmio.release.gpu.global.add.u32 [%d0], %r0",
    "multimem": "multimem.st.relaxed.gpu.global.u32 [%d0], %r0",
    "clusterlaunchcontrol": "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p, %q",
    "txq": "txq.width.b32 %r0, [%d0]",
    "suq": "suq.width.b32 %r0, [%d0]",
    "istypep": "istypep.texref %p, %d0",
    "sured": "sured.b.add.1d.u32.trap [%d0, {%r0}], %r1",
    "sust.p": "sust.p.1d.b32.trap [%d0, {%r0}], %r1",
    "vmad": "vmad.u32.u32.u32 %r0, %r1, %r2, %r3",
    "cvt of four": "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f0, %f0, %f0, %f0}, %r1",
    "cvt.rs": "cvt.rs.f16x2.f32 %r0, %f0, %f0, %r1",
    "cvt to ue8m0": "cvt.rp.satfinite.ue8m0x2.f32 %h0, %f0, %f0",
    "a selector": "vadd2.u32.u32.u32 %r0, %r1.h10, %r2, %r3",
    "a modifier": "add.saturated.s32 %r0, %r1, %r2",
    "an opcode": "frobnicate.b32 %r0, %r1",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name_and_line(name):
    text = REFUSED[name]
    kernel = kernel_from(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .pred %p;\n"
        f".reg .b128 %q;\n{text};\nret;\n}}"
    )
    opcode = text.split(" ")[0]
    with pytest.raises(UnsupportedError, match=re.escape(f"'{opcode}'")) as error:
        lowered(kernel, FIRST_WINDOW)
    assert "PTX line 8" in str(error.value)


def test_every_documented_opcode_is_tried():
    tried = {text.split(" ")[0] for text in REFUSED.values()}
    for opcode in documented():
        parts = opcode.split(".")
        if opcode in ("ue8m0", "stmatrix", "movmatrix"):
            continue
        near = [
            t for t in tried if set(parts) <= set(re.split(r"[.:]+", t.replace("barrier", "bar")))
        ]
        assert near, opcode
