"""Instructions that look at other lanes of the warp."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lower_ptx.control import sync
from placewise.kernel.ptx import Instruction, Pair

_REDUCE = {
    "add": "add",
    "min": "min",
    "max": "max",
    "and": "and",
    "or": "or",
    "xor": "xor",
}


def _members(c: Context, i: Instruction, position: int) -> tuple[Node, ...]:
    """The member mask, unless it is missing or names every lane."""
    if len(i.operands) <= position:
        return ()
    mask = c.src(i.operands[position], "i32")
    return () if mask.op == "const" and mask.attr == 0xFFFFFFFF else (mask,)


def shfl(c: Context, i: Instruction) -> None:
    """shfl.sync.{up,down,bfly,idx}.b32 d|p, a, b, c, mask."""
    mode = next(p for p in i.parts if p in ("up", "down", "bfly", "idx"))
    value, lane, clamp = (c.src(o, "i32") for o in i.operands[1:4])
    sync.shuffle(c, i, mode, lane, clamp)
    node = c.b.effect("shuffle", "i32", value, lane, clamp, attr=mode)
    target = i.operands[0]
    if isinstance(target, Pair):
        c.dst(target.second, c.b.part(node, 1, "i1"))
    c.dst(target, c.b.part(node, 0, "i32"))


def vote(c: Context, i: Instruction) -> None:
    mode = next(p for p in i.parts if p in ("all", "any", "uni", "ballot"))
    predicate = c.src(i.operands[1], "i1")
    type_ = "i32" if mode == "ballot" else "i1"
    sync.collective(c, i, 2)
    members = _members(c, i, 2)
    c.dst(i.operands[0], c.b.effect("vote", type_, predicate, *members, attr=mode))


def match(c: Context, i: Instruction) -> None:
    mode = "any" if "any" in i.parts else "all"
    value = c.src(i.operands[1], int_type(width(i.parts[-1])))
    sync.collective(c, i, 2)
    node = c.b.effect("match", "i32", value, *_members(c, i, 2), attr=mode)
    target = i.operands[0]
    if isinstance(target, Pair):
        c.dst(target.second, c.b.part(node, 1, "i1"))
    c.dst(target, c.b.part(node, 0, "i32"))


def redux(c: Context, i: Instruction) -> None:
    type_ = i.parts[-1]
    if type_ == "f32":
        _redux_float(c, i)
        return
    op = _REDUCE[next(p for p in i.parts if p in _REDUCE)]
    if op in ("min", "max"):
        op = ("s" if type_[0] == "s" else "u") + op
    value = c.src(i.operands[1], "i32")
    sync.collective(c, i, 2)
    c.dst(i.operands[0], c.b.effect("reduce", "i32", value, *_members(c, i, 2), attr=op))


def _redux_float(c: Context, i: Instruction) -> None:
    """redux.sync.{min,max}[.abs][.NaN].f32, by integers that are ordered as the numbers are."""
    b = c.b
    members = _members(c, i, 2)
    smaller = "min" in i.parts
    bits = c.src(i.operands[1], "i32")
    if "abs" in i.parts:
        bits = c.binary("and", bits, b.const("i32", 0x7FFFFFFF))
    value = b.bitcast(bits, "f32")
    number = b.fcmp("ord", value, value)

    def turned(word: Node) -> Node:
        sign = c.binary("ashr", word, b.const("i32", 31))
        return c.binary("xor", word, c.binary("and", sign, b.const("i32", 0x7FFFFFFF)))

    none = b.const("i32", 0x7FFFFFFF if smaller else 1 << 31)
    key = b.select(number, turned(bits), none)
    best = b.effect("reduce", "i32", key, *members, attr="smin" if smaller else "smax")
    needed = "all" if "NaN" in i.parts else "any"
    valid = b.effect("vote", "i1", number, *members, attr=needed)
    c.dst(i.operands[0], b.select(valid, turned(best), b.const("i32", 0x7FFFFFFF)))


def activemask(c: Context, i: Instruction) -> None:
    c.dst(i.operands[0], c.b.effect("activemask", "i32"))


def elect(c: Context, i: Instruction) -> None:
    """elect.sync d|p: the lowest active lane."""
    mask = c.b.effect("activemask", "i32")
    for members in _members(c, i, 1):
        mask = c.binary("and", mask, members)
    first = c.b.pure("cttz", "i32", mask)
    lane = c.b.pure("special", "i32", attr="laneid")
    target = i.operands[0]
    if isinstance(target, Pair):
        c.dst(target.second, c.b.icmp("eq", lane, first))
    c.dst(target, first)
