"""Scheduling of a block's warps where barriers have numbers, thread counts or arrivals.

A barrier is complete when as many threads have arrived as it waits for, or all that have not ended.
Every warp counts as 32 threads, as on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable

from placewise.executor.codegen.text import Text
from placewise.executor.device_memory.address_space import (
    BARRIER_ROWS,
    BARRIERS,
    GIVES_WAY,
    Fault,
    Slot,
)

REDUCTION_ROW = 2
"""First row of a barrier's state that a reduction counts in."""


def release_function() -> str:
    """LLVM text of ``@release(ctx, barrier, warps, live)``: let the warps go that wait at a
    barrier.

    Each gets a copy of the barrier's reduction, since other warps may use the barrier again before
    it goes on. A new phase of the block begins if all warps that have not ended are let go.
    """
    return f"""
define internal void @release(ptr %ctx, i64 %barrier, i32 %warps, i32 %live) noinline #0 {{
entry:
  %b.p = getelementptr i64, ptr %ctx, i64 {int(Slot.BARRIERS)}
  %b = load ptr, ptr %b.p
  %count = getelementptr i64, ptr %b, i64 %barrier
  store i64 0, ptr %count
{_reduction_read()}  %w.p = getelementptr i64, ptr %ctx, i64 {int(Slot.WAITS)}
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
{_reduction_given()}  br label %on
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


def _reduction_read() -> str:
    """Lines that read the two counts of a barrier's reduction and set them to zero."""
    lines = []
    for n in (0, 1):
        lines += [
            f"  %red{n}.at = add i64 %barrier, {(REDUCTION_ROW + n) * BARRIERS}",
            f"  %red{n}.p = getelementptr i64, ptr %b, i64 %red{n}.at",
            f"  %red{n}.long = load i64, ptr %red{n}.p",
            f"  %red{n} = trunc i64 %red{n}.long to i32",
            f"  store i64 0, ptr %red{n}.p",
        ]
    return "\n".join(lines) + "\n"


def _reduction_given() -> str:
    """Lines that store the two counts of a reduction for a warp that is let go."""
    lines = []
    for n, before in ((0, "%w"), (1, "%given0.at")):
        lines += [
            f"  %given{n}.at = add i32 {before}, %warps",
            f"  %given{n}.p = getelementptr i32, ptr %waits, i32 %given{n}.at",
            f"  store i32 %red{n}, ptr %given{n}.p",
        ]
    return "\n".join(lines) + "\n"


def functions(
    declarations: set[str], run_warp: Callable[[Text, str], str], *, gives_way: bool
) -> str:
    """LLVM text of the functions that a driver of numbered barriers calls."""
    return "\n".join(
        [
            release_function(),
            living_function(),
            turn_function(declarations, run_warp, gives_way=gives_way),
        ]
    )


def begin(t: Text, warps: str) -> None:
    """Make ready for a block that starts: every warp at its start, nothing at any barrier."""
    bytes_ = t.op(f"shl i64 {t.op(f'zext i32 {warps} to i64')}, 2")
    t.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    for slot, value, size in (
        (Slot.STATES, 0, bytes_),
        (Slot.WAITS, -1, bytes_),
        (Slot.BARRIERS, 0, str(BARRIER_ROWS * BARRIERS * 8)),
    ):
        pointer = t.slot(slot, "ptr")
        t.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 {value}, i64 {size}, i1 false)")


# Long because it is one LLVM function as text, read from top to bottom.
def turn_function(
    declarations: set[str], run_warp: Callable[[Text, str], str], *, gives_way: bool
) -> str:
    """LLVM text of ``@turn(ctx, warps, code)``, which runs the warps of a block.

    It returns 1 when all have ended, -1 if the run has to stop, and, with ``gives_way``, 0 if every
    warp that has not ended waits for another block.
    """
    t = Text(declarations)
    states, waits, barriers = (
        t.slot(slot, "ptr") for slot in (Slot.STATES, Slot.WAITS, Slot.BARRIERS)
    )
    t.do("br label %pass")
    t.start("pass")
    t.do("br label %each")
    t.start("each")
    t.do("%w = phi i32 [ 0, %pass ], [ %w.next, %each.on ]")
    t.do("%moved = phi i1 [ false, %pass ], [ %moved.on, %each.on ]")
    t.do("%gave = phi i1 [ false, %pass ], [ %gave.on, %each.on ]")
    place = t.op(f"getelementptr i32, ptr {states}, i32 %w")
    wait = t.op(f"getelementptr i32, ptr {waits}, i32 %w")
    ended = t.op(f"icmp slt i32 {t.op(f'load i32, ptr {place}')}, 0")
    waiting = t.op(f"icmp sge i32 {t.op(f'load i32, ptr {wait}')}, 0")
    t.do(f"br i1 {t.op(f'or i1 {ended}, {waiting}')}, label %each.on, label %go")
    t.start("go")
    status = run_warp(t, t.op(f"load i32, ptr {place}"))
    t.do(f"br i1 {t.op(f'icmp slt i32 {status}, 0')}, label %stop, label %look.status")
    t.start("look.status")
    t.do(f"br i1 {t.op(f'icmp eq i32 {status}, 0')}, label %finished, label %paused")
    t.start("finished")
    t.do(f"store i32 -1, ptr {place}")
    if gives_way:
        t.set_slot(Slot.GAVE_WAY, "0")
    t.do("br label %each.on")
    t.start("paused")
    if gives_way:
        _give_way(t, place, status)
    else:
        t.do("br label %arrived")
    t.start("arrived")
    t.do(f"store i32 {status}, ptr {place}")
    if gives_way:
        t.set_slot(Slot.GAVE_WAY, "0")
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
    living = t.op(f"call i32 @living(ptr {states}, i32 %warps)")
    t.do(f"call void @release(ptr %ctx, i64 {number}, i32 %warps, i32 {living})")
    t.do("br label %not.full")
    t.start("not.full")
    t.do(f"br i1 {goes_on}, label %go, label %each.on")
    t.start("each.on")
    gave = ", [ %gave, %gave.way ]" if gives_way else ""
    t.do(
        "%moved.on = phi i1 [ %moved, %each ], [ true, %finished ], [ true, %not.full ]"
        + gave.replace("%gave,", "%moved,")
    )
    t.do(
        "%gave.on = phi i1 [ %gave, %each ], [ %gave, %finished ], [ %gave, %not.full ]"
        + gave.replace("%gave,", "true,")
    )
    t.do("%w.next = add i32 %w, 1")
    t.do(f"br i1 {t.op('icmp ult i32 %w.next, %warps')}, label %each, label %count")
    t.start("count")
    t.do(f"%live = call i32 @living(ptr {states}, i32 %warps)")
    t.do("br label %check")
    _release_full(t, barriers)
    t.start("all")
    t.do(f"br i1 {t.op('icmp eq i32 %live, 0')}, label %done, label %stuck")
    t.start("stuck")
    t.do("br i1 %freed.on, label %pass, label %still")
    t.start("still")
    t.do("br i1 %gave.on, label %later, label %dead")
    t.start("dead")
    t.do(f"call void @fault(ptr %ctx, i64 {int(Fault.BARRIER)}, i32 -1, i32 0, i64 0)")
    t.do("br label %stop")
    for label, result in (("done", 1), ("later", 0), ("stop", -1)):
        t.start(label)
        t.do(f"ret i32 {result}")
    head = "define internal i32 @turn(ptr %ctx, i32 %warps, ptr %code) noinline #0 {"
    return "\n".join([head, *t.lines, "}"])


def _give_way(t: Text, place: str, status: str) -> None:
    """Emit the case of a warp that waits for others: it runs again in its next turn, and is taken
    to be endless after too many of them."""
    t.do(f"br i1 {t.op(f'icmp uge i32 {status}, {GIVES_WAY}')}, label %gives, label %arrived")
    t.start("gives")
    t.do(f"store i32 {t.op(f'sub i32 {status}, {GIVES_WAY}')}, ptr {place}")
    times = t.op(f"add i64 {t.slot(Slot.GAVE_WAY)}, 1")
    t.set_slot(Slot.GAVE_WAY, times)
    over = t.op(f"icmp ugt i64 {times}, {t.slot(Slot.GIVE_WAY_LIMIT)}")
    t.do(f"br i1 {over}, label %endless, label %gave.way")
    t.start("endless")
    t.do(
        f"call void @fault(ptr %ctx, i64 {int(Fault.NO_PROGRESS)}, "
        f"i32 {t.op(f'trunc i64 {t.slot(Slot.GAVE_WAY_AT)} to i32')}, i32 0, i64 0)"
    )
    t.do("br label %stop")
    t.start("gave.way")
    t.do("br label %each.on")


def _release_full(t: Text, barriers: str) -> None:
    """Emit the release of barriers at which as many threads have arrived as they wait for."""
    t.start("check")
    t.do("%n = phi i64 [ 0, %count ], [ %n.next, %check.on ]")
    t.do("%freed = phi i1 [ %moved.on, %count ], [ %freed.on, %check.on ]")
    have = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {barriers}, i64 %n')}")
    at = t.op(f"add i64 %n, {BARRIERS}")
    given = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {barriers}, i64 {at}')}")
    alive = t.op(f"shl i64 {t.op('zext i32 %live to i64')}, 5")
    want = t.op(f"select i1 {t.op(f'icmp eq i64 {given}, 0')}, i64 {alive}, i64 {given}")
    some = t.op(f"icmp ne i64 {have}, 0")
    enough = t.op(f"icmp uge i64 {have}, {want}")
    t.do(f"br i1 {t.op(f'and i1 {some}, {enough}')}, label %let.go, label %check.on")
    t.start("let.go")
    t.do("call void @release(ptr %ctx, i64 %n, i32 %warps, i32 %live)")
    t.do("br label %check.on")
    t.start("check.on")
    t.do("%freed.on = phi i1 [ %freed, %check ], [ true, %let.go ]")
    t.do("%n.next = add i64 %n, 1")
    t.do(f"br i1 {t.op(f'icmp ult i64 %n.next, {BARRIERS}')}, label %check, label %all")


def living_function() -> str:
    """``@living(states, warps)``: warps that have not ended."""
    return """
define internal i32 @living(ptr %states, i32 %warps) {
entry:
  br label %head
head:
  %w = phi i32 [ 0, %entry ], [ %next, %head ]
  %live = phi i32 [ 0, %entry ], [ %more, %head ]
  %place = getelementptr i32, ptr %states, i32 %w
  %state = load i32, ptr %place
  %runs = icmp sge i32 %state, 0
  %one = zext i1 %runs to i32
  %more = add i32 %live, %one
  %next = add i32 %w, 1
  %on = icmp ult i32 %next, %warps
  br i1 %on, label %head, label %out
out:
  ret i32 %more
}
"""
