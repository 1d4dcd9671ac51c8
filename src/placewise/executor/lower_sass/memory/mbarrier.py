"""SYNCS and ARRIVES: mbarriers in shared memory, since compute capability 9.0.

:mod:`placewise.executor.codegen.accesses.mbarrier` describes the layout of the 64-bit word. Copies
are done at once, so an arrival on behalf of a copy is a plain arrival.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_sink
from placewise.executor.lower_sass.memory.atomics import update
from placewise.executor.lower_sass.memory.memory import address_of, write_loaded
from placewise.kernel.binary.sass import Instruction

_ARRIVALS = {
    # A: number of arrivals, T: bytes to wait for. R or X in place of a number: that of a register.
    "A1T0": ("arrive", 1),
    "ART0": ("arrive", None),
    "A0T1": ("expect_tx", 1),
    "A0TR": ("expect_tx", None),
    "A0TX": ("complete_tx", None),
    "A1TR": ("arrive_expect_tx", None),
}


def syncs(c: Context, i: Instruction) -> None:
    """SYNCS.EXCH, SYNCS.ARRIVE, SYNCS.PHASECHK, SYNCS.CCTL"""
    if c.flag("CCTL"):
        c.without_effect("IV")
    elif c.flag("EXCH"):
        c.without_effect("64")
        target, where, value = i.operands
        address, offset = address_of(c, where, "shared")
        access = c.access("atomic", "shared", 64, 1, offset, "exch")
        access = replace(access, result_used=not is_sink(target))
        old = c.b.access("atomic", "i64", access, address, c.i64(value), *c.guards())
        write_loaded(c, target, [old], signed=False)
    elif c.flag("ARRIVE"):
        _arrive(c, i)
    elif c.flag("PHASECHK"):
        _check(c, i)
    else:
        c.unsupported(i)


def _arrive(c: Context, i: Instruction) -> None:
    c.without_effect("TRANS64", "RED")
    operation, count = _ARRIVALS[c.one_of(*_ARRIVALS) or "A1TR"]
    if c.flag("OPTOUT"):
        if operation != "arrive":
            c.unsupported(i)
        operation = "arrive_drop"
    target, where, given = i.operands
    value = c.b.const("i64", count) if count else c.b.pure("zext", "i64", c.i32(given))
    old = update(c, where, operation, value)
    write_loaded(c, target, [old], signed=False)


def _check(c: Context, i: Instruction) -> None:
    """Whether the phase is over that the highest bit of a register names."""
    c.without_effect("TRANS64", "TRYWAIT")
    out, where, given = i.operands
    now = update(c, where, "read", c.zero("i64"))
    _, high = c.pairs.halves(now)
    c.write_predicate(out, _is_negative(c, c.binary("xor", high, c.i32(given))))


def _is_negative(c: Context, word: Node) -> Node:
    return c.b.icmp("slt", word, c.zero())


def arrives(c: Context, i: Instruction) -> None:
    """ARRIVES.LDGSTSBAR: arrives when the thread's copies so far are made."""
    if not c.flag("LDGSTSBAR"):
        c.unsupported(i)
    c.without_effect("64")
    (where,) = i.operands
    kind = c.one_of("TRANSCNT", "ARVCNT")
    operation = {"TRANSCNT": "complete_tx", "ARVCNT": "arrive"}.get(kind or "", "arrive_ampere")
    update(c, where, operation, c.b.const("i64", 1))


OPCODES: dict[str, Lowering] = {
    "SYNCS": syncs,
    "ARRIVES": arrives,
}
"""Functions by opcode."""
