"""Records of accesses whose lanes point into several arrays: one for each array."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.codegen.accesses.access import find_range, first_lane
from placewise.executor.codegen.text import Text
from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, Slot


@dataclass(frozen=True)
class _Anywhere:
    """The kind of access to find ranges for: by generic addresses, in all bytes that can be
    read."""

    action: str = "load"
    memory: str = "windowed"


def record_each(t: Text, lane_bytes: int) -> None:
    """Record the access of ``%mask`` to ``%address``; lanes that are out of bounds are left out."""
    t.do(
        "call fastcc void @record.arrays(ptr %ctx, i32 %site, i32 %mask, <32 x i64> %address, "
        f"i64 {lane_bytes})"
    )


def function(declarations: set[str]) -> str:
    """LLVM text of ``@record.arrays``, which makes a record for each array that lanes point
    into."""
    t = Text(declarations)
    addresses = t.stack("<32 x i64>")
    t.do(f"store <32 x i64> %address, ptr {addresses}")
    t.do("br label %start")
    t.start("start")
    t.do("br label %head")
    t.start("head")
    t.do("%left = phi i32 [ %mask, %start ], [ %rest, %on ]")
    t.do(f"br i1 {t.op('icmp eq i32 %left, 0')}, label %out, label %body")
    t.start("body")
    lane = first_lane(t, "%left")
    bit = t.op(f"shl i32 1, {lane}")
    address = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {addresses}, i32 {lane}')}")
    found = find_range(t, _Anywhere(), address)
    relative = t.op(f"sub <32 x i64> %address, {t.splat('i64', found.start)}")
    # Each lane has local memory of its own, all at the same addresses.
    own = t.slot(Slot.LOCAL_BYTES, invariant=True)
    local = t.op(f"icmp eq i64 {found.window}, {WINDOW_OF_SPACE['local']}")
    size = t.op(f"select i1 {local}, i64 {own}, i64 {found.size}")
    room = t.call("i64", "llvm.usub.sat.i64", ("i64", size), ("i64", "%bytes"))
    inside = t.op(f"icmp ule <32 x i64> {relative}, {t.splat('i64', room)}")
    filled = t.op(f"icmp ne i64 {size}, 0")
    lanes = t.op(f"and i32 {t.op(f'bitcast <32 x i1> {inside} to i32')}, %left")
    group = t.op(f"select i1 {filled}, i32 {lanes}, i32 0")
    done = t.op(f"or i32 {group}, {bit}")
    t.do(f"%rest = and i32 %left, {t.op(f'xor i32 {done}, -1')}")
    t.do(f"br i1 {t.op(f'icmp eq i32 {group}, 0')}, label %on, label %some")
    t.start("some")
    t.do(
        f"call fastcc void @record.general.i64(ptr %ctx, i32 %site, i32 {group}, "
        f"i64 {found.place}, <32 x i64> {relative})"
    )
    t.do("br label %on")
    t.start("on")
    t.do("br label %head")
    t.start("out")
    t.do("ret void")
    head = (
        "define internal fastcc void @record.arrays(ptr %ctx, i32 %site, i32 %mask, "
        "<32 x i64> %address, i64 %bytes) noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])
