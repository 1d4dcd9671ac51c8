"""Integer comparisons into predicates."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.kernel.binary.sass import Instruction, Operand

_INTEGER = ("LT", "EQ", "LE", "GT", "NE", "GE", "F", "T")
_ORDERED = {"EQ": "oeq", "NE": "one", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}
_UNORDERED = {"EQU": "ueq", "NEU": "une", "LTU": "ult", "LEU": "ule", "GTU": "ugt", "GEU": "uge"}
FLOAT = {**_ORDERED, **_UNORDERED, "NUM": "ord", "NAN": "uno"}
"""LLVM conditions of floating-point comparisons, by modifier."""


def isetp(c: Context, i: Instruction) -> None:
    """ISETP: compare integers, combine with a predicate; .EX compares 64 bits' high words."""
    kind = c.one_of("U32", "U64", "S64") or "S32"
    signed, read = kind[0] == "S", c.i64 if kind.endswith("64") else c.i32
    extended = c.flag("EX")
    condition = c.one_of(*_INTEGER)
    combine = c.one_of("AND", "OR", "XOR")
    first, second, a, b, other, *low = i.operands
    if condition is None or combine is None or len(low) != (1 if extended else 0):
        c.unsupported(i)
    x, y = read(a), read(b)
    if condition in ("F", "T"):
        holds = c.b.const("i1", int(condition == "T"))
    else:
        holds = _compare(c, condition, x, y, signed=signed)
        if extended:
            equal = c.binary("and", c.b.icmp("eq", x, y), c.predicate(low[0]))
            if condition == "EQ":
                holds = equal
            elif condition == "NE":
                holds = c.binary("or", holds, c.predicate(low[0]))
            else:
                strict = _compare(c, condition[0] + "T", x, y, signed=signed)
                holds = c.binary("or", strict, equal)
    write_both(c, first, second, holds, combine, other)


def _compare(c: Context, condition: str, a: Node, b: Node, *, signed: bool) -> Node:
    name = condition.lower()
    return c.b.icmp(name if name in ("eq", "ne") else ("s" if signed else "u") + name, a, b)


def write_both(
    c: Context, first: Operand, second: Operand, holds: Node, combine: str, other: Operand
) -> None:
    """Write a comparison and its opposite, each combined with predicate ``other``."""
    extra = c.predicate(other)
    op = combine.lower()
    opposite = c.negate(holds)
    c.write_predicate(first, c.binary(op, holds, extra))
    c.write_predicate(second, c.binary(op, opposite, extra))


WITH_UNIFORM: dict[str, Lowering] = {"ISETP": isetp}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""
