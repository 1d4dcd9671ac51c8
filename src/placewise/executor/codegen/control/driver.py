"""The compiled loop over blocks and their warps."""

from __future__ import annotations

from placewise.executor.codegen.control import named_barriers
from placewise.executor.codegen.text import Text
from placewise.executor.device_memory.address_space import FUEL, Slot


def driver(*, barriers: bool, named: bool, shared: bool, traced: bool) -> str:
    """``@run(ctx, blocks, count)``: run the listed blocks; returns how many were finished.

    Between barriers the warps of a block run one after another, lowest first.
    """
    declarations: set[str] = set()
    t = Text(declarations)
    t.do("br label %head")
    t.start("head")
    t.do("%i = phi i64 [ 0, %0 ], [ %next, %next.block ]")
    t.do(f"br i1 {t.op('icmp uge i64 %i, %count')}, label %out, label %look")
    t.start("look")
    stop = t.op(f"load volatile i64, ptr {t.slot_pointer(Slot.STOP)}")
    t.do(f"br i1 {t.op(f'icmp ne i64 {stop}, 0')}, label %out, label %block")
    t.start("block")
    linear = t.op(f"load i64, ptr {t.op('getelementptr i64, ptr %blocks, i64 %i')}")
    enter_block(t, linear, traced=traced)
    if traced:
        t.set_identity("phase", "0")
    if shared:
        clear_shared(t)
    warps = t.op(f"trunc i64 {t.slot(Slot.WARPS)} to i32")
    if named:
        named_barriers.begin(t, warps)
        status = t.op(f"call i32 @turn(ptr %ctx, i32 {warps}, ptr %code)")
        t.do(f"br i1 {t.op(f'icmp slt i32 {status}, 0')}, label %out, label %done")
    elif barriers:
        _phases(t, warps, traced=traced)
    else:
        _once(t, warps)
    t.start("done")
    _note_work(t, linear, after="next.block")
    t.start("next.block")
    t.do("%next = add i64 %i, 1")
    t.do("br label %head")
    t.start("out")
    t.do("ret i64 %i")
    head = "define i64 @run(ptr %ctx, ptr %blocks, i64 %count) #0 {"
    turns = named_barriers.functions(declarations, run_warp, gives_way=False) if named else ""
    return "\n".join([*sorted(declarations), turns, head, *t.lines, "}"])


def enter_block(t: Text, linear: str, *, traced: bool) -> None:
    """Emit the set-up of block ``linear``, which becomes the present one. ``%code`` points to the
    function that runs a warp."""
    t.set_slot(Slot.BLOCK, linear)
    nx, ny = t.slot(Slot.NCTAID), t.slot(Slot.NCTAID + 1)
    t.set_slot(Slot.CTAID, t.op(f"urem i64 {linear}, {nx}"))
    rest = t.op(f"udiv i64 {linear}, {nx}")
    y = t.op(f"urem i64 {rest}, {ny}")
    z = t.op(f"udiv i64 {rest}, {ny}")
    for axis, value in ((1, y), (2, z)):
        t.do(f"store i64 {value}, ptr {t.slot_pointer(Slot.CTAID + axis)}")
    t.set_slot(Slot.FUEL, str(FUEL))
    if traced:
        t.set_identity("block", t.op(f"trunc i64 {linear} to i32"))
        flags = t.slot(Slot.TRACED_BLOCKS, "ptr")
        flag = t.op(f"load i8, ptr {t.op(f'getelementptr i8, ptr {flags}, i64 {linear}')}")
        recorded = t.op(f"icmp ne i8 {flag}, 0")
        slots = (t.slot_pointer(Slot.WARP_TRACED), t.slot_pointer(Slot.WARP_CODE))
        t.do(f"%code = select i1 {recorded}, ptr {slots[0]}, ptr {slots[1]}")
    else:
        t.do(f"%code = getelementptr i64, ptr %ctx, i64 {int(Slot.WARP_CODE)}")


def _note_work(t: Text, linear: str, *, after: str) -> None:
    """Emit the note of how many basic blocks the warps of block ``linear`` executed, where a launch
    asks for it."""
    work = t.slot(Slot.BLOCK_WORK, "ptr")
    t.do(f"br i1 {t.op(f'icmp eq ptr {work}, null')}, label %{after}, label %tally.head")
    t.start("tally.head")
    counters, words = t.slot(Slot.COUNTERS, "ptr"), t.slot(Slot.COUNTED_WORDS)
    t.do("br label %tally")
    t.start("tally")
    t.do("%k = phi i64 [ 0, %tally.head ], [ %k.next, %tally ]")
    t.do("%sum = phi i64 [ 0, %tally.head ], [ %sum.next, %tally ]")
    # Executions by warps and by threads take turns.
    one = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {counters}, i64 %k')}")
    t.do(f"%sum.next = add i64 %sum, {one}")
    t.do("%k.next = add i64 %k, 2")
    t.do(f"br i1 {t.op(f'icmp ult i64 %k.next, {words}')}, label %tally, label %tallied")
    t.start("tallied")
    own = t.op(f"sub i64 %sum.next, {t.slot(Slot.COUNTED)}")
    t.do(f"store i64 {own}, ptr {t.op(f'getelementptr i64, ptr {work}, i64 {linear}')}")
    t.set_slot(Slot.COUNTED, "%sum.next")
    t.do(f"br label %{after}")


def clear_shared(t: Text) -> None:
    """Emit the zeroing of shared memory at the start of a block."""
    t.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    size = t.slot(Slot.SHARED_BYTES)
    start = t.slot(Slot.SHARED, "ptr")
    t.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {size}, i1 false)")


def run_warp(t: Text, resume: str) -> str:
    """Run warp %w from ``resume`` on. Its code is looked up every time, as better code may come."""
    code = t.op("load volatile ptr, ptr %code")
    return t.op(f"call i32 {code}(ptr %ctx, i32 %w, i32 {resume})")


def _once(t: Text, warps: str) -> None:
    t.do("br label %warps")
    t.start("warps")
    t.do("%w = phi i32 [ 0, %block ], [ %w.next, %warps.on ]")
    status = run_warp(t, "0")
    t.do(f"br i1 {t.op(f'icmp slt i32 {status}, 0')}, label %out, label %warps.on")
    t.start("warps.on")
    t.do("%w.next = add i32 %w, 1")
    t.do(f"br i1 {t.op(f'icmp ult i32 %w.next, {warps}')}, label %warps, label %done")


def _phases(t: Text, warps: str, *, traced: bool) -> None:
    """Run every warp to its next barrier, until all have ended.

    A warp that has ended counts as arrived, as it does on a GPU.
    """
    states = t.slot(Slot.STATES, "ptr", invariant=True)
    bytes_ = t.op(f"shl i64 {t.op(f'zext i32 {warps} to i64')}, 2")
    t.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    t.do(f"call void @llvm.memset.p0.i64(ptr {states}, i8 0, i64 {bytes_}, i1 false)")
    t.do("br label %phase")
    t.start("phase")
    t.do("%w = phi i32 [ 0, %block ], [ %w.next, %warp.on ], [ 0, %again ]")
    t.do("%waiting = phi i32 [ 0, %block ], [ %waiting.next, %warp.on ], [ 0, %again ]")
    place = t.op(f"getelementptr i32, ptr {states}, i32 %w")
    state = t.op(f"load i32, ptr {place}")
    t.do(f"br i1 {t.op(f'icmp slt i32 {state}, 0')}, label %warp.on, label %go")
    t.start("go")
    status = run_warp(t, state)
    t.do(f"br i1 {t.op(f'icmp slt i32 {status}, 0')}, label %out, label %keep")
    t.start("keep")
    ended = t.op(f"icmp eq i32 {status}, 0")
    t.do(f"store i32 {t.op(f'select i1 {ended}, i32 -1, i32 {status}')}, ptr {place}")
    one = t.op(f"select i1 {ended}, i32 0, i32 1")
    more = t.op(f"add i32 %waiting, {one}")
    t.do("br label %warp.on")
    t.start("warp.on")
    t.do(f"%waiting.next = phi i32 [ %waiting, %phase ], [ {more}, %keep ]")
    t.do("%w.next = add i32 %w, 1")
    t.do(f"br i1 {t.op(f'icmp ult i32 %w.next, {warps}')}, label %phase, label %all")
    t.start("all")
    for slot in (0, 1):
        value = t.slot(Slot.RED_COUNT + slot)
        t.do(f"store i64 {value}, ptr {t.slot_pointer(Slot.RED_COUNT_DONE + slot)}")
        t.do(f"store i64 0, ptr {t.slot_pointer(Slot.RED_COUNT + slot)}")
    t.do(f"br i1 {t.op('icmp eq i32 %waiting.next, 0')}, label %done, label %again")
    t.start("again")
    if traced:
        t.next_phase("1")
    t.do("br label %phase")
