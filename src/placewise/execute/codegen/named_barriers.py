"""Scheduling of a block's warps where barriers have numbers, thread counts or arrivals.

A barrier is complete when the threads that arrived reach its count, or all that have not ended.
Every warp counts whole, as on the machine.
"""

from __future__ import annotations

from collections.abc import Callable

from placewise.execute.codegen.text import Text
from placewise.execute.layout import BARRIERS, Fault, Slot


def release_function() -> str:
    """``@release(ctx, barrier, warps, live)``: let the warps go that wait at a barrier.

    A new phase begins where these are all that live.
    """
    return f"""
define internal void @release(ptr %ctx, i64 %barrier, i32 %warps, i32 %live) noinline #0 {{
entry:
  %b.p = getelementptr i64, ptr %ctx, i64 {int(Slot.BARRIERS)}
  %b = load ptr, ptr %b.p
  %count = getelementptr i64, ptr %b, i64 %barrier
  store i64 0, ptr %count
  %w.p = getelementptr i64, ptr %ctx, i64 {int(Slot.WAITS)}
  %waits = load ptr, ptr %w.p
  %number = trunc i64 %barrier to i32
  br label %head
head:
  %w = phi i32 [ 0, %entry ], [ %next, %on ]
  %gone = phi i32 [ 0, %entry ], [ %gone.on, %on ]
  %place = getelementptr i32, ptr %waits, i32 %w
  %at = load i32, ptr %place
  %here = icmp eq i32 %at, %number
  br i1 %here, label %free, label %on
free:
  store i32 -1, ptr %place
  br label %on
on:
  %one = zext i1 %here to i32
  %gone.on = add i32 %gone, %one
  %next = add i32 %w, 1
  %more = icmp ult i32 %next, %warps
  br i1 %more, label %head, label %out
out:
  %whole = icmp eq i32 %gone.on, %live
  %step = zext i1 %whole to i32
  %phase.p = getelementptr i32, ptr %ctx, i64 {2 * int(Slot.IDENTITY) + 3}
  %phase = load i32, ptr %phase.p
  %phase.next = add i32 %phase, %step
  store i32 %phase.next, ptr %phase.p
  ret void
}}
"""


def phases(t: Text, warps: str, run_warp: Callable[[Text, str], str]) -> None:
    """Run every warp that can run, until all have ended or nothing moves."""
    states = t.slot(Slot.STATES, "ptr", invariant=True)
    waits = t.slot(Slot.WAITS, "ptr", invariant=True)
    barriers = t.slot(Slot.BARRIERS, "ptr", invariant=True)
    bytes_ = t.op(f"shl i64 {t.op(f'zext i32 {warps} to i64')}, 2")
    t.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    for pointer, value, size in (
        (states, 0, bytes_),
        (waits, -1, bytes_),
        (barriers, 0, str(2 * BARRIERS * 8)),
    ):
        t.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 {value}, i64 {size}, i1 false)")
    t.do("br label %pass")
    t.start("pass")
    t.do(f"%live = phi i32 [ {warps}, %block ], [ %live.on, %again ]")
    t.do("br label %each")
    t.start("each")
    t.do("%w = phi i32 [ 0, %pass ], [ %w.next, %each.on ]")
    t.do("%live.w = phi i32 [ %live, %pass ], [ %live.on, %each.on ]")
    t.do("%moved = phi i1 [ false, %pass ], [ %moved.on, %each.on ]")
    place = t.op(f"getelementptr i32, ptr {states}, i32 %w")
    wait = t.op(f"getelementptr i32, ptr {waits}, i32 %w")
    ended = t.op(f"icmp slt i32 {t.op(f'load i32, ptr {place}')}, 0")
    waiting = t.op(f"icmp sge i32 {t.op(f'load i32, ptr {wait}')}, 0")
    t.do(f"br i1 {t.op(f'or i1 {ended}, {waiting}')}, label %each.on, label %go")
    t.start("go")
    status = run_warp(t, t.op(f"load i32, ptr {place}"))
    t.do(f"br i1 {t.op(f'icmp slt i32 {status}, 0')}, label %out, label %look.status")
    t.start("look.status")
    t.do(f"br i1 {t.op(f'icmp eq i32 {status}, 0')}, label %finished, label %arrived")
    t.start("finished")
    t.do(f"store i32 -1, ptr {place}")
    fewer = t.op("sub i32 %live.w, 1")
    t.do("br label %each.on")
    t.start("arrived")
    t.do(f"store i32 {status}, ptr {place}")
    number = t.op(f"and i64 {t.slot(Slot.BARRIER_NUMBER)}, {BARRIERS - 1}")
    needed = t.slot(Slot.BARRIER_THREADS)
    count_place = t.op(f"getelementptr i64, ptr {barriers}, i64 {number}")
    count = t.op(f"add i64 {t.op(f'load i64, ptr {count_place}')}, 32")
    t.do(f"store i64 {count}, ptr {count_place}")
    need_index = t.op(f"add i64 {number}, {BARRIERS}")
    t.do(f"store i64 {needed}, ptr {t.op(f'getelementptr i64, ptr {barriers}, i64 {need_index}')}")
    goes_on = t.op(f"icmp ne i64 {t.slot(Slot.BARRIER_ARRIVE)}, 0")
    narrow = t.op(f"trunc i64 {number} to i32")
    t.do(f"store i32 {t.op(f'select i1 {goes_on}, i32 -1, i32 {narrow}')}, ptr {wait}")
    counted = t.op(f"icmp ne i64 {needed}, 0")
    reached = t.op(f"icmp uge i64 {count}, {needed}")
    t.do(f"br i1 {t.op(f'and i1 {counted}, {reached}')}, label %full, label %not.full")
    t.start("full")
    t.do(f"call void @release(ptr %ctx, i64 {number}, i32 {warps}, i32 %live.w)")
    t.do("br label %not.full")
    t.start("not.full")
    t.do(f"br i1 {goes_on}, label %go, label %each.on")
    t.start("each.on")
    t.do(f"%live.on = phi i32 [ %live.w, %each ], [ {fewer}, %finished ], [ %live.w, %not.full ]")
    t.do("%moved.on = phi i1 [ %moved, %each ], [ true, %finished ], [ true, %not.full ]")
    t.do("%w.next = add i32 %w, 1")
    t.do(f"br i1 {t.op(f'icmp ult i32 %w.next, {warps}')}, label %each, label %check")
    t.start("check")
    t.do("%n = phi i64 [ 0, %each.on ], [ %n.next, %check.on ]")
    t.do("%freed = phi i1 [ %moved.on, %each.on ], [ %freed.on, %check.on ]")
    have = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {barriers}, i64 %n')}")
    at = t.op(f"add i64 %n, {BARRIERS}")
    given = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {barriers}, i64 {at}')}")
    alive = t.op(f"shl i64 {t.op('zext i32 %live.on to i64')}, 5")
    want = t.op(f"select i1 {t.op(f'icmp eq i64 {given}, 0')}, i64 {alive}, i64 {given}")
    some = t.op(f"icmp ne i64 {have}, 0")
    enough = t.op(f"icmp uge i64 {have}, {want}")
    t.do(f"br i1 {t.op(f'and i1 {some}, {enough}')}, label %let.go, label %check.on")
    t.start("let.go")
    t.do(f"call void @release(ptr %ctx, i64 %n, i32 {warps}, i32 %live.on)")
    t.do("br label %check.on")
    t.start("check.on")
    t.do("%freed.on = phi i1 [ %freed, %check ], [ true, %let.go ]")
    t.do("%n.next = add i64 %n, 1")
    t.do(f"br i1 {t.op(f'icmp ult i64 %n.next, {BARRIERS}')}, label %check, label %all")
    t.start("all")
    t.do(f"br i1 {t.op('icmp eq i32 %live.on, 0')}, label %done, label %stuck")
    t.start("stuck")
    t.do("br i1 %freed.on, label %again, label %dead")
    t.start("again")
    t.do("br label %pass")
    t.start("dead")
    t.do(f"call void @fault(ptr %ctx, i64 {int(Fault.BARRIER)}, i32 -1, i32 0, i64 0)")
    t.do("br label %out")
