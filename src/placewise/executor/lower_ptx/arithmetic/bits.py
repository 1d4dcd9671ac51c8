"""Bit fields, permutations of bytes, Boolean functions of three words, byte dot products."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lower_ptx.arithmetic.integer import ints
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering.bits import (
    extended,
    field_mask,
    highest_one,
    lop3_value,
    ones_from,
    permuted,
    permuted_constant,
    shifted,
)
from placewise.executor.lowering.integers import join, split
from placewise.kernel.ptx import Immediate, Instruction, Pair

_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Selectors of prmt's special modes for a control value of 0 to 3 (PTX ISA, prmt); b4e's take
byte i from the pair {a, b} counted downwards."""


def bfe(c: Context, i: Instruction) -> None:
    type_, signed, _ = ints(c, i, i.operands[1])
    value = c.src(i.operands[1], type_)
    byte = c.b.const("i32", 255)
    position, length = (c.binary("and", c.src(o, "i32"), byte) for o in i.operands[2:4])
    bits = BITS[type_]
    if not signed:
        field = c.binary("and", shifted(c, "lshr", value, position), field_mask(c, type_, length))
    else:
        moved = shifted(c, "ashr", value, position)
        full = c.b.const("i32", bits)
        spare = c.b.resize(c.binary("sub", full, c.binary("umin", length, full)), type_)
        empty = c.b.icmp("eq", length, c.b.const("i32", 0))
        # A length of 0 would shift by the width, which LLVM leaves undefined.
        spare = c.b.select(empty, c.b.const(type_, 0), spare)
        field = c.binary("ashr", c.binary("shl", moved, spare), spare)
        field = c.b.select(empty, c.b.const(type_, 0), field)
    c.dst(i.operands[0], field)


def bfi(c: Context, i: Instruction) -> None:
    type_ = int_type(width(i.parts[-1]))
    a, b = c.src(i.operands[1], type_), c.src(i.operands[2], type_)
    byte = c.b.const("i32", 255)
    position, length = (c.binary("and", c.src(o, "i32"), byte) for o in i.operands[3:5])
    mask = shifted(c, "shl", field_mask(c, type_, length), position)
    inserted = c.binary("and", shifted(c, "shl", a, position), mask)
    c.dst(i.operands[0], c.binary("or", c.binary("and", b, c.negate(mask)), inserted))


def bmsk(c: Context, i: Instruction) -> None:
    """bmsk.clamp, bmsk.wrap: a mask of b bits from bit a on."""
    position, length = (c.src(o, "i32") for o in i.operands[1:3])
    mask = ones_from(c, position, length, wrap="wrap" in i.parts)
    c.dst(i.operands[0], mask)


def szext(c: Context, i: Instruction) -> None:
    """szext.clamp, szext.wrap: extend from bit b - 1."""
    _, signed, (a, n) = ints(c, i)
    c.dst(i.operands[0], extended(c, a, n, signed=signed, wrap="wrap" in i.parts))


def count(c: Context, i: Instruction) -> None:
    """clz, popc: an i32 result for every operand width."""
    _, _, (a,) = ints(c, i)
    op = "ctlz" if i.parts[0] == "clz" else "ctpop"
    c.dst(i.operands[0], c.b.resize(c.b.pure(op, a.type, a), "i32"))


def brev(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.b.pure("bitreverse", a.type, a))


def bfind(c: Context, i: Instruction) -> None:
    """bfind: position of the highest bit that differs from the sign (unsigned: is set), or -1."""
    _, signed, (a,) = ints(c, i)
    found, _ = highest_one(c, a, signed=signed, as_shift="shiftamt" in i.parts)
    c.dst(i.operands[0], found)


def _nth_one(c: Context, word: Node, rank: Node) -> Node:
    """Position of the set bit with ``rank`` lower set bits, all ones if there is none."""
    position = c.b.const("i32", 0)
    left = rank
    for width_ in (16, 8, 4, 2, 1):
        low = c.binary("and", c.binary("lshr", word, position), c.b.const("i32", (1 << width_) - 1))
        ones = c.b.pure("ctpop", "i32", low)
        beyond = c.b.icmp("uge", left, ones)
        left = c.b.select(beyond, c.binary("sub", left, ones), left)
        further = c.binary("add", position, c.b.const("i32", width_))
        position = c.b.select(beyond, further, position)
        position = c.binary("and", position, c.b.const("i32", 31))
    exists = c.b.icmp("ult", rank, c.b.pure("ctpop", "i32", word))
    return c.b.select(exists, position, c.b.const("i32", -1))


def fns(c: Context, i: Instruction) -> None:
    """fns.b32 d, mask, base, offset: the offset-th set bit from a place on, up or down."""
    mask, base, offset = (c.src(o, "i32") for o in i.operands[1:4])
    zero, one, last = (c.b.const("i32", v) for v in (0, 1, 31))
    above = c.binary("and", mask, shifted(c, "shl", c.b.const("i32", -1), base))
    up = _nth_one(c, above, c.binary("sub", offset, one))
    turned = c.b.pure("bitreverse", "i32", mask)
    below = c.binary(
        "and", turned, shifted(c, "shl", c.b.const("i32", -1), c.binary("sub", last, base))
    )
    found = _nth_one(c, below, c.negate(offset))
    none = c.b.icmp("eq", found, c.b.const("i32", -1))
    down = c.b.select(none, found, c.binary("sub", last, found))
    here = c.b.icmp("ne", c.binary("and", shifted(c, "lshr", mask, base), one), zero)
    own = c.b.select(here, base, c.b.const("i32", -1))
    moved = c.b.select(c.b.icmp("sgt", offset, zero), up, down)
    c.dst(i.operands[0], c.b.select(c.b.icmp("eq", offset, zero), own, moved))


def prmt(c: Context, i: Instruction) -> None:
    a, b, selector = (c.src(o, "i32") for o in i.operands[1:4])
    mode = next((p for p in i.parts if p in _MODES), None)
    if mode:
        control = c.binary("and", selector, c.b.const("i32", 3))
        result = permuted_constant(c, a, b, _MODES[mode][0])
        for n in (1, 2, 3):
            other = permuted_constant(c, a, b, _MODES[mode][n])
            result = c.b.select(c.b.icmp("eq", control, c.b.const("i32", n)), other, result)
    elif isinstance(i.operands[3], Immediate):
        result = permuted_constant(c, a, b, int(i.operands[3].value))
    else:
        result = permuted(c, join(c, [a, b], "i64"), selector)
    c.dst(i.operands[0], result)


def lop3(c: Context, i: Instruction) -> None:
    a, b, d = (c.src(o, "i32") for o in i.operands[1:4])
    table = i.operands[4]
    if not isinstance(table, Immediate):
        c.unsupported(i, "the table is not a literal")
    result = lop3_value(c, a, b, d, int(table.value))
    target = i.operands[0]
    if isinstance(target, Pair):
        nonzero = c.b.icmp("ne", result, c.b.const("i32", 0))
        c.dst(target.second, c.binary(i.parts[1], nonzero, c.src(i.operands[5], "i1")))
    c.dst(target, result)


def dot(c: Context, i: Instruction) -> None:
    """dp4a, dp2a: byte (or byte by half-word) dot product plus c."""
    signed_a, signed_b = i.parts[-2][0] == "s", i.parts[-1][0] == "s"
    a, b, total = (c.src(o, "i32") for o in i.operands[1:4])
    if i.parts[0] == "dp4a":
        xs, ys = split(c, a, 4), split(c, b, 4)
    else:
        xs = split(c, a, 2)
        ys = split(c, b, 4)[2:] if "hi" in i.parts else split(c, b, 4)[:2]
    for x, y in zip(xs, ys, strict=True):
        product = c.binary(
            "mul", c.b.resize(x, "i32", signed=signed_a), c.b.resize(y, "i32", signed=signed_b)
        )
        total = c.binary("add", total, product)
    c.dst(i.operands[0], total)
