"""The compiled loop over blocks where warps or blocks wait for each other outside of barriers.

A block whose warps all wait stays resident, and the next one starts, until no more fit; then they
take turns. If no warp has to wait, one block runs after another, as under the plain driver. The
order depends on nothing but the kernel.
"""

from __future__ import annotations

from placewise.executor.codegen.control import named_barriers
from placewise.executor.codegen.control.driver import clear_shared, enter_block, run_warp
from placewise.executor.codegen.text import Text
from placewise.executor.device_memory.address_space import (
    RESIDENT_BLOCK,
    RESIDENT_POINTERS,
    RESIDENT_VALUES,
    RESIDENT_WORDS,
    WINDOW_OF_SPACE,
    WINDOW_WORDS,
    Slot,
)


# Long because it is one LLVM function as text, read from top to bottom.
def waiting_driver(*, shared: bool, traced: bool) -> str:
    """LLVM text of ``@run(ctx, blocks, count)``, which runs the listed blocks, taking turns, and
    returns how many were finished."""
    declarations: set[str] = set()
    t = Text(declarations)
    rows = t.slot(Slot.RESIDENTS, "ptr")
    places = t.slot(Slot.RESIDENT_COUNT)
    next_, done, at, held = (t.stack("i64") for _ in range(4))
    for variable in (next_, done):
        t.do(f"store i64 0, ptr {variable}")
    t.do("br label %round")
    t.start("round")
    for variable in (at, held):
        t.do(f"store i64 0, ptr {variable}")
    t.do("br label %place")
    t.start("place")
    number = t.op(f"load i64, ptr {at}")
    t.do(f"br i1 {t.op(f'icmp uge i64 {number}, {places}')}, label %round.end, label %look")
    t.start("look")
    stop = t.op(f"load volatile i64, ptr {t.slot_pointer(Slot.STOP)}")
    t.do(f"br i1 {t.op(f'icmp ne i64 {stop}, 0')}, label %out, label %go")
    t.start("go")
    row = t.op(f"getelementptr [{RESIDENT_WORDS} x i64], ptr {rows}, i64 {number}")
    block = t.op(f"getelementptr i64, ptr {row}, i64 {RESIDENT_BLOCK}")
    here = t.op(f"load i64, ptr {block}")
    old = t.op(f"sub i64 {here}, 1")
    t.do(f"br i1 {t.op(f'icmp eq i64 {here}, 0')}, label %empty, label %enter")
    t.start("empty")
    index = t.op(f"load i64, ptr {next_}")
    t.do(f"br i1 {t.op(f'icmp ult i64 {index}, %count')}, label %fresh, label %skip")
    t.start("fresh")
    first = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr %blocks, i64 {index}')}")
    t.do(f"store i64 {t.op(f'add i64 {index}, 1')}, ptr {next_}")
    t.do(f"store i64 {t.op(f'add i64 {first}, 1')}, ptr {block}")
    t.do("br label %enter")
    t.start("enter")
    t.do(f"%linear = phi i64 [ {old}, %go ], [ {first}, %fresh ]")
    t.do("%new = phi i1 [ false, %go ], [ true, %fresh ]")
    t.set_slot(Slot.RESIDENT, number)
    _restore(t, row)
    enter_block(t, "%linear", traced=traced)
    warps = t.op(f"trunc i64 {t.slot(Slot.WARPS)} to i32")
    t.do("br i1 %new, label %begin, label %run")
    t.start("begin")
    if traced:
        t.set_identity("phase", "0")
    if shared:
        clear_shared(t)
    named_barriers.begin(t, warps)
    t.do("br label %run")
    t.start("run")
    status = t.op(f"call i32 @turn(ptr %ctx, i32 {warps}, ptr %code)")
    for n, word in enumerate(RESIDENT_VALUES, len(RESIDENT_POINTERS)):
        t.do(f"store i64 {t.slot(word)}, ptr {t.op(f'getelementptr i64, ptr {row}, i64 {n}')}")
    t.do(f"switch i32 {status}, label %out [ i32 0, label %keep i32 1, label %finished ]")
    t.start("finished")
    t.do(f"store i64 0, ptr {block}")
    ended = t.op(f"load i64, ptr {done}")
    t.do(f"store i64 {t.op(f'add i64 {ended}, 1')}, ptr {done}")
    t.do("br label %place")
    t.start("keep")
    t.do(f"store i64 1, ptr {held}")
    t.do("br label %skip")
    t.start("skip")
    t.do(f"store i64 {t.op(f'add i64 {number}, 1')}, ptr {at}")
    t.do("br label %place")
    t.start("round.end")
    some = t.op(f"icmp ne i64 {t.op(f'load i64, ptr {held}')}, 0")
    t.do(f"br i1 {some}, label %round, label %out")
    t.start("out")
    t.do(f"ret i64 {t.op(f'load i64, ptr {done}')}")
    head = "define i64 @run(ptr %ctx, ptr %blocks, i64 %count) #0 {"
    turns = named_barriers.functions(declarations, run_warp, gives_way=True)
    return "\n".join([*sorted(declarations), turns, head, *t.lines, "}"])


def _restore(t: Text, row: str) -> None:
    """Emit the switch to the memory and the values of another resident block (its ``row``)."""
    for n, word in enumerate((*RESIDENT_POINTERS, *RESIDENT_VALUES)):
        value = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {row}, i64 {n}')}")
        t.do(f"store i64 {value}, ptr {t.slot_pointer(word)}")
        if word == Slot.SHARED:
            # Generic pointers into shared memory go by the window table.
            table = t.slot(Slot.WINDOWS, "ptr")
            host = WINDOW_OF_SPACE["shared"] * WINDOW_WORDS + 2
            t.do(f"store i64 {value}, ptr {t.op(f'getelementptr i64, ptr {table}, i64 {host}')}")
