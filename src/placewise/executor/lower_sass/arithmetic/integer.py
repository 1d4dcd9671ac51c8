"""Integer sums, products and their carries.

The uniform datapath has the same instructions with a U before their names.
"""

from __future__ import annotations

from collections.abc import Iterable

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.arithmetic.register_pairs import Carry
from placewise.executor.lower_sass.context import Context, Lowering, is_sink
from placewise.executor.lowering.integers import by_halves, join, split
from placewise.kernel.binary.sass import (
    Instruction,
    Operand,
    Register,
    is_inverted,
    is_negated,
    unsigned,
)

_PARTS = {"U16x2": 2, "S16x2": 2, "U8x4": 4, "S8x4": 4}
"""Number of parts that a word is split into, by modifier."""
_SAME_PRODUCT = ("MOV", "IADD", "SHL", "U32")
"""Modifiers of IMAD that do not change the low word of its result: MOV, IADD and SHL say that an
operand is 0, 1 or a power of two, U32 that the operands are unsigned."""


def is_zero(operand: Operand) -> bool:
    """Whether an operand is RZ, negated or not."""
    return isinstance(operand, Register) and operand.number is None and not operand.inverted


def iadd(c: Context, i: Instruction) -> None:
    """IADD: sum of two words with carries as of IADD3, or of register pairs (.64)."""
    _sum(c, i, 2)


def iadd3(c: Context, i: Instruction) -> None:
    """IADD3: sum of three words, with up to two carries out (they add up) and two in (.X)."""
    _sum(c, i, 3)


def _sum(c: Context, i: Instruction, words: int) -> None:
    extended, wide = c.flag("X"), c.flag("64")
    target, outs, sources, ins = c.form(i)
    if wide:
        if len(sources) != words or extended or ins or not all(map(is_sink, outs)):
            c.unsupported(i, "with carries")
        first, *others = (c.i64(s) for s in sources if not is_zero(s))
        for other in others:
            first = c.binary("add", first, other)
        c.write_wide(target, first)
        return
    if len(sources) != words or len(outs) > 2 or len(ins) > 2 or bool(ins) != extended:
        c.unsupported(i)
    terms = [s for s in sources if not is_zero(s)]
    if not outs:
        c.write(target, extended_sum(c, terms, ins) if extended else _plain_sum(c, terms))
    elif not extended and len(terms) == 2 and len(outs) == 1:
        low, flag = _sum_of_two(c, terms[0], terms[1])
        c.write(target, low)
        c.write_predicate(outs[0], flag)
    else:
        total = long_sum(c, terms, [c.predicate(p) for p in ins])
        low, high = c.pairs.halves(total)
        c.write(target, low)
        for n, out in enumerate(outs):
            c.write_predicate(out, c.b.icmp("ugt", high, c.b.const("i32", n)))


def _plain_sum(c: Context, terms: list[Operand]) -> Node:
    """Sum of the terms, without carries."""
    total: Node | None = None
    for term in sorted(terms, key=is_negated):
        if total is not None and is_negated(term):
            total = c.binary("sub", total, c.i32(unsigned(term)))
        else:
            value = c.i32(term)
            total = value if total is None else c.binary("add", total, value)
    return c.zero() if total is None else total


def _sum_of_two(c: Context, first: Operand, second: Operand) -> tuple[Node, Node]:
    """(low word, carry) of a sum or difference."""
    minus = [is_negated(t) for t in (first, second)]
    if all(minus):
        total = long_sum(c, [first, second], [])
        low, high = c.pairs.halves(total)
        return low, c.b.icmp("ne", high, c.zero())
    if minus[0]:
        first, second = second, first
    if any(minus):
        a, b = c.i32(first), c.i32(unsigned(second))
        low = c.binary("sub", a, b)
        flag = c.b.icmp("uge", a, b)
    else:
        a, b = c.i32(first), c.i32(second)
        low = c.binary("add", a, b)
        flag = c.b.icmp("ult", low, a)
    c.pairs.note_carry(flag, Carry(a, b, low, subtract=any(minus)))
    return low, flag


def long_sum(c: Context, terms: list[Operand], carries: list[Node]) -> Node:
    """The sum in 64 bits; a negated term is its complement plus one, as in the hardware's adder."""
    total = c.zero("i64")
    for term in terms:
        if is_negated(term):
            value = c.negate(c.i32(unsigned(term)))
            total = c.binary("add", total, c.b.const("i64", 1))
        else:
            value = c.i32(term)
        total = c.binary("add", total, c.b.resize(value, "i64"))
    return _plus_carries(c, total, carries)


def _plus_carries(c: Context, total: Node, carries: Iterable[Node]) -> Node:
    for carry in carries:
        total = c.binary("add", total, c.b.resize(carry, total.type))
    return total


def _carries_in(c: Context, ins: list[Operand]) -> tuple[list[Node], Carry | None]:
    """The carries that may be set, and the sum of low words that made the only one, if known."""
    flags = [f for f in (c.predicate(p) for p in ins) if f.op != "const" or f.attr]
    return flags, c.pairs.carry(flags[0]) if len(flags) == 1 else None


def extended_sum(c: Context, terms: list[Operand], ins: list[Operand]) -> Node:
    """High word of a 64-bit sum: terms plus carries, as one 64-bit addition where possible."""
    flags, source = _carries_in(c, ins)
    if source is not None and len(terms) <= 2:
        inverted = [is_inverted(t) for t in terms]
        if not source.subtract:
            highs = [c.i32(t) for t in terms]
            highs += [c.zero()] * (2 - len(highs))
            return c.pairs.extended(source, highs[0], highs[1])
        if sum(inverted) == 1:
            minus = terms[inverted.index(True)]
            plus = [t for t in terms if t is not minus]
            first = c.i32(plus[0]) if plus else c.zero()
            second = c.i32(unsigned(minus))
            return c.pairs.extended(source, first, second)
    return _plus_carries(c, _plain_sum(c, terms), flags)


def product(c: Context, a: Node, b: Node) -> Node:
    """A product; by a power of two it is a shift."""
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        if b.integer == 0:
            return b
        if b.integer & (b.integer - 1) == 0:
            shift = c.b.const(b.type, b.integer.bit_length() - 1)
            return a if b.integer == 1 else c.binary("shl", a, shift)
    return c.binary("mul", a, b)


def plus(c: Context, a: Node, b: Node) -> Node:
    """A sum; of a zero term it is the other term."""
    if a.op == "const" and a.attr == 0:
        return b
    return a if b.op == "const" and b.attr == 0 else c.binary("add", a, b)


def imad(c: Context, i: Instruction) -> None:
    """IMAD: a * b + c, the low word, the high word (.HI) or 64 bits (.WIDE), with carries."""
    if c.flag("WIDE"):
        c.write_wide(*_long_multiply_add(c, i))
        return
    if c.flag("HI"):
        target, long = _long_multiply_add(c, i)
        c.write(target, c.pairs.halves(long)[1])
        return
    c.without_effect(*_SAME_PRODUCT)
    extended = c.flag("X")
    target, outs, (a, b, addend), ins = _three(c, i)
    if outs or bool(ins) != extended:
        c.unsupported(i)
    if extended and (is_zero(a) or is_zero(b)):
        terms = [] if is_zero(addend) else [addend]
        c.write(target, extended_sum(c, terms, ins))
        return
    total = plus(c, product(c, c.i32(a), c.i32(b)), c.i32(addend))
    c.write(target, _plus_carries(c, total, (c.predicate(p) for p in ins)))


def _three(
    c: Context, i: Instruction
) -> tuple[Operand, list[Operand], tuple[Operand, Operand, Operand], list[Operand]]:
    target, outs, sources, ins = c.form(i)
    if len(sources) != 3:
        c.unsupported(i)
    return target, outs, (sources[0], sources[1], sources[2]), ins


def _long_multiply_add(c: Context, i: Instruction) -> tuple[Operand, Node]:
    """(destination, 64-bit product plus addend), with a carry in; writes the carry out."""
    signed = not c.flag("U32")
    extended = c.flag("X")
    target, outs, (a, b, addend), ins = _three(c, i)
    if len(outs) > 1 or len(ins) > 1 or bool(ins) != extended:
        c.unsupported(i)
    x, y = (c.b.resize(c.i32(o), "i64", signed=signed) for o in (a, b))
    first, second = product(c, x, y), c.i64(addend)
    total = plus(c, first, second)
    flag = c.b.icmp("ult", total, first)
    if extended:
        carry = c.b.resize(c.predicate(ins[0]), "i64")
        with_carry = c.binary("add", total, carry)
        flag = c.binary("or", flag, c.b.icmp("ult", with_carry, total))
        total = with_carry
    if outs:
        # All sources have been read, so the predicate may be one of them.
        c.write_predicate(outs[0], flag)
    return target, total


def lea(c: Context, i: Instruction) -> None:
    """Scaled sums: (a << n) + b, or the upper word of (c:a << n), plus b (.HI)."""
    if c.flag("HI"):
        _lea_high(c, i)
        return
    target, outs, sources, ins = c.form(i)
    if len(sources) != 3 or len(outs) > 1 or ins:
        c.unsupported(i)
    scaled = _shifted_left(c, c.i32(sources[0]), c.literal(sources[2]))
    addend = c.i32(sources[1])
    low = plus(c, scaled, addend)
    c.write(target, low)
    if outs:
        if is_negated(sources[0]) or is_negated(sources[1]):
            c.unsupported(i, "a carry of a difference")
        flag = c.b.icmp("ult", low, scaled)
        c.pairs.note_carry(flag, Carry(scaled, addend, low, subtract=False))
        c.write_predicate(outs[0], flag)


def _shifted_left(c: Context, value: Node, by: int) -> Node:
    return c.binary("shl", value, c.b.const(value.type, by)) if by else value


def _lea_high(c: Context, i: Instruction) -> None:
    extended = c.flag("X")
    signed = c.flag("SX32")
    target, outs, sources, ins = c.form(i)
    if len(sources) != (3 if signed else 4) or len(outs) > 1 or bool(ins) != extended:
        c.unsupported(i)
    if outs and extended:
        c.unsupported(i, "with carries in and out")
    by = c.literal(sources[-1])
    if signed:
        wide = c.b.resize(c.i32(sources[0]), "i64", signed=True)
    else:
        low, high = c.i32(sources[0]), c.i32(sources[2])
        wide = c.pairs.wide(low, high)
        if is_negated(sources[0]):
            c.unsupported(i, "a negated pair")
    shifted = _shifted_left(c, wide, by)
    _, upper = c.pairs.halves(shifted)
    c.pairs.note(_shifted_left(c, c.i32(sources[0]), by), upper, shifted)
    addend = c.i32(sources[1])
    if not extended:
        total = plus(c, upper, addend)
        c.write(target, total)
        if outs:
            c.write_predicate(outs[0], c.b.icmp("ult", total, upper))
        return
    flags, source = _carries_in(c, ins)
    if source is not None and not source.subtract:
        c.write(target, c.pairs.extended(source, upper, addend))
        return
    c.write(target, _plus_carries(c, plus(c, upper, addend), flags))


def viadd(c: Context, i: Instruction) -> None:
    """VIADD: a sum of two, or of the halves of two."""
    target, a, b = i.operands
    if c.flag("16x2"):
        c.write(target, join(c, by_halves(c, "add", c.i32(a), c.i32(b)), "i32"))
    else:
        c.write(target, _plain_sum(c, [o for o in (a, b) if not is_zero(o)]))


def viaddmnmx(c: Context, i: Instruction) -> None:
    """VIADDMNMX: the smaller or larger of a sum and a third."""
    target, a, b, other, choice = i.operands
    if any(m.endswith("16x2") for m in c.modifiers):
        total = join(c, by_halves(c, "add", c.i32(a), c.i32(b)), "i32")
    else:
        total = _plain_sum(c, [a, b])
    _minimum_or_maximum(c, target, total, c.i32(other), choice)


def imnmx(c: Context, i: Instruction) -> None:
    """IMNMX, VIMNMX: minimum of two where the predicate holds, else maximum."""
    target, outs, (a, b), (choice, *low) = c.form(i)
    if not all(map(is_sink, outs)):
        c.unsupported(i, "with a predicate")
    if any(p != Register("P", None, inverted=True) for p in low):
        c.unsupported(i, "with a predicate that continues a comparison of low words")
    kind = c.one_of("U64", "S64")
    if kind is None:
        _minimum_or_maximum(c, target, c.i32(a), c.i32(b), choice)
    else:
        x, y, sign = c.i64(a), c.i64(b), kind[0].lower()
        least, most = c.binary(f"{sign}min", x, y), c.binary(f"{sign}max", x, y)
        c.write_wide(target, c.b.select(c.predicate(choice), least, most))


def imnmx3(c: Context, i: Instruction) -> None:
    """VIMNMX3: minimum or maximum of three."""
    kind = "u" if c.flag("U32") else "s"
    target, *sources, choice = i.operands
    smaller = c.predicate(choice)
    if len(sources) != 3 or smaller.op != "const":
        c.unsupported(i)
    op = kind + ("min" if smaller.attr else "max")
    x, y, z = (c.i32(s) for s in sources)
    c.write(target, c.binary(op, c.binary(op, x, y), z))


def _minimum_or_maximum(c: Context, target: Operand, x: Node, y: Node, choice: Operand) -> None:
    parts = c.one_of(*_PARTS)
    c.without_effect("S32")
    kind = "u" if c.flag("U32") or (parts or "").startswith("U") else "s"
    relu = c.flag("RELU")
    number = _PARTS[parts] if parts else 1
    pairs = list(zip(split(c, x, number), split(c, y, number), strict=True))
    smaller = c.predicate(choice)
    results = []
    for a, b in pairs:
        if smaller.op == "const":
            result = c.binary(kind + ("min" if smaller.attr else "max"), a, b)
        else:
            result = c.b.select(smaller, c.binary(f"{kind}min", a, b), c.binary(f"{kind}max", a, b))
        results.append(c.binary("smax", result, c.zero(result.type)) if relu else result)
    c.write(target, join(c, results, "i32"))


def iabs(c: Context, i: Instruction) -> None:
    """IABS: the absolute value of a signed word."""
    target, a = i.operands
    value = c.i32(a)
    c.write(target, c.binary("smax", value, c.binary("sub", c.zero(), value)))


def vabsdiff(c: Context, i: Instruction) -> None:
    """VABSDIFF: |a - b| + c."""
    kind = "u" if c.flag("U32") else "s"
    target, a, b, addend = i.operands
    difference = _distance(c, kind, c.i32(a), c.i32(b))
    c.write(target, plus(c, difference, c.i32(addend)))


def vabsdiff4(c: Context, i: Instruction) -> None:
    """VABSDIFF4: |a - b| of each byte; with .ACC their sum plus c."""
    kind = "s" if c.one_of("U8", "S8") == "S8" else "u"
    accumulate = c.flag("ACC")
    target, a, b, addend = i.operands
    pairs = zip(split(c, c.i32(a), 4), split(c, c.i32(b), 4), strict=True)
    distances = [_distance(c, kind, x, y) for x, y in pairs]
    if not accumulate:
        if not is_zero(addend):
            c.unsupported(i)
        c.write(target, join(c, distances, "i32"))
        return
    total = c.i32(addend)
    for distance in distances:
        total = c.binary("add", total, c.b.resize(distance, "i32"))
    c.write(target, total)


def _distance(c: Context, kind: str, a: Node, b: Node) -> Node:
    return c.binary("sub", c.binary(f"{kind}max", a, b), c.binary(f"{kind}min", a, b))


def dot(c: Context, i: Instruction) -> None:
    """IDP.4A and IDP.2A.LO/HI: products of bytes, or of half-words and bytes, added to c."""
    four = c.flag("4A")
    if not four and not c.flag("2A"):
        c.unsupported(i)
    upper = c.flag("HI")
    c.without_effect("LO")
    types = [m for m in c.modifiers if m in ("S8", "U8", "S16", "U16")]
    c.modifiers.clear()
    if len(types) != 2:
        c.unsupported(i)
    target, a, b, addend = i.operands
    x, y, total = c.i32(a), c.i32(b), c.i32(addend)
    count = 4 if four else 2
    for n in range(count):
        left = _piece(c, x, 32 // count, n, signed=types[0][0] == "S")
        right = _piece(c, y, 8, n + (2 if upper else 0), signed=types[1][0] == "S")
        total = c.binary("add", total, c.binary("mul", left, right))
    c.write(target, total)


def _piece(c: Context, value: Node, bits: int, number: int, *, signed: bool) -> Node:
    """Part ``number`` of a word's equal parts of ``bits``, extended to 32 bits."""
    up = c.binary("shl", value, c.b.const("i32", 32 - bits * (number + 1)))
    return c.binary("ashr" if signed else "lshr", up, c.b.const("i32", 32 - bits))


WITH_UNIFORM: dict[str, Lowering] = {
    "IADD": iadd,
    "IADD3": iadd3,
    "IMAD": imad,
    "LEA": lea,
    "IMNMX": imnmx,
    "VIMNMX": imnmx,
    "VIMNMX3": imnmx3,
    "VIADD": viadd,
    "VIADDMNMX": viaddmnmx,
    "VABSDIFF": vabsdiff,
    "VABSDIFF4": vabsdiff4,
    "IABS": iabs,
    "IDP": dot,
}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""
