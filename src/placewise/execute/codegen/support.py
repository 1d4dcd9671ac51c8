"""Fixed functions that every compiled kernel brings along: faults, fuel and trace records."""

from __future__ import annotations

from placewise.execute.codegen.text import lanes
from placewise.execute.layout import (
    FUEL,
    TRACE_COLUMNS,
    TRACE_RECORDS,
    TRACE_ROWS,
    Fault,
    Slot,
    column_offset,
)

_LANES = lanes(range(32), "i32")
_HALVES = lanes([0] * 16 + [1] * 16)


def _slot(name: str, slot: Slot, type_: str = "i64") -> str:
    return (
        f"  %{name}.p = getelementptr i64, ptr %ctx, i64 {int(slot)}\n"
        f"  %{name} = load {type_}, ptr %{name}.p\n"
    )


def fault_function() -> str:
    """Keep the first fault, and have the run end at the next loop head or warp."""
    stores = "".join(
        f"  %s{slot}.p = getelementptr i64, ptr %ctx, i64 {int(slot)}\n"
        f"  store i64 {value}, ptr %s{slot}.p\n"
        for slot, value in (
            (Slot.FAULT, "%code"),
            (Slot.FAULT_SITE, "%site.wide"),
            (Slot.FAULT_BLOCK, "%block"),
            (Slot.FAULT_WARP, "%warp"),
            (Slot.FAULT_LANE, "%lane.wide"),
            (Slot.FAULT_ADDRESS, "%address"),
        )
    )
    return f"""
define internal void @fault(ptr %ctx, i64 %code, i32 %site, i32 %lane, i64 %address) \
cold noinline #0 {{
{_slot("old", Slot.FAULT)}{_slot("block", Slot.BLOCK)}{_slot("warp", Slot.WARP)}\
  %site.wide = sext i32 %site to i64
  %lane.wide = sext i32 %lane to i64
  %stop.p = getelementptr i64, ptr %ctx, i64 {int(Slot.STOP)}
  store volatile i64 1, ptr %stop.p
  %fuel.p = getelementptr i64, ptr %ctx, i64 {int(Slot.FUEL)}
  store i64 0, ptr %fuel.p
  %first = icmp eq i64 %old, 0
  br i1 %first, label %keep, label %done
keep:
{stores}  br label %done
done:
  ret void
}}
"""


def fuel_function() -> str:
    """Called when the fuel is gone: true if the warp must end."""
    return f"""
define internal i1 @refuel(ptr %ctx, i32 %place) cold noinline #0 {{
  %stop.p = getelementptr i64, ptr %ctx, i64 {int(Slot.STOP)}
  %stop = load volatile i64, ptr %stop.p
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %end, label %count
count:
{_slot("used", Slot.USED)}{_slot("limit", Slot.LIMIT)}\
  %more = add i64 %used, {FUEL}
  store i64 %more, ptr %used.p
  %fuel.p = getelementptr i64, ptr %ctx, i64 {int(Slot.FUEL)}
  store i64 {FUEL}, ptr %fuel.p
  %over = icmp ugt i64 %more, %limit
  br i1 %over, label %exceeded, label %go
exceeded:
  call void @fault(ptr %ctx, i64 {int(Fault.LIMIT)}, i32 %place, i32 0, i64 0)
  ret i1 true
go:
  ret i1 false
end:
  ret i1 true
}}
"""


_TYPES = {"base": "i64"}
_HEAD = "define internal fastcc void"


def _write_record(at: str, array: str) -> str:
    """Store a record's columns; %site %mask %base %stride %row %block %warp are in place."""
    stores = "".join(
        f"  %{name}.p0 = getelementptr i8, ptr %columns, i64 {column_offset(name)}\n"
        f"  %{name}.p = getelementptr {_TYPES.get(name, 'i32')}, ptr %{name}.p0, i64 {at}\n"
        f"  store {_TYPES.get(name, 'i32')} %{name}, ptr %{name}.p\n"
        for name, _ in TRACE_COLUMNS
    )
    return (
        f"{_slot('block.wide', Slot.BLOCK)}{_slot('warp.wide', Slot.WARP)}"
        f"{_slot('columns', Slot.RECORDS, 'ptr')}"
        "  %block = trunc i64 %block.wide to i32\n"
        "  %warp = trunc i64 %warp.wide to i32\n"
        f"  %array = trunc i64 {array} to i32\n"
        f"{stores}"
        f"  %next = add i64 {at}, 1\n"
        "  store i64 %next, ptr %pos.p\n"
    )


def _write_row(offsets: str) -> str:
    """Store a row of offsets and its record, making room first; ends the function."""
    return f"""\
{_slot("old", Slot.ROW)}{_slot("pos", Slot.RECORD)}\
  %full = icmp uge i64 %old, {TRACE_ROWS}
  %pfull = icmp uge i64 %pos, {TRACE_RECORDS}
  %any = or i1 %full, %pfull
  br i1 %any, label %empty, label %write, !prof !2
empty:
  call void @flush(ptr %ctx)
  br label %write
write:
  %at = load i64, ptr %old.p
  %record = load i64, ptr %pos.p
{_slot("rows", Slot.ROWS, "ptr")}\
  %place = getelementptr <32 x i64>, ptr %rows, i64 %at
  store <32 x i64> {offsets}, ptr %place, align 8
  %more = add i64 %at, 1
  store i64 %more, ptr %old.p
  %row = trunc i64 %at to i32
  %stride = trunc i64 0 to i32
{_write_record("%record", "%array.wide")}\
  ret void
}}
"""


def record_halves(step: int) -> str:
    """A record of a full warp whose halves each start anew, ``step`` bytes between lanes."""
    return f"""
{_HEAD} @record.halves.{step}(ptr %ctx, i32 %site, i64 %array.wide, i64 %base, i64 %high) \
noinline #0 {{
entry:
  %apart = sub i64 %high, %base
  %follows = icmp eq i64 %apart, {16 * step}
  br i1 %follows, label %line, label %halves
line:
  call fastcc void @record(ptr %ctx, i32 %site, i32 -1, i64 %array.wide, i64 %base, \
i32 {step}, i32 -1)
  ret void
halves:
  %p0 = insertelement <32 x i64> poison, i64 %base, i64 0
  %p1 = insertelement <32 x i64> %p0, i64 %high, i64 1
  %bases = shufflevector <32 x i64> %p1, <32 x i64> poison, <32 x i32> {_HALVES}
  %offsets = add <32 x i64> %bases, {lanes([step * k for k in list(range(16)) * 2], "i64")}
  %mask = trunc i64 -1 to i32
{_write_row("%offsets")}"""


def trace_functions() -> str:
    """Writers of trace records; a full buffer is handed to the flush function first."""
    return f"""
define internal void @flush(ptr %ctx) cold noinline #0 {{
{_slot("function", Slot.FLUSH, "ptr")}{_slot("self", Slot.SELF)}\
  call void %function(i64 %self)
  ret void
}}
{_HEAD} @record(ptr %ctx, i32 %site, i32 %mask, i64 %array.wide, i64 %base, i32 %stride, \
i32 %row) noinline #0 {{
entry:
{_slot("pos", Slot.RECORD)}\
  %full = icmp uge i64 %pos, {TRACE_RECORDS}
  br i1 %full, label %empty, label %write, !prof !2
empty:
  call void @flush(ptr %ctx)
  %again = load i64, ptr %pos.p
  br label %write
write:
  %at = phi i64 [ %pos, %entry ], [ %again, %empty ]
{_write_record("%at", "%array.wide")}\
  ret void
}}
{_HEAD} @record.row(ptr %ctx, i32 %site, i32 %mask, i64 %array.wide, <32 x i64> %offsets) \
noinline #0 {{
entry:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %base = extractelement <32 x i64> %offsets, i32 %lane
  %one = insertelement <32 x i64> poison, i64 %base, i64 0
  %all = shufflevector <32 x i64> %one, <32 x i64> poison, <32 x i32> zeroinitializer
  %flags = bitcast i32 %mask to <32 x i1>
  %clean = select <32 x i1> %flags, <32 x i64> %offsets, <32 x i64> %all
{_write_row("%clean")}\
{_HEAD} @record.general(ptr %ctx, i32 %site, i32 %mask, i64 %array, <32 x i64> %offsets) \
noinline #0 {{
entry:
  %two = and i32 %mask, 3
  %both = icmp eq i32 %two, 3
  br i1 %both, label %test, label %row
test:
  %a = extractelement <32 x i64> %offsets, i64 0
  %b = extractelement <32 x i64> %offsets, i64 1
  %step = sub i64 %b, %a
  %short = trunc i64 %step to i32
  %widened = sext i32 %short to i64
  %shifted = add i64 %step, {1 << 25}
  %small = icmp ult i64 %shifted, {1 << 26}
  %s1 = insertelement <32 x i32> poison, i32 %short, i64 0
  %s = shufflevector <32 x i32> %s1, <32 x i32> poison, <32 x i32> zeroinitializer
  %ramp32 = mul <32 x i32> %s, {_LANES}
  %ramp = sext <32 x i32> %ramp32 to <32 x i64>
  %a1 = insertelement <32 x i64> poison, i64 %a, i64 0
  %as = shufflevector <32 x i64> %a1, <32 x i64> poison, <32 x i32> zeroinitializer
  %expected = add <32 x i64> %as, %ramp
  %same = icmp eq <32 x i64> %expected, %offsets
  %bits = bitcast <32 x i1> %same to i32
  %inactive = xor i32 %mask, -1
  %covered = or i32 %bits, %inactive
  %every = icmp eq i32 %covered, -1
  %affine = and i1 %every, %small
  br i1 %affine, label %line, label %row
line:
  call fastcc void @record(ptr %ctx, i32 %site, i32 %mask, i64 %array, i64 %a, i32 %short, i32 -1)
  ret void
row:
  call fastcc void @record.row(ptr %ctx, i32 %site, i32 %mask, i64 %array, <32 x i64> %offsets)
  ret void
}}
"""
