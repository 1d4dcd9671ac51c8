"""Double precision, in pairs of registers."""

from __future__ import annotations

from placewise.execute.lower_sass.compare import FLOAT, write_both
from placewise.execute.lower_sass.context import Context
from placewise.execute.lower_sass.floating import rounding_mode
from placewise.kernel.sass import Instruction


def arithmetic(c: Context, i: Instruction) -> None:
    """DADD, DMUL, DFMA."""
    op = {"DADD": "fadd", "DMUL": "fmul", "DFMA": "fma"}[i.parts[0]]
    mode = rounding_mode(c)
    target, *operands = i.operands
    if len(operands) != (3 if op == "fma" else 2):
        c.unsupported(i)
    c.write_wide(target, c.b.pure(op, "f64", *(c.f64(o) for o in operands), attr=mode))


def dsetp(c: Context, i: Instruction) -> None:
    """A comparison combined with a predicate."""
    condition = c.one_of(*FLOAT)
    combine = c.one_of("AND", "OR", "XOR")
    first, second, a, b, other = i.operands
    if condition is None or combine is None:
        c.unsupported(i)
    holds = c.b.fcmp(FLOAT[condition], c.f64(a), c.f64(b))
    write_both(c, first, second, holds, combine, other)
