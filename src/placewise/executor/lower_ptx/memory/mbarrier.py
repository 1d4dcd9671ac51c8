"""mbarrier: barriers in shared memory, as atomic operations on a word.

How the word is laid out says :mod:`placewise.executor.codegen.accesses.mbarrier`. Asynchronous
copies are made at once, so arriving for them is arriving.
"""

from __future__ import annotations

from placewise.executor.codegen.accesses.mbarrier import COUNT_BITS, EXPECTED_AT, PENDING_AT
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.memory.memory import make_access, place_of
from placewise.kernel.ptx import Instruction, Operand, Sink


def mbarrier(c: Context, i: Instruction) -> None:
    """mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait,
    pending_count"""
    name = i.parts[1]
    if name == "init":
        _init(c, i)
    elif name == "pending_count":
        field = c.both("lshr", c.src(i.operands[1], "i64"), c.b.const("i64", PENDING_AT))
        c.dst(i.operands[0], _negative(c, field))
    elif name in ("arrive", "arrive_drop"):
        _arrive(c, i, name)
    elif name in ("expect_tx", "complete_tx"):
        update(c, i, name, i.operands[0], c.src(i.operands[1], "i64"))
    elif name in ("test_wait", "try_wait"):
        _wait(c, i)
    elif name != "inval":
        c.unsupported(i)


def update(c: Context, i: Instruction, operation: str, where: Operand, value: Node) -> Node:
    """An atomic operation on the word at ``where``; returns what it was."""
    space, address, offset = place_of(c, i, where)
    # In instructions that copy, the space named first is the copy's.
    access = make_access(
        c, i, "atomic", space, (64, 1, offset), f"mbarrier_{operation}", result_used=True
    )
    guard = (c.guard,) if c.guard is not None else ()
    return c.b.access("atomic", "i64", access, address, value, *guard)


def _init(c: Context, i: Instruction) -> None:
    space, address, offset = place_of(c, i, i.operands[0])
    count = _negative(c, c.src(i.operands[1], "i64"))
    expected, pending = (
        c.both("shl", count, c.b.const("i64", at)) for at in (EXPECTED_AT, PENDING_AT)
    )
    access = make_access(c, i, "store", space, (64, 1, offset))
    guard = (c.guard,) if c.guard is not None else ()
    c.b.access("store", "i1", access, address, c.both("or", expected, pending), *guard)


def _negative(c: Context, count: Node) -> Node:
    """A number of arrivals as the word keeps it, or back."""
    less = c.both("sub", c.b.const("i64", 0), count)
    return c.both("and", less, c.b.const("i64", (1 << COUNT_BITS) - 1))


def _arrive(c: Context, i: Instruction, name: str) -> None:
    operands = list(i.operands)
    target = operands.pop(0) if len(operands) > 1 or isinstance(operands[0], Sink) else None
    if "expect_tx" in i.parts:
        if name != "arrive":
            c.unsupported(i)
        name = "arrive_expect_tx"
    value = c.src(operands[1], "i64") if len(operands) > 1 else c.b.const("i64", 1)
    before = update(c, i, name, operands[0], value)
    if target is not None:
        c.dst(target, before)


def _wait(c: Context, i: Instruction) -> None:
    """Whether a phase is over: the one a state is of, or the last one of a parity."""
    now = update(c, i, "read", i.operands[1], c.b.const("i64", 0))
    given = c.src(i.operands[2], "i64")
    if "parity" in i.parts:
        given = c.both("shl", given, c.b.const("i64", 63))
    differs = c.both("xor", now, given)
    c.dst(i.operands[0], c.b.icmp("slt", differs, c.b.const("i64", 0)))


def arrive_for_copies(c: Context, i: Instruction) -> None:
    """cp.async.mbarrier.arrive: without ``.noinc`` the arrival was not waited for before."""
    if "noinc" in i.parts:
        update(c, i, "arrive", i.operands[0], c.b.const("i64", 1))
