"""Texture and surface nodes: a vector load where a read is plain, else a call of the sampler."""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import Kind
from placewise.executor.codegen.accesses.calls import place
from placewise.executor.codegen.accesses.memory import if_any
from placewise.executor.codegen.accesses.texture_reader import Reader
from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import vector
from placewise.executor.device_memory.address_space import WINDOW_SHIFT, WINDOW_WORDS, WINDOWS, Slot
from placewise.executor.ir.nodes import Access, Node
from placewise.executor.texture.texture_request import surface_request, texture_request

_WORD = vector("i32")


def emit(s: State, n: Node) -> None:
    """Emit a ``texture``, ``sample`` or ``surface`` node."""
    access = n.access
    if n.op == "texture" and s.options.texture_words[access.site]:
        _plain(s, n, access, s.options.texture_words[access.site])
        return
    coordinates = 4
    if n.op == "texture":
        coordinates = 1
        request = texture_request("1d.s32")
    elif n.op == "sample":
        request = texture_request(access.operation)
    else:
        request = surface_request(access)
    values = n.args[1 + coordinates :][: access.count] if access.kind == "store" else ()
    traced = access.space in s.options.traced
    action = access.kind if n.op == "surface" else "texture"
    reader = Reader(action, access.bits, access.count, traced)
    s.needs.readers.add(reader)
    where = [s.vector(a) for a in n.args[1 : 1 + coordinates]]
    where += ["zeroinitializer"] * (4 - len(where))
    mask = s.mask
    guarded = len(n.args) > 1 + coordinates + len(values)
    if guarded:
        mask = s.op(f"and i32 {mask}, {s.mask_of(n.args[-1])}")
    call = (
        f"call fastcc {reader.result} {reader.name}(ptr %ctx, <32 x i64> {s.vector(n.args[0])}, "
        f"{', '.join(f'{_WORD} {c}' for c in where)}, i32 {mask}, i32 {access.site}, "
        f"i64 {request}" + "".join(f", <32 x i{access.bits}> {s.vector(v)}" for v in values) + ")"
    )
    if guarded:
        result = if_any(s, mask, reader.result, call, access.site)
    else:
        result = place(s, reader.result, call)
    if access.kind == "load":
        s.structs[n.number] = (reader.result, result)


def _plain(s: State, n: Node, access: Access, channels: int) -> None:
    """An element read of linear memory: a vector load from its window, 0 outside of it."""
    handle, index = s.vector(n.args[0]), s.vector(n.args[1])
    base = s.op(f"and <32 x i64> {handle}, splat (i64 {-1 << WINDOW_SHIFT})")
    wide = s.op(f"zext <32 x i32> {index} to <32 x i64>")
    offset = s.op(f"mul <32 x i64> {wide}, splat (i64 {4 * channels})")
    address = s.op(f"add <32 x i64> {base}, {offset}")
    first = s.op(f"extractelement <32 x i64> {base}, i32 {s.first_lane()}")
    inside = s.op(f"icmp ult <32 x i64> {offset}, {s.splat('i64', _window_bytes(s, first))}")
    mask = s.op(f"and i32 {s.mask}, {s.op(f'bitcast <32 x i1> {inside} to i32')}")
    if len(n.args) > 2:
        mask = s.op(f"and i32 {mask}, {s.mask_of(n.args[2])}")
    kind = Kind("load", "windowed", 32, channels, "texture" in s.options.traced)
    s.needs.vector_loads.add(kind)
    result = kind.vector_result
    call = (
        f"call fastcc {result} {kind.name}(ptr %ctx, <32 x i64> {address}, i32 {mask}, "
        f"i32 {access.site})"
    )
    loaded = if_any(s, mask, result, call, access.site)
    flags = s.op(f"bitcast i32 {mask} to <32 x i1>")
    four = "{ " + ", ".join([_WORD] * 4) + " }"
    whole = "zeroinitializer"
    for c in range(channels):
        part = loaded if channels == 1 else s.op(f"extractvalue {result} {loaded}, {c}")
        part = s.op(f"select <32 x i1> {flags}, <32 x i32> {part}, <32 x i32> zeroinitializer")
        whole = s.op(f"insertvalue {four} {whole}, <32 x i32> {part}, {c}")
    s.structs[n.number] = (four, whole)


def _window_bytes(s: State, address: str) -> str:
    """Bytes of the window that an address lies in."""
    window = s.op(f"and i64 {s.op(f'lshr i64 {address}, {WINDOW_SHIFT}')}, {WINDOWS - 1}")
    table = s.invariant(Slot.WINDOWS, "ptr")
    entry = s.op(f"getelementptr [{WINDOW_WORDS} x i64], ptr {table}, i64 {window}")
    place = s.op(f"getelementptr i64, ptr {entry}, i64 1")
    return s.op(f"load i64, ptr {place}, !invariant.load !0")
