"""Fixed functions that every compiled kernel brings along: faults, fuel and trace records."""

from __future__ import annotations

from placewise.execute.codegen.text import lanes
from placewise.execute.layout import (
    FUEL,
    TRACE_RECORD,
    TRACE_RECORDS,
    TRACE_ROWS,
    Fault,
    Slot,
)

_LANES = lanes(list(range(16)) * 2, "i32")
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


_HEAD = "define internal fastcc void"


def _write_record(at: str, array: str) -> str:
    """Store a record; %site %mask %base %upper %stride %row are in place."""

    def store(name: str, value: str, type_: str) -> str:
        assert TRACE_RECORD.fields is not None
        offset = TRACE_RECORD.fields[name][1]
        return (
            f"  %{name}.at = getelementptr i8, ptr %record.p, i64 {offset}\n"
            f"  store {type_} {value}, ptr %{name}.at, align 4\n"
        )

    return (
        f"{_slot('records', Slot.RECORDS, 'ptr')}"
        f"{_slot('identity', Slot.IDENTITY, '<4 x i32>')}"
        f"  %record.p = getelementptr [{TRACE_RECORD.itemsize} x i8], ptr %records, i64 {at}\n"
        f"  %array.short = trunc i64 {array} to i32\n"
        "  %who = insertelement <4 x i32> %identity, i32 %array.short, i64 0\n"
        + "".join(store(name, f"%{name}", "i64") for name in ("base", "upper"))
        + "".join(store(name, f"%{name}", "i32") for name in ("site", "stride", "row", "mask"))
        + store("array", "%who", "<4 x i32>")
        + f"  %next = add i64 {at}, 1\n  store i64 %next, ptr %pos.p\n"
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
  %upper = bitcast i64 %base to i64
{_write_record("%record", "%array.wide")}\
  ret void
}}
"""


def trace_functions() -> str:
    """Writers of trace records; a full buffer is handed to the flush function first."""
    return f"""
define internal void @flush(ptr %ctx) cold noinline #0 {{
{_slot("function", Slot.FLUSH, "ptr")}{_slot("self", Slot.SELF)}\
  call void %function(i64 %self)
  ret void
}}
{_HEAD} @record(ptr %ctx, i32 %site, i32 %mask, i64 %array.wide, i64 %base, i64 %upper, \
i32 %stride) noinline #0 {{
entry:
  %row = trunc i64 -1 to i32
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
  %high = lshr i32 %mask, 16
  %high.one = trunc i32 %high to i1
  %high.none = icmp eq i32 %high, 0
  %high.known = or i1 %high.one, %high.none
  %begun = and i1 %both, %high.known
  br i1 %begun, label %test, label %row
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
  %follow = shl i64 %step, 4
  %line.on = add i64 %a, %follow
  %c = extractelement <32 x i64> %offsets, i64 16
  %upper = select i1 %high.none, i64 %line.on, i64 %c
  %a1 = insertelement <32 x i64> poison, i64 %a, i64 0
  %a2 = insertelement <32 x i64> %a1, i64 %upper, i64 1
  %as = shufflevector <32 x i64> %a2, <32 x i64> poison, <32 x i32> {_HALVES}
  %expected = add <32 x i64> %as, %ramp
  %same = icmp eq <32 x i64> %expected, %offsets
  %bits = bitcast <32 x i1> %same to i32
  %inactive = xor i32 %mask, -1
  %covered = or i32 %bits, %inactive
  %every = icmp eq i32 %covered, -1
  %affine = and i1 %every, %small
  br i1 %affine, label %line, label %row
line:
  call fastcc void @record(ptr %ctx, i32 %site, i32 %mask, i64 %array, i64 %a, i64 %upper, \
i32 %short)
  ret void
row:
  call fastcc void @record.row(ptr %ctx, i32 %site, i32 %mask, i64 %array, <32 x i64> %offsets)
  ret void
}}
"""
