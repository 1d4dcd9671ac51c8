"""cp.async.bulk between global and shared memory: copied immediately, 16 bytes at a time.

Tensor copies, reductions and copies between blocks of a cluster are not covered.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Branch, Jump, Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.memory.mbarrier import update
from placewise.executor.lower_ptx.memory.memory import address_of
from placewise.kernel.ptx import Instruction

_CHUNK = 16
_NOTHING = frozenset({"prefetch", "commit_group", "wait_group"})


def is_covered(i: Instruction) -> bool:
    """Whether this form of ``cp.async.bulk`` is covered."""
    spaces = [p for p in i.parts if p == "global" or p.startswith("shared::")]
    between = spaces in (
        ["shared::cluster", "global"],
        ["shared::cta", "global"],
        ["global", "shared::cta"],
    )
    plain = not {"tensor", "multicast::cluster", "cp_mask"} & set(i.parts)
    return i.parts[3] in _NOTHING or (between and plain)


def copy(c: Context, i: Instruction) -> None:
    """cp.async.bulk TO.FROM[.mbarrier::complete_tx::bytes][.bulk_group] [to], [from], size[, [bar]]

    Sizes are multiples of 16, as PTX requires.
    """
    if i.parts[3] in _NOTHING:
        return
    b = c.b
    inward = i.parts[3].startswith("shared")
    spaces = ("shared", "global") if inward else ("global", "shared")
    number = b.next_call()
    end = b.new_block()
    if c.guard is not None:
        begin = b.new_block()
        b.finish(Branch(c.guard, begin.number, end.number))
        b.start(begin)
        c.guard = None
    to, to_offset = address_of(c, i, i.operands[0], spaces[0])
    of, of_offset = address_of(c, i, i.operands[1], spaces[1])
    names = ("to", "of", "size", "at")
    values = (to, of, c.src(i.operands[2], "i32"), b.const("i32", 0))
    registers = [
        b.reg(f"{c.prefix}%bulk{number}.{name}", value.type)
        for name, value in zip(names, values, strict=True)
    ]
    for register, value in zip(registers, values, strict=True):
        b.set(register, value)
    head, body, out = b.new_block(), b.new_block(), b.new_block()
    b.finish(Jump(head.number))
    b.start(head)
    at, size = b.get(registers[3]), b.get(registers[2])
    b.finish(Branch(b.icmp("ult", at, size), body.number, out.number))
    b.start(body)
    at = b.get(registers[3])

    def moved(register: int) -> Node:
        start = b.get(registers[register])
        return c.binary("add", start, b.resize(at, start.type))

    load = c.access("load", spaces[1], 32, 4, of_offset)
    node = b.access("load", "i32", load, moved(1))
    words = [b.part(node, n, "i32") for n in range(4)]
    store = c.access("store", spaces[0], 32, 4, to_offset)
    b.access("store", "i1", store, moved(0), *words)
    b.set(registers[3], c.binary("add", at, b.const("i32", _CHUNK)))
    b.finish(Jump(head.number))
    b.start(out)
    if inward:
        size = b.resize(b.get(registers[2]), "i64")
        update(c, i, "complete_tx", i.operands[3], size)
    b.finish(Jump(end.number))
    b.start(end)
