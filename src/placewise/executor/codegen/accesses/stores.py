"""Helpers that store by 32 addresses."""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import (
    Kind,
    find_range,
    gather_index,
    general_range,
    touch,
)
from placewise.executor.codegen.accesses.gathers import scatter
from placewise.executor.codegen.accesses.halves import Halves, trace_halves
from placewise.executor.codegen.accesses.lanewise import lane_loop
from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.state import Options
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.codegen.tracing import records


# Long because it is one LLVM function as text, read from top to bottom.
def vector_store(
    kind: Kind, declarations: set[str], options: Options, *, patterned: bool = True
) -> str:
    """A store by 32 addresses, which have no pattern unless ``patterned``. Of lanes with the same
    address, the highest one's value stays."""
    t = Text(declarations)
    e, count = kind.element, kind.count
    if count == 1 and patterned:
        h = Halves(t, kind)
        t.start("consecutive")
        found = find_range(t, kind, h.a0)
        at = h.relative(found)
        h.check(found, at, kind.lane_bytes, "consecutive.good")
        t.start("consecutive.good")
        touch(t, found, "store")
        if kind.traced:
            trace_halves(t, h, found, at, kind.lane_bytes)
        pointers = [t.op(f"getelementptr i8, ptr {found.host}, i64 {x}") for x in at]
        pieces = []
        for start in (0, 16):
            picks = lanes(range(start, start + 16))
            pieces.append(
                t.op(f"shufflevector <32 x {e}> %value0, <32 x {e}> poison, <16 x i32> {picks}")
            )
        t.do(f"br i1 {t.op('icmp eq i32 %mask, -1')}, label %full, label %partial")
        t.start("full")
        for pointer, piece in zip(pointers, pieces, strict=True):
            t.do(f"store <16 x {e}> {piece}, ptr {pointer}, align {kind.bits // 8}")
        t.do("ret void")
        t.start("partial")
        for pointer, piece, half in zip(pointers, pieces, (h.low, h.high), strict=True):
            narrow = t.op(f"trunc i32 {half} to i16")
            flags = t.op(f"bitcast i16 {narrow} to <16 x i1>")
            name = f"llvm.masked.store.v16{e}.p0"
            t.declarations.add(f"declare void @{name}(<16 x {e}>, ptr, i32, <16 x i1>)")
            t.do(
                f"call void @{name}(<16 x {e}> {piece}, ptr {pointer}, i32 {kind.bits // 8}, "
                f"<16 x i1> {flags})"
            )
        t.do("ret void")
        t.start("same")
        t.do("br label %general")
    else:
        t.do("br label %general")
    t.start("general")
    found, relative, good, _ = general_range(t, kind)
    t.do(f"br i1 {t.op(f'icmp eq i32 {good}, -1')}, label %scatter, label %lanes, !prof !1")
    t.start("scatter")
    touch(t, found, "store")
    index_type, index = gather_index(t, kind, relative, options.large)
    if kind.traced:
        records.append_any(t, found.place, index, index_type)
    for n in range(count):
        base = found.host
        if n:
            base = t.op(f"getelementptr i8, ptr {base}, i64 {n * kind.bits // 8}")
        scatter(t, options.processor, base, index, index_type, f"%value{n}", kind.bits)
    t.do("ret void")
    t.start("lanes")
    lane_loop(t, kind, "store")
    values = ", ".join(f"<32 x {e}> %value{n}" for n in range(count))
    name = kind.name if patterned else f"{kind.name}.general"
    head = (
        f"define internal fastcc void {name}(ptr %ctx, <32 x {kind.address}> %address, "
        f"i32 %mask, i32 %site, {values}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def any_store(kind: Kind, declarations: set[str], processor: Processor) -> str:
    """A store by a pointer and 32 offsets that are known to be in bounds."""
    t = Text(declarations)
    for n in range(kind.count):
        base = "%base"
        if n:
            base = t.op(f"getelementptr i8, ptr %base, i64 {n * kind.bits // 8}")
        scatter(t, processor, base, "%offsets", "i32", f"%value{n}", kind.bits)
    t.do("ret void")
    values = ", ".join(f"<32 x {kind.element}> %value{n}" for n in range(kind.count))
    head = (
        f"define internal fastcc void {kind.name}.any(ptr %base, <32 x i32> %offsets, i32 %mask, "
        f"{values}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])
