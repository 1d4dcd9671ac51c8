"""Helpers that load: by one address, or by 32."""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import (
    Kind,
    fault_code,
    find_range,
    first_lane,
    gather_index,
    general_range,
    give,
    load_elements,
    touch,
)
from placewise.executor.codegen.accesses.gathers import gather
from placewise.executor.codegen.accesses.halves import Halves, trace_halves
from placewise.executor.codegen.accesses.lanewise import lane_loop
from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.state import Options
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.codegen.tracing import records


def scalar_load(kind: Kind, declarations: set[str]) -> str:
    """A load whose address is the same in all lanes."""
    t = Text(declarations)
    size = kind.lane_bytes
    found = find_range(t, kind, "%address")
    wide = "%address" if kind.address == "i64" else t.op("zext i32 %address to i64")
    relative = t.op(f"sub i64 {wide}, {found.start}")
    end = t.op(f"add i64 {relative}, {size}")
    inside = t.op(f"icmp ule i64 {end}, {found.size}")
    low = t.op(f"and i64 {relative}, {size - 1}")
    aligned = t.op(f"icmp eq i64 {low}, 0")
    t.do(f"br i1 {t.op(f'and i1 {inside}, {aligned}')}, label %good, label %bad, !prof !1")
    t.start("good")
    touch(t, found, "load")
    if kind.traced:
        records.write_there(t, t.op(f"add i64 {relative}, {found.place}"))
    pointer = t.op(f"getelementptr i8, ptr {found.host}, i64 {relative}")
    give(t, kind.scalar_result, load_elements(t, kind, pointer), kind.element)
    t.start("bad")
    t.do(
        f"call void @fault(ptr %ctx, i64 {fault_code(t, inside)}, i32 %site, i32 "
        f"{first_lane(t, '%mask')}, i64 {wide})"
    )
    t.do(f"ret {kind.scalar_result} zeroinitializer")
    record = ", ptr %record, <4 x i32> %words" if kind.traced else ""
    head = (
        f"define internal fastcc {kind.scalar_result} {kind.name}.one(ptr %ctx, {kind.address} "
        f"%address, i32 %mask, i32 %site{record}) alwaysinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


# Long because it is one LLVM function as text, read from top to bottom.
def vector_load(
    kind: Kind, declarations: set[str], options: Options, *, patterned: bool = True
) -> str:
    """A load by 32 addresses, which have no pattern unless ``patterned``."""
    t = Text(declarations)
    e, count = kind.element, kind.count
    if not patterned:
        t.do("br label %general")
        return _general_load(t, kind, options, f"{kind.name}.general")
    h = Halves(t, kind)
    t.start("consecutive")
    found = find_range(t, kind, h.a0)
    at = h.relative(found)
    h.check(found, at, kind.lane_bytes, "consecutive.good")
    t.start("consecutive.good")
    full = t.op("icmp eq i32 %mask, -1")
    if count > 1:
        # Some lanes of several words each are gathered, and recorded there.
        t.do(f"br i1 {full}, label %all, label %general")
        t.start("all")
    touch(t, found, "load")
    if kind.traced:
        trace_halves(t, h, found, at, kind.lane_bytes)
    pointers = [t.op(f"getelementptr i8, ptr {found.host}, i64 {x}") for x in at]
    if count == 1:
        t.do(f"br i1 {full}, label %full, label %partial")
        t.start("full")
    wide = f"<{16 * count} x {e}>"
    halves = [t.op(f"load {wide}, ptr {p}, align {kind.bits // 8}") for p in pointers]
    values = []
    for n in range(count):
        picks = [n + count * lane for lane in range(16)]
        picks += [16 * count + p for p in picks]
        values.append(
            t.op(f"shufflevector {wide} {halves[0]}, {wide} {halves[1]}, <32 x i32> {lanes(picks)}")
        )
    give(t, kind.vector_result, values, f"<32 x {e}>")
    if count == 1:
        t.start("partial")
        pieces = []
        for pointer, half in zip(pointers, (h.low, h.high), strict=True):
            narrow = t.op(f"trunc i32 {half} to i16")
            flags = t.op(f"bitcast i16 {narrow} to <16 x i1>")
            pieces.append(
                t.call(
                    f"<16 x {e}>",
                    f"llvm.masked.load.v16{e}.p0",
                    ("ptr", pointer),
                    ("i32", str(kind.bits // 8)),
                    ("<16 x i1>", flags),
                    (f"<16 x {e}>", "zeroinitializer"),
                )
            )
        joined = t.op(
            f"shufflevector <16 x {e}> {pieces[0]}, <16 x {e}> {pieces[1]}, "
            f"<32 x i32> {lanes(range(32))}"
        )
        t.do(f"ret {kind.vector_result} {joined}")
    t.start("same")
    found = find_range(t, kind, h.a0)
    at = h.relative(found)
    h.check(found, at, 0, "same.good")
    t.start("same.good")
    touch(t, found, "load")
    if kind.traced:
        trace_halves(t, h, found, at, 0)
    low_high = [
        load_elements(t, kind, t.op(f"getelementptr i8, ptr {found.host}, i64 {x}")) for x in at
    ]
    values = []
    for low, high in zip(*low_high, strict=True):
        pair = t.op(f"insertelement <32 x {e}> poison, {e} {low}, i64 0")
        pair = t.op(f"insertelement <32 x {e}> {pair}, {e} {high}, i64 1")
        indices = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
        values.append(t.op(f"shufflevector <32 x {e}> {pair}, <32 x {e}> poison, {indices}"))
    give(t, kind.vector_result, values, f"<32 x {e}>")
    return _general_load(t, kind, options, kind.name)


def _general_load(t: Text, kind: Kind, options: Options, name: str) -> str:
    """The end of a load helper: lanes wherever they point."""
    e = kind.element
    t.start("general")
    found, relative, good, _ = general_range(t, kind)
    t.do(f"br i1 {t.op(f'icmp eq i32 {good}, -1')}, label %gather, label %lanes, !prof !1")
    t.start("gather")
    touch(t, found, "load")
    index_type, index = gather_index(t, kind, relative, options.large)
    if kind.traced:
        records.append_any(t, found.place, index, index_type)
    values = []
    for n in range(kind.count):
        base = found.host
        if n:
            base = t.op(f"getelementptr i8, ptr {base}, i64 {n * kind.bits // 8}")
        values.append(gather(t, options.processor, base, index, index_type, kind.bits))
    give(t, kind.vector_result, values, f"<32 x {e}>")
    t.start("lanes")
    lane_loop(t, kind, "load")
    head = (
        f"define internal fastcc {kind.vector_result} {name}(ptr %ctx, <32 x {kind.address}> "
        "%address, i32 %mask, i32 %site) noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])


def any_load(kind: Kind, declarations: set[str], processor: Processor) -> str:
    """A load by a pointer and 32 offsets that are known to be in bounds."""
    t = Text(declarations)
    values = []
    for n in range(kind.count):
        base = "%base"
        if n:
            base = t.op(f"getelementptr i8, ptr %base, i64 {n * kind.bits // 8}")
        values.append(gather(t, processor, base, "%offsets", "i32", kind.bits))
    give(t, kind.vector_result, values, f"<32 x {kind.element}>")
    head = (
        f"define internal fastcc {kind.vector_result} {kind.name}.any(ptr %base, "
        "<32 x i32> %offsets, i32 %mask) noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])
