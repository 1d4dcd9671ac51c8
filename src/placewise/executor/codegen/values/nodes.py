"""Nodes other than memory accesses: registers, special values, functions across lanes."""

from __future__ import annotations

from placewise.executor.codegen import checks, host_call
from placewise.executor.codegen.accesses import heap, memory, textures
from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import vector
from placewise.executor.codegen.values import elementwise, matrix, warpops
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.ir.nodes import BITS, ELEMENTWISE, Node

_SPECIAL_SLOT = {"ntid": Slot.NTID, "ctaid": Slot.CTAID, "nctaid": Slot.NCTAID}
_MEMORY = frozenset({"load", "store", "atomic"})
_TEXTURE = frozenset({"texture", "sample", "surface"})


def emit(s: State, n: Node, blend: int) -> None:
    """Emit one node; ``blend`` is the set of registers whose old value other lanes wait for."""
    op = n.op
    if op in ELEMENTWISE:
        if n.type == "i1" and op in ("and", "or", "xor") and s.is_wide(n):
            # Predicates are combined as masks, in scalar registers.
            a, b = (s.mask_of(x) for x in n.args)
            s.set_mask(n, s.op(f"{op} i32 {a}, {b}"))
        else:
            elementwise.emit(s, n)
    elif op == "get":
        _get(s, n)
    elif op == "set":
        _set(s, n, blend)
    elif op == "special":
        _special(s, n)
    elif op == "param":
        place = s.op(f"getelementptr i8, ptr {s.invariant(Slot.PARAMS, 'ptr')}, i64 {n.attr}")
        s.set(n, s.op(f"load {n.type}, ptr {place}, align 1, !invariant.load !0"))
    elif op == "part":
        _part(s, n)
    elif op in _MEMORY:
        memory.emit(s, n)
    elif op == "host":
        host_call.emit(s, n)
    elif op in _TEXTURE:
        textures.emit(s, n)
    elif op == "heap":
        heap.emit(s, n)
    elif op == "mma":
        matrix.emit(s, n)
    elif op == "permute":
        matrix.permute(s, n)
    elif op == "count":
        _count(s, n)
    elif op == "sync":
        checks.synchronise(s, n)
    elif op != "const":
        _across(s, n)


def _get(s: State, n: Node) -> None:
    value = s.op(f"load {s.reg_type(n.reg)}, ptr %r{n.reg.number}")
    if n.reg.type == "i1" and not n.uniform:
        s.set_mask(n, value)
    else:
        s.set(n, value)


def _set(s: State, n: Node, blend: int) -> None:
    """Write a register at the end of a block; lanes waiting for the old value keep it."""
    reg, value = n.reg, n.args[0]
    place = f"%r{reg.number}"
    if not s.varies(reg):
        s.do(f"store {reg.type} {s.scalar(value)}, ptr {place}")
        return
    keep = bool(blend >> reg.number & 1)
    if reg.type == "i1":
        new = s.mask_of(value)
        if keep:
            old = s.op(f"load i32, ptr {place}")
            mine = s.op(f"and i32 {new}, {s.mask}")
            others = s.op(f"and i32 {old}, {s.op(f'xor i32 {s.mask}, -1')}")
            new = s.op(f"or i32 {mine}, {others}")
        s.do(f"store i32 {new}, ptr {place}")
        return
    type_ = vector(reg.type)
    new = s.vector(value)
    if keep:
        old = s.op(f"load {type_}, ptr {place}")
        new = s.op(f"select <32 x i1> {s.flags()}, {type_} {new}, {type_} {old}")
    s.do(f"store {type_} {new}, ptr {place}")


def _count(s: State, n: Node) -> None:
    lanes = s.op(f"and i32 {s.mask}, {s.mask_of(n.args[0])}")
    number = s.call("i32", "llvm.ctpop.i32", ("i32", lanes))
    first = 2 * len(s.program.blocks) + len(s.program.accesses)
    s.count(first + n.integer, s.op(f"zext i32 {number} to i64"))


def _special(s: State, n: Node) -> None:
    name = str(n.attr)
    head, _, axis = name.partition(".")
    if head == "tid":
        table = s.invariant(Slot.TID + "xyz".index(axis), "ptr")
        place = s.op(f"getelementptr i32, ptr {table}, i64 %first")
        type_ = "i32" if n.uniform else "<32 x i32>"
        s.set(n, s.op(f"load {type_}, ptr {place}, align 4"))
    elif head in _SPECIAL_SLOT:
        wide = s.slot(_SPECIAL_SLOT[head] + "xyz".index(axis))
        s.set(n, s.op(f"trunc i64 {wide} to i32"))
    elif head == "laneid":
        s.set(n, warpops.LANE)
    elif head == "warpid":
        s.set(n, "%warp")
    elif head.startswith("lanemask"):
        s.set(n, warpops.lanemask(head.removeprefix("lanemask_")))
    elif head == "clock":
        pointer = s.slot_pointer(Slot.CLOCK)
        now = s.op(f"add i64 {s.op(f'load i64, ptr {pointer}')}, 1")
        s.do(f"store i64 {now}, ptr {pointer}")
        s.set(n, now)
    elif head in ("smid", "nsmid", "gridid"):
        s.set(n, "1" if head == "nsmid" else "0")
    else:
        slot = {
            "nwarpid": Slot.WARPS,
            "dynamic_shared": Slot.DYNAMIC_SHARED,
            "total_shared": Slot.SHARED_BYTES,
        }[head]
        s.set(n, s.op(f"trunc i64 {s.slot(slot)} to i32"))


def _part(s: State, n: Node) -> None:
    whole = n.args[0]
    if whole.op in ("shuffle", "match"):
        s.set(n, s.pairs[whole.number, n.integer])
        return
    type_, text = s.structs[whole.number]
    s.set(n, s.op(f"extractvalue {type_} {text}, {n.integer}"))


def _across(s: State, n: Node) -> None:
    if n.op == "shuffle":
        s.needs.permute = True
        s.pairs[n.number, 0], s.pairs[n.number, 1] = warpops.shuffle(s, n)
    elif n.op == "vote":
        if n.uniform:
            s.set(n, warpops.vote(s, n, _members(s, n)))
        else:
            s.set(n, warpops.vote_by_groups(s, n, s.mask))
    elif n.op == "activemask":
        s.set(n, s.mask)
    elif n.op == "first":
        s.set(n, _first(s, n.args[0]))
    elif n.op == "reduce":
        if n.uniform:
            s.set(n, warpops.reduce(s, n, _members(s, n)))
        else:
            s.needs.group_reductions.add(str(n.attr))
            value, members = s.vector(n.args[0]), s.vector(n.args[1])
            s.set(
                n,
                s.op(
                    f"call fastcc <32 x i32> @reduce.{n.attr}(<32 x i32> {value}, "
                    f"<32 x i32> {members}, i32 {s.mask})"
                ),
            )
    else:
        assert n.op == "match", n
        _match(s, n)


def _first(s: State, value: Node) -> str:
    if value.uniform:
        return s.scalar(value)
    t = vector(value.type)
    return s.op(f"extractelement {t} {s.vector(value)}, i32 {s.first_lane()}")


def _members(s: State, n: Node) -> str:
    """Lanes that take part in a function across lanes, all naming the same ones."""
    return s.op(f"and i32 {s.mask}, {s.scalar(n.args[1])}") if len(n.args) > 1 else s.mask


def _match(s: State, n: Node) -> None:
    bits = BITS[n.args[0].type]
    s.needs.matches.add(bits)
    value = s.vector(n.args[0])
    found = s.op(f"call fastcc <32 x i32> @match.{bits}(<32 x i{bits}> {value}, i32 {s.mask})")
    t = "<32 x i32>"
    if len(n.args) > 1:
        found = s.op(f"and {t} {found}, {s.vector(n.args[1])}")
    if n.attr == "any":
        s.pairs[n.number, 0] = found
    elif n.uniform:
        members = _members(s, n)
        first = s.op(f"extractelement {t} {found}, i32 {s.first_lane()}")
        every = s.op(f"icmp eq i32 {first}, {members}")
        s.pairs[n.number, 0] = s.op(f"select i1 {every}, i32 {members}, i32 0")
        s.pairs[n.number, 1] = every
    else:
        group = s.op(f"and {t} {s.vector(n.args[1])}, {s.splat('i32', s.mask)}")
        every = s.op(f"icmp eq {t} {found}, {group}")
        s.pairs[n.number, 0] = s.op(f"select <32 x i1> {every}, {t} {group}, {t} zeroinitializer")
        s.pairs[n.number, 1] = every
