"""Double precision, in register pairs."""

from __future__ import annotations

from placewise.executor.lower_sass.arithmetic.compare import FLOAT, write_both
from placewise.executor.lower_sass.arithmetic.floating import rounding_mode
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.kernel.binary.sass import Instruction


def arithmetic(c: Context, i: Instruction) -> None:
    """DADD, DMUL, DFMA."""
    op = {"DADD": "fadd", "DMUL": "fmul", "DFMA": "fma"}[i.parts[0]]
    mode = rounding_mode(c)
    target, *operands = i.operands
    if len(operands) != (3 if op == "fma" else 2):
        c.unsupported(i)
    c.write_wide(target, c.b.pure(op, "f64", *(c.f64(o) for o in operands), attr=mode))


def dsetp(c: Context, i: Instruction) -> None:
    """DSETP: compare, combine with a predicate; .MIN and .MAX tell which operand to take."""
    extreme = c.one_of("MIN", "MAX")
    if extreme is not None:
        _takes_first(c, i, "fmin" if extreme == "MIN" else "fmax")
        return
    condition = c.one_of(*FLOAT)
    combine = c.one_of("AND", "OR", "XOR")
    first, second, a, b, other = i.operands
    if condition is None or combine is None:
        c.unsupported(i)
    holds = c.b.fcmp(FLOAT[condition], c.f64(a), c.f64(b))
    write_both(c, first, second, holds, combine, other)


def _takes_first(c: Context, i: Instruction, op: str) -> None:
    """Write two predicates: the first operand is the minimum or maximum; the result is NaN.

    The code that follows selects by them, so that it computes fmin and fmax: -0 is below +0, and of
    a number and a NaN the number is taken.
    """
    if not c.flag("AND"):
        c.unsupported(i)
    first, second, a, b, other = i.operands
    x, y, extra = c.f64(a), c.f64(b), c.predicate(other)
    same = c.b.icmp("eq", c.b.as_int(c.binary(op, x, y)), c.b.as_int(x))
    number = c.b.fcmp("ord", x, x)
    nans = c.binary("and", c.negate(number), c.b.fcmp("uno", y, y))
    c.write_predicate(first, c.binary("and", c.binary("and", number, same), extra))
    c.write_predicate(second, c.binary("and", nans, extra))


OPCODES: dict[str, Lowering] = {
    "DADD": arithmetic,
    "DMUL": arithmetic,
    "DFMA": arithmetic,
    "DSETP": dsetp,
}
"""Functions by opcode."""
