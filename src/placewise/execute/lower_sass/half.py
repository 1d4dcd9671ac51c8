"""Pairs of half-precision numbers."""

from __future__ import annotations

from placewise.execute.lower_sass.context import Context
from placewise.execute.lower_sass.integer import is_zero
from placewise.kernel.sass import Immediate, Instruction


def hfma2(c: Context, i: Instruction) -> None:
    """HFMA2; with zeros as factors it moves a literal to a register."""
    c.without_effect("MMA")
    target, a, b, *rest = i.operands
    if is_zero(a) and is_zero(b) and len(rest) == 2 and isinstance(rest[0], Immediate):
        c.write(target, c.b.const("i32", i.word))
        return
    c.unsupported(i, "half precision")
