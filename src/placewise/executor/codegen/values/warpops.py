"""Shuffles, votes, matches and reductions across the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

from placewise.executor.codegen.text import Text, Values, lanes
from placewise.executor.ir.nodes import Node

LANE = lanes(range(32))
"""Every lane's number."""
_V = "<32 x i32>"


def permute(declarations: set[str], *, avx512: bool) -> str:
    """``@permute(values, index)``: lane l of the result is lane index[l] of the values."""
    t = Text(declarations)
    if avx512:
        low = lanes(range(16))
        high = lanes(range(16, 32))
        halves = [
            t.op(f"shufflevector {_V} %values, {_V} poison, <16 x i32> {p}") for p in (low, high)
        ]
        results = []
        for part in (low, high):
            index = t.op(f"shufflevector {_V} %index, {_V} poison, <16 x i32> {part}")
            results.append(
                t.call(
                    "<16 x i32>",
                    "llvm.x86.avx512.vpermi2var.d.512",
                    ("<16 x i32>", halves[0]),
                    ("<16 x i32>", index),
                    ("<16 x i32>", halves[1]),
                )
            )
        whole = t.op(
            f"shufflevector <16 x i32> {results[0]}, <16 x i32> {results[1]}, <32 x i32> {LANE}"
        )
    else:
        place = t.stack(f"{_V}")
        t.do(f"store {_V} %values, ptr {place}")
        whole = "poison"
        for lane in range(32):
            index = t.op(f"extractelement {_V} %index, i64 {lane}")
            value = t.op(f"load i32, ptr {t.op(f'getelementptr i32, ptr {place}, i32 {index}')}")
            whole = t.op(f"insertelement {_V} {whole}, i32 {value}, i64 {lane}")
    t.do(f"ret {_V} {whole}")
    inline = "alwaysinline" if avx512 else "noinline"
    head = f"define internal fastcc {_V} @permute({_V} %values, {_V} %index) {inline} #0 {{"
    return "\n".join([head, *t.lines, "}"])


def shuffle(v: Values, n: Node) -> tuple[str, str]:
    """Value and in-range vectors of a ``shuffle`` node (PTX ISA, shfl.sync)."""
    value = v.vector(n.args[0])
    index, fine = sources(v, n.args[1], n.args[2], str(n.attr))
    return v.op(f"call fastcc {_V} @permute({_V} {value}, {_V} {index})"), fine


def sources(v: Values, lane: Node, clamp_operand: Node, mode: str) -> tuple[str, str]:
    """The lane that each lane reads from in a shuffle (itself out of range), and in-range."""
    b, c = v.vector(lane), v.vector(clamp_operand)
    b = v.op(f"and {_V} {b}, splat (i32 31)")
    segment = v.op(f"and {_V} {v.op(f'lshr {_V} {c}, splat (i32 8)')}, splat (i32 31)")
    clamp = v.op(f"and {_V} {c}, splat (i32 31)")
    free = v.op(f"xor {_V} {segment}, splat (i32 31)")
    least = v.op(f"and {_V} {LANE}, {segment}")
    most = v.op(f"or {_V} {least}, {v.op(f'and {_V} {clamp}, {free}')}")
    if mode == "up":
        source = v.op(f"sub {_V} {LANE}, {b}")
        fine = v.op(f"icmp sge {_V} {source}, {most}")
    else:
        if mode == "down":
            source = v.op(f"add {_V} {LANE}, {b}")
        elif mode == "bfly":
            source = v.op(f"xor {_V} {LANE}, {b}")
        else:
            source = v.op(f"or {_V} {least}, {v.op(f'and {_V} {b}, {free}')}")
        fine = v.op(f"icmp sle {_V} {source}, {most}")
    index = v.op(f"select <32 x i1> {fine}, {_V} {source}, {_V} {LANE}")
    return v.op(f"and {_V} {index}, splat (i32 31)"), fine


def vote(v: Values, n: Node, mask: str) -> str:
    """Scalar result of a ``vote`` node."""
    holds = v.op(f"and i32 {v.mask_of(n.args[0])}, {mask}")
    if n.attr == "ballot":
        return holds
    if n.attr == "any":
        return v.op(f"icmp ne i32 {holds}, 0")
    everyone = v.op(f"icmp eq i32 {holds}, {mask}")
    if n.attr == "all":
        return everyone
    return v.op(f"or i1 {everyone}, {v.op(f'icmp eq i32 {holds}, 0')}")


_IDENTITY = {
    "add": 0,
    "or": 0,
    "xor": 0,
    "and": -1,
    "umax": 0,
    "umin": -1,
    "smax": -(1 << 31),
    "smin": (1 << 31) - 1,
}


def reduce(v: Values, n: Node, mask: str) -> str:
    """Scalar result of a ``reduce`` node over the active lanes."""
    op = str(n.attr)
    flags = v.op(f"bitcast i32 {mask} to <32 x i1>")
    value = v.vector(n.args[0])
    clean = v.op(f"select <32 x i1> {flags}, {_V} {value}, {_V} splat (i32 {_IDENTITY[op]})")
    return v.call("i32", f"llvm.vector.reduce.{op}.v32i32", (_V, clean))


def vote_by_groups(v: Values, n: Node, mask: str) -> str:
    """A ``vote`` whose lanes name different members: each lane's result is that of its group."""
    holds = v.splat("i32", v.op(f"and i32 {v.mask_of(n.args[0])}, {mask}"))
    group = v.op(f"and {_V} {v.vector(n.args[1])}, {v.splat('i32', mask)}")
    within = v.op(f"and {_V} {holds}, {group}")
    if n.attr == "ballot":
        return within
    none = v.op(f"icmp eq {_V} {within}, zeroinitializer")
    if n.attr == "any":
        return v.op(f"xor <32 x i1> {none}, splat (i1 true)")
    every = v.op(f"icmp eq {_V} {within}, {group}")
    return every if n.attr == "all" else v.op(f"or <32 x i1> {every}, {none}")


def _group_by_group(
    t: Text, element: str, stored: str, of_group: Callable[[str, str], tuple[str, str, str]]
) -> None:
    """The body of a helper that serves the lanes in ``%mask`` group by group, and returns a vector.

    ``of_group`` gets the number of a group's first lane and that lane's element of ``stored``. It
    emits three values and returns their names: the group's mask (i32), the mask as <32 x i1>, and
    the result of the group's lanes.
    """
    place = t.stack(f"<32 x {element}>")
    t.do(f"store <32 x {element}> {stored}, ptr {place}")
    t.do("br label %head")
    t.start("head")
    t.do("%left = phi i32 [ %mask, %0 ], [ %rest, %body ]")
    t.do(f"%result = phi {_V} [ zeroinitializer, %0 ], [ %more, %body ]")
    t.do(f"br i1 {t.op('icmp eq i32 %left, 0')}, label %out, label %body")
    t.start("body")
    lane = t.call("i32", "llvm.cttz.i32", ("i32", "%left"), ("i1", "false"))
    pointer = t.op(f"getelementptr {element}, ptr {place}, i32 {lane}")
    group, flags, value = of_group(lane, t.op(f"load {element}, ptr {pointer}"))
    t.do(f"%more = select <32 x i1> {flags}, {_V} {value}, {_V} %result")
    t.do(f"%rest = and i32 %left, {t.op(f'xor i32 {group}, -1')}")
    t.do("br label %head")
    t.start("out")
    t.do(f"ret {_V} %result")


def reduce_helper(declarations: set[str], op: str) -> str:
    """``@reduce.OP(values, members, mask)``: a reduction for each group of lanes with one mask."""
    t = Text(declarations)

    def of_group(lane: str, named: str) -> tuple[str, str, str]:
        # The lane counts as in its group even if its mask leaves it out, so that the loop ends.
        own = t.op(f"shl i32 1, {lane}")
        group = t.op(f"and i32 {t.op(f'or i32 {named}, {own}')}, %left")
        flags = t.op(f"bitcast i32 {group} to <32 x i1>")
        clean = t.op(f"select <32 x i1> {flags}, {_V} %values, {_V} splat (i32 {_IDENTITY[op]})")
        value = t.splat("i32", t.call("i32", f"llvm.vector.reduce.{op}.v32i32", (_V, clean)))
        return group, flags, value

    _group_by_group(t, "i32", "%members", of_group)
    head = (
        f"define internal fastcc {_V} @reduce.{op}({_V} %values, {_V} %members, i32 %mask) "
        "noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])


def match_helper(declarations: set[str], bits: int) -> str:
    """``@match.N(values, mask)``: per lane the active lanes with the same value."""
    t = Text(declarations)
    e = f"i{bits}"

    def of_group(_: str, value: str) -> tuple[str, str, str]:
        same = t.op(f"icmp eq <32 x {e}> %values, {t.splat(e, value)}")
        found = t.op(f"and i32 {t.op(f'bitcast <32 x i1> {same} to i32')}, %mask")
        return found, t.op(f"bitcast i32 {found} to <32 x i1>"), t.splat("i32", found)

    _group_by_group(t, e, "%values", of_group)
    head = (
        f"define internal fastcc {_V} @match.{bits}(<32 x {e}> %values, i32 %mask) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def lanemask(which: str) -> str:
    """The constant vector of ``%lanemask_eq``, ``lt``, ``le``, ``gt`` or ``ge``."""
    everything = (1 << 32) - 1
    values = []
    for lane in range(32):
        below = (1 << lane) - 1
        own = 1 << lane
        values.append(
            {
                "eq": own,
                "lt": below,
                "le": below | own,
                "gt": everything & ~(below | own),
                "ge": everything & ~below,
            }[which]
        )
    return lanes(values)
