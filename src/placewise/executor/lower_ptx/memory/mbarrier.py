"""mbarrier: barriers in shared memory, as atomic operations on a word.

:mod:`placewise.executor.codegen.accesses.mbarrier` describes the layout of the word. Asynchronous
copies are made immediately, so an arrival on behalf of a copy is a plain arrival.
"""

from __future__ import annotations

from placewise.executor.codegen.accesses.mbarrier import COUNT_BITS, EXPECTED_AT, PENDING_AT
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.memory.memory import space_and_address
from placewise.kernel.ptx import Instruction, Operand, Sink


def mbarrier(c: Context, i: Instruction) -> None:
    """mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait,
    pending_count"""
    name = i.parts[1]
    if name == "init":
        _init(c, i)
    elif name == "pending_count":
        field = c.binary("lshr", c.src(i.operands[1], "i64"), c.b.const("i64", PENDING_AT))
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
    """Operate atomically on the mbarrier's 64-bit word at ``where``; returns the old word."""
    space, address, offset = space_and_address(c, i, where)
    # In instructions that copy, the space named first is the copy's.
    access = c.access("atomic", space, 64, 1, offset, f"mbarrier_{operation}", result_used=True)
    return c.b.access("atomic", "i64", access, address, value, *c.guards())


def _init(c: Context, i: Instruction) -> None:
    space, address, offset = space_and_address(c, i, i.operands[0])
    count = _negative(c, c.src(i.operands[1], "i64"))
    expected, pending = (
        c.binary("shl", count, c.b.const("i64", at)) for at in (EXPECTED_AT, PENDING_AT)
    )
    access = c.access("store", space, 64, 1, offset)
    c.b.access("store", "i1", access, address, c.binary("or", expected, pending), *c.guards())


def _negative(c: Context, count: Node) -> Node:
    """The negative of a count of arrivals, as the mbarrier's word stores it."""
    less = c.binary("sub", c.b.const("i64", 0), count)
    return c.binary("and", less, c.b.const("i64", (1 << COUNT_BITS) - 1))


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
    """test_wait and try_wait: whether the phase of a state, or of a parity, is complete."""
    now = update(c, i, "read", i.operands[1], c.b.const("i64", 0))
    given = c.src(i.operands[2], "i64")
    if "parity" in i.parts:
        given = c.binary("shl", given, c.b.const("i64", 63))
    differs = c.binary("xor", now, given)
    c.dst(i.operands[0], c.b.icmp("slt", differs, c.b.const("i64", 0)))


def arrive_for_copies(c: Context, i: Instruction) -> None:
    """cp.async.mbarrier.arrive. Without ``.noinc`` it adds an expected arrival first: no change."""
    if "noinc" in i.parts:
        update(c, i, "arrive", i.operands[0], c.b.const("i64", 1))
