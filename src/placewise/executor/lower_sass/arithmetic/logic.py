"""Bits: Boolean functions, shifts, permutations of bytes, counts, and moves of words."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, is_predicate
from placewise.executor.lowering.bits import (
    field_mask,
    lop3_value,
    permuted,
    permuted_constant,
    shifted,
)
from placewise.executor.lowering.integers import join
from placewise.kernel.binary.sass import Immediate, Instruction, Name, Operand, Register

_BYTES = {"B0": 0, "B1": 8, "B2": 16, "B3": 24}
"""Where a byte of a word starts, in bits."""
_ALL_PREDICATES = 0x7F


def mov(c: Context, i: Instruction) -> None:
    """MOV, with a mask of the bytes' parts only where it takes all."""
    target, source, *mask = i.operands
    if mask and c.literal(mask[0]) != 15:
        c.unsupported(i, "a partial move")
    if c.flag("64"):
        c.write_wide(target, c.i64(source))
    else:
        c.write(target, c.i32(source))


def lop3(c: Context, i: Instruction) -> None:
    """Any Boolean function of three words; a predicate beside it: not zero, or the last one."""
    if not c.flag("LUT"):
        c.unsupported(i)
    combine = "and" if c.flag("PAND") else "or"
    target, outs, sources, ins = c.form(i)
    if len(sources) != 4 or len(outs) > 1 or len(ins) != 1:
        c.unsupported(i)
    a, b, d = (c.i32(s) for s in sources[:3])
    result = lop3_value(c, a, b, d, c.literal(sources[3]))
    extra = c.predicate(ins[0])
    c.write(target, result)
    if outs:
        nonzero = c.b.icmp("ne", result, c.zero())
        c.write_predicate(outs[0], c.both(combine, nonzero, extra))


def plop3(c: Context, i: Instruction) -> None:
    """Two Boolean functions of the same three predicates."""
    if not c.flag("LUT"):
        c.unsupported(i)
    first, second, *sources = i.operands
    tables = [c.literal(o) for o in sources[3:]]
    a, b, d = (c.predicate(o) for o in sources[:3])
    if len(tables) != 2:
        c.unsupported(i)
    results = [lop3_value(c, a, b, d, table) for table in tables]
    c.write_predicate(first, results[0])
    c.write_predicate(second, results[1])


def shf(c: Context, i: Instruction) -> None:
    """Shift of the pair {high, low}; the low word, or the high one (.HI)."""
    left = c.one_of("L", "R") == "L"
    wrap = c.flag("W")
    kind = c.one_of("U32", "S32", "U64", "S64")
    upper = c.flag("HI")
    if kind is None:
        c.unsupported(i)
    target, low_operand, amount_operand, high_operand = i.operands
    low, amount, high = (c.i32(o) for o in (low_operand, amount_operand, high_operand))
    bits = int(kind[1:])
    if wrap:
        amount = c.both("and", amount, c.b.const("i32", bits - 1))
    short = _short_shift(c, low, high, amount, left=left, signed=kind[0] == "S", upper=upper)
    if short is not None:
        c.write(target, short)
        return
    if bits == 32 and not wrap:
        amount = c.both("umin", amount, c.b.const("i32", 32))
    op = "shl" if left else "ashr" if kind[0] == "S" else "lshr"
    moved = shifted(c, op, c.pairs.wide(low, high), amount)
    c.write(target, c.pairs.halves(moved)[1 if upper else 0])


def _short_shift(
    c: Context, low: Node, high: Node, amount: Node, *, left: bool, signed: bool, upper: bool
) -> Node | None:
    """A shift that only one word takes part in, by a known amount below 32."""
    if amount.op != "const" or not isinstance(amount.attr, int) or amount.attr >= 32:
        return None
    if left and not upper:
        return c.both("shl", low, amount)
    if not left and upper:
        return c.both("ashr" if signed else "lshr", high, amount)
    return None


def prmt(c: Context, i: Instruction) -> None:
    """Bytes of the pair {c, a} chosen by the selector's nibbles."""
    target, a, selector, b = i.operands
    x, y = c.i32(a), c.i32(b)
    if isinstance(selector, Immediate):
        c.write(target, permuted_constant(c, x, y, c.literal(selector)))
    else:
        c.write(target, permuted(c, join(c, [x, y], "i64"), c.i32(selector)))


def sel(c: Context, i: Instruction) -> None:
    wide = c.flag("64")
    target, a, b, choice = i.operands
    if wide:
        c.write_wide(target, c.b.select(c.predicate(choice), c.i64(a), c.i64(b)))
    else:
        c.write(target, c.b.select(c.predicate(choice), c.i32(a), c.i32(b)))


def popc(c: Context, i: Instruction) -> None:
    target, a = i.operands
    c.write(target, c.b.pure("ctpop", "i32", c.i32(a)))


def brev(c: Context, i: Instruction) -> None:
    target, a = i.operands
    c.write(target, c.b.pure("bitreverse", "i32", c.i32(a)))


def flo(c: Context, i: Instruction) -> None:
    """Position of the highest bit that differs from the sign (or is set, .U32); -1 if none."""
    signed = not c.flag("U32")
    as_shift = c.flag("SH")
    target, *outs, a = i.operands
    value = c.i32(a)
    if signed:
        value = c.both("xor", value, c.both("ashr", value, c.b.const("i32", 31)))
    zeros = c.b.pure("ctlz", "i32", value)
    found = zeros if as_shift else c.both("sub", c.b.const("i32", 31), zeros)
    none = c.b.icmp("eq", value, c.zero())
    c.write(target, c.b.select(none, c.b.const("i32", -1), found))
    for out in outs:
        if not is_predicate(out):
            c.unsupported(i)
        c.write_predicate(out, c.negate(none))


def bmsk(c: Context, i: Instruction) -> None:
    """A mask of b bits from bit a on."""
    wrap = c.flag("W")
    target, a, b = i.operands
    position, length = c.i32(a), c.i32(b)
    if wrap:
        low = c.b.const("i32", 31)
        position, length = c.both("and", position, low), c.both("and", length, low)
    c.write(target, shifted(c, "shl", field_mask(c, "i32", length), position))


def sgxt(c: Context, i: Instruction) -> None:
    """Extend from bit b - 1."""
    signed = not c.flag("U32")
    wrap = c.flag("W")
    target, a, b = i.operands
    value, length = c.i32(a), c.i32(b)
    if wrap:
        length = c.both("and", length, c.b.const("i32", 31))
    full = c.b.const("i32", 32)
    spare = c.both("sub", full, c.both("umin", length, full))
    up = shifted(c, "shl", value, spare)
    c.write(target, shifted(c, "ashr" if signed else "lshr", up, spare))


def p2r(c: Context, i: Instruction) -> None:
    """Predicates as bits of a word: (a & ~mask) | (predicates & mask)."""
    shift = _byte_shift(c)
    target, a, mask_operand = _without_file(i)
    mask, base = c.i32(mask_operand), c.i32(a)
    # A predicate that a known mask leaves out is none of the word's business.
    wanted = mask.attr if mask.op == "const" and isinstance(mask.attr, int) else _ALL_PREDICATES
    bits = c.zero()
    for n in range(7):
        if not wanted >> n & 1:
            continue
        flag = c.b.get(c.b.reg(f"{_predicate_file(i)}{n}", "i1"))
        bits = c.both("or", bits, c.both("shl", c.b.resize(flag, "i32"), c.b.const("i32", n)))
    taken = c.both("and", bits, mask)
    kept = c.both("and", base, c.negate(c.both("shl", mask, c.b.const("i32", shift))))
    c.write(target, c.both("or", kept, c.both("shl", taken, c.b.const("i32", shift))))


def r2p(c: Context, i: Instruction) -> None:
    """Bits of a word to the predicates that the mask names."""
    shift = _byte_shift(c)
    a, mask_operand = _without_file(i)
    if isinstance(a, Register) and a.suffixes:
        (suffix,) = a.suffixes
        if suffix not in _BYTES:
            c.unsupported(i, f"operand suffix '{suffix}'")
        shift = _BYTES[suffix]
        a = a._replace(suffixes=())
    value, mask = c.i32(a), c.literal(mask_operand)
    for n in range(7):
        if mask >> n & 1:
            bit = c.both("and", value, c.b.const("i32", 1 << (n + shift)))
            reg = c.b.reg(f"{_predicate_file(i)}{n}", "i1")
            flag = c.b.icmp("ne", bit, c.zero())
            c.b.set(reg, c.b.select(c.guard, flag, c.b.get(reg)) if c.guard else flag)


def _without_file(i: Instruction) -> list[Operand]:
    """Operands but for PR, which stands for all predicates."""
    return [o for o in i.operands if not (isinstance(o, Name) and o.text in ("PR", "UPR"))]


def _predicate_file(i: Instruction) -> str:
    return "UP" if i.parts[0].startswith("U") or i.parts[0].endswith("UP") else "P"


def _byte_shift(c: Context) -> int:
    return _BYTES.get(c.one_of(*_BYTES) or "", 0)
