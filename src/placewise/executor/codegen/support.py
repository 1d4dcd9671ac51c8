"""Functions that every compiled module contains: reporting of faults, and what happens when the
fuel is used up."""

from __future__ import annotations

from placewise.executor.device_memory.address_space import FUEL, Fault, Slot


def _slot(name: str, slot: Slot, type_: str = "i64") -> str:
    return (
        f"  %{name}.p = getelementptr i64, ptr %ctx, i64 {int(slot)}\n"
        f"  %{name} = load {type_}, ptr %{name}.p\n"
    )


def fault_function(*, checked: bool = False) -> str:
    """Keep the first fault, and have the run end at the next loop head or warp.

    Where the run is ``checked``, the checker takes note of accesses out of bounds or misaligned
    instead, and the run goes on.
    """
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
{_slot("block", Slot.BLOCK)}{_slot("warp", Slot.WARP)}{_CHECKED_FAULT if checked else ""}\
{_slot("old", Slot.FAULT)}\
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


_CHECKED_FAULT = f"""\
  %access = icmp ule i64 %code, {int(Fault.MISALIGNED)}
  br i1 %access, label %report, label %final
report:
{_slot("check", Slot.CHECK_FAULT, "ptr")}{_slot("state", Slot.CHECK_STATE)}\
{_slot("resident", Slot.RESIDENT)}\
  call void %check(i64 %state, i64 %resident, i64 %block, i64 %warp, i32 %site, i32 %lane, \
i64 %address)
  ret void
final:
"""


def fuel_function() -> str:
    """LLVM function that is called when the fuel is used up. It returns true if the warp must
    stop."""
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
