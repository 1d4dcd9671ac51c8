"""Boolean functions, shifts, permutations of bytes, bit counts, and moves."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_predicate
from placewise.executor.lowering.bits import (
    extended,
    highest_one,
    lop3_value,
    ones_from,
    permuted,
    permuted_constant,
    shifted,
)
from placewise.executor.lowering.integers import join
from placewise.kernel.binary.sass import Immediate, Instruction, Name, Operand, Register

_BYTES = {"B0": 0, "B1": 8, "B2": 16, "B3": 24}
"""First bit of each byte of a word, by modifier."""
_ALL_PREDICATES = 0x7F


def mov(c: Context, i: Instruction) -> None:
    """MOV; a byte mask is covered only if it selects all bytes."""
    target, source, *mask = i.operands
    if mask and c.literal(mask[0]) != 15:
        c.unsupported(i, "a partial move")
    if c.flag("64"):
        c.write_wide(target, c.i64(source))
    else:
        c.write(target, c.i32(source))


def lop3(c: Context, i: Instruction) -> None:
    """LOP3: any Boolean function of three words; a predicate tells whether it is not zero."""
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
        c.write_predicate(outs[0], c.binary(combine, nonzero, extra))


def plop3(c: Context, i: Instruction) -> None:
    """PLOP3: two Boolean functions of the same three predicates."""
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
    """SHF: shift of the pair {high, low}; the result is its low word, or the high one (.HI)."""
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
        amount = c.binary("and", amount, c.b.const("i32", bits - 1))
    short = _short_shift(c, low, high, amount, left=left, signed=kind[0] == "S", upper=upper)
    if short is not None:
        c.write(target, short)
        return
    if bits == 32 and not wrap:
        amount = c.binary("umin", amount, c.b.const("i32", 32))
    op = "shl" if left else "ashr" if kind[0] == "S" else "lshr"
    moved = shifted(c, op, c.pairs.wide(low, high), amount)
    c.write(target, c.pairs.halves(moved)[1 if upper else 0])


def _short_shift(
    c: Context, low: Node, high: Node, amount: Node, *, left: bool, signed: bool, upper: bool
) -> Node | None:
    """The shift as one of a single word, if a constant amount below 32 allows it; else None."""
    if amount.op != "const" or not isinstance(amount.attr, int) or amount.attr >= 32:
        return None
    if left and not upper:
        return c.binary("shl", low, amount)
    if not left and upper:
        return c.binary("ashr" if signed else "lshr", high, amount)
    return None


def prmt(c: Context, i: Instruction) -> None:
    """PRMT: four bytes of the pair {c, a}, chosen by the selector's nibbles."""
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
    """FLO: position of the highest bit that differs from the sign (.U32: is set), or -1."""
    signed = not c.flag("U32")
    as_shift = c.flag("SH")
    target, *outs, a = i.operands
    found, none = highest_one(c, c.i32(a), signed=signed, as_shift=as_shift)
    c.write(target, found)
    for out in outs:
        if not is_predicate(out):
            c.unsupported(i)
        c.write_predicate(out, c.negate(none))


def bmsk(c: Context, i: Instruction) -> None:
    """BMSK: a mask of b bits from bit a on."""
    wrap = c.flag("W")
    target, a, b = i.operands
    c.write(target, ones_from(c, c.i32(a), c.i32(b), wrap=wrap))


def sgxt(c: Context, i: Instruction) -> None:
    """SGXT: extend the low b bits of a word with its sign or (.U32) zeros."""
    signed = not c.flag("U32")
    wrap = c.flag("W")
    target, a, b = i.operands
    c.write(target, extended(c, c.i32(a), c.i32(b), signed=signed, wrap=wrap))


def p2r(c: Context, i: Instruction) -> None:
    """P2R: predicates as bits of a word: (a & ~mask) | (predicates & mask)."""
    shift = _byte_shift(c)
    target, a, mask_operand = _without_file(i)
    mask, base = c.i32(mask_operand), c.i32(a)
    # Predicates that a constant mask leaves out need not be read.
    wanted = mask.attr if mask.op == "const" and isinstance(mask.attr, int) else _ALL_PREDICATES
    bits = c.zero()
    for n in range(7):
        if not wanted >> n & 1:
            continue
        flag = c.b.get(c.b.reg(f"{_predicate_file(i)}{n}", "i1"))
        bits = c.binary("or", bits, c.binary("shl", c.b.resize(flag, "i32"), c.b.const("i32", n)))
    taken = c.binary("and", bits, mask)
    kept = c.binary("and", base, c.negate(c.binary("shl", mask, c.b.const("i32", shift))))
    c.write(target, c.binary("or", kept, c.binary("shl", taken, c.b.const("i32", shift))))


def r2p(c: Context, i: Instruction) -> None:
    """R2P: bits of a word to the predicates that the mask names."""
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
            bit = c.binary("and", value, c.b.const("i32", 1 << (n + shift)))
            reg = c.b.reg(f"{_predicate_file(i)}{n}", "i1")
            flag = c.b.icmp("ne", bit, c.zero())
            c.b.set(reg, c.b.select(c.guard, flag, c.b.get(reg)) if c.guard else flag)


def _without_file(i: Instruction) -> list[Operand]:
    """Operands without PR, which stands for all predicates."""
    return [o for o in i.operands if not (isinstance(o, Name) and o.text in ("PR", "UPR"))]


def _predicate_file(i: Instruction) -> str:
    return "UP" if i.parts[0].startswith("U") or i.parts[0].endswith("UP") else "P"


def _byte_shift(c: Context) -> int:
    return _BYTES.get(c.one_of(*_BYTES) or "", 0)


WITH_UNIFORM: dict[str, Lowering] = {
    "MOV": mov,
    "LOP3": lop3,
    "PLOP3": plop3,
    "SHF": shf,
    "PRMT": prmt,
    "SEL": sel,
    "POPC": popc,
    "BREV": brev,
    "FLO": flo,
    "BMSK": bmsk,
    "SGXT": sgxt,
}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""

OPCODES: dict[str, Lowering] = {
    "P2R": p2r,
    "R2P": r2p,
    "UP2UR": p2r,
    "UR2UP": r2p,
}
"""Functions by opcode."""
