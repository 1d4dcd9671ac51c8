"""Accesses made one lane after another: into several windows, local memory, or out of bounds."""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.codegen.accesses.access import (
    Kind,
    Range,
    fault_code,
    find_range,
    first_lane,
    give,
    touch,
)
from placewise.executor.codegen.text import Text
from placewise.executor.codegen.tracing import records, several_arrays
from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, Slot, address

_LOCAL = str(address(WINDOW_OF_SPACE["local"]))


def lane_loop(t: Text, kind: Kind, action: str) -> None:
    """One lane after another: pointers into several windows, and whatever is out of bounds."""
    e, a = kind.element, kind.address
    if kind.traced and kind.memory == "windowed":
        several_arrays.record_each(t, kind.lane_bytes)
        kind = replace(kind, traced=False)
    entry = t.label()
    t.do(f"br label %{entry}")
    t.start(entry)
    addresses = t.stack(f"<32 x {a}>")
    t.do(f"store <32 x {a}> %address, ptr {addresses}")
    values = [t.stack(f"<32 x {e}>") for _ in range(kind.count)]
    for n, place in enumerate(values):
        start = "zeroinitializer" if action == "load" else f"%value{n}"
        t.do(f"store <32 x {e}> {start}, ptr {place}")
    head, body, on, out = t.label(), t.label(), t.label(), t.label()
    t.do(f"br label %{head}")
    t.start(head)
    left_name, next_name = t.name(), t.name()
    t.do(f"{left_name} = phi i32 [ %mask, %{entry} ], [ {next_name}, %{on} ]")
    t.do(f"br i1 {t.op(f'icmp eq i32 {left_name}, 0')}, label %{out}, label %{body}")
    t.start(body)
    lane = first_lane(t, left_name)
    address = t.op(f"load {a}, ptr {t.op(f'getelementptr {a}, ptr {addresses}, i32 {lane}')}")
    pointer = lane_pointer(t, kind, action, address, lane, on)
    for n, place in enumerate(values):
        at = t.op(f"getelementptr i8, ptr {pointer}, i64 {n * kind.bits // 8}") if n else pointer
        slot = t.op(f"getelementptr {e}, ptr {place}, i32 {lane}")
        source, target = (at, slot) if action == "load" else (slot, at)
        value = t.op(f"load {e}, ptr {source}, align {kind.bits // 8}")
        t.do(f"store {e} {value}, ptr {target}, align {kind.bits // 8}")
    t.do(f"br label %{on}")
    t.start(on)
    t.do(f"{next_name} = and i32 {left_name}, {t.op(f'sub i32 {left_name}, 1')}")
    t.do(f"br label %{head}")
    t.start(out)
    if action == "load":
        results = [t.op(f"load <32 x {e}>, ptr {place}") for place in values]
        give(t, kind.vector_result, results, f"<32 x {e}>")
    else:
        t.do("ret void")


def lane_pointer(
    t: Text, kind: Kind, action: str, address: str, lane: str, skip: str, *, trace: bool = True
) -> str:
    """Host pointer of one lane's access; a bad one is reported and goes to label ``skip``.

    With ``trace`` it is recorded as an access of one lane.
    """
    size = kind.lane_bytes
    wide = address if kind.address == "i64" else t.op(f"zext i32 {address} to i64")
    if kind.memory == "local":
        found = _own_local(t, lane)
        relative = wide
    else:
        found = find_range(t, kind, address)
        relative = t.op(f"sub i64 {wide}, {found.start}")
    if kind.memory == "windowed":
        found = _or_local(t, found, lane)
    good, bad = t.label(), t.label()
    end = t.op(f"add i64 {relative}, {size}")
    inside = t.op(f"icmp ule i64 {end}, {found.size}")
    aligned = t.op(f"icmp eq i64 {t.op(f'and i64 {relative}, {size - 1}')}, 0")
    t.do(f"br i1 {t.op(f'and i1 {inside}, {aligned}')}, label %{good}, label %{bad}, !prof !1")
    t.start(bad)
    t.do(
        f"call void @fault(ptr %ctx, i64 {fault_code(t, inside)}, i32 %site, i32 {lane}, "
        f"i64 {wide})"
    )
    t.do(f"br label %{skip}")
    t.start(good)
    touch(t, found, action)
    if kind.traced and trace:
        bit = t.op(f"shl i32 1, {lane}")
        at = t.op(f"add i64 {relative}, {found.place}")
        records.append(t, (at, at), 0, bit)
    return t.op(f"getelementptr i8, ptr {found.host}, i64 {relative}")


def _own_local(t: Text, lane: str) -> Range:
    """A lane's own local memory."""
    size = t.slot(Slot.LOCAL_BYTES, invariant=True)
    first = t.slot(Slot.LOCAL, "ptr")
    start = t.op(f"mul i64 {t.op(f'zext i32 {lane} to i64')}, {size}")
    return Range("0", size, t.op(f"getelementptr i8, ptr {first}, i64 {start}"), _LOCAL, None)


def _or_local(t: Text, found: Range, lane: str) -> Range:
    """``found``, or the lane's local memory where a generic address points there.

    The window of local memory has no bytes in the table, so that only this way leads into it: the
    same generic address is another place in each lane.
    """
    own = _own_local(t, lane)
    local = t.op(f"icmp eq i64 {found.window}, {WINDOW_OF_SPACE['local']}")
    return Range(
        found.start,
        t.op(f"select i1 {local}, i64 {own.size}, i64 {found.size}"),
        t.op(f"select i1 {local}, ptr {own.host}, ptr {found.host}"),
        found.place,
        found.window,
    )


def local_access(kind: Kind, declarations: set[str]) -> str:
    """Loads and stores of local memory, where each lane has its own copy of every address."""
    t = Text(declarations)
    if kind.traced:
        records.append_any(t, _LOCAL, "%address", "i32")
    quiet = Kind(kind.action, "local", kind.bits, kind.count, traced=False)
    lane_loop(t, quiet, kind.action)
    values = ""
    if kind.action == "store":
        values = "".join(f", <32 x {kind.element}> %value{n}" for n in range(kind.count))
    result = kind.vector_result if kind.action == "load" else "void"
    head = (
        f"define internal fastcc {result} {kind.name}(ptr %ctx, <32 x i32> %address, "
        f"i32 %mask, i32 %site{values}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])
