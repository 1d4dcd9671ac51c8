"""alloca, stacksave, stackrestore: memory of a thread's stack."""

from __future__ import annotations

from placewise.executor.lower_ptx.context import Context
from placewise.kernel.ptx import Immediate, Instruction

_ALIGN = 16


def alloca(c: Context, i: Instruction) -> None:
    """alloca.u64 pointer, size[, alignment]: a local address; the stack traps when it is full."""
    if c.guard is not None:
        c.unsupported(i, "with a predicate it is not covered")
    alignment = i.operands[2] if len(i.operands) > 2 else Immediate(8)
    if not isinstance(alignment, Immediate):
        c.unsupported(i, "the alignment is not a literal")
    align = max(_ALIGN, int(alignment.value))
    up, keep = c.b.const("i32", align - 1), c.b.const("i32", -align)
    start = c.binary("and", c.binary("add", c.stack.pointer(), up), keep)
    # Any size beyond the stack's traps; this bound keeps the sum below from wrapping round.
    size = c.binary("umin", c.src(i.operands[1], "i64"), c.b.const("i64", 1 << 30))
    end = c.binary("add", start, c.b.resize(size, "i32"))
    c.dst(i.operands[0], c.b.resize(start, "i64"))
    c.stack.move(end)
    c.stack.check(c.stack.pointer(), c.place)


def stacksave(c: Context, i: Instruction) -> None:
    c.dst(i.operands[0], c.b.resize(c.stack.pointer(), "i64"))


def stackrestore(c: Context, i: Instruction) -> None:
    c.stack.move(c.src(i.operands[0], "i32"))
