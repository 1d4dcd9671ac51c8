"""LDGSTS: asynchronous copies from global to shared memory.

They are done at once, as a load of global and a store of shared memory, so that waiting for them
costs nothing.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_predicate
from placewise.executor.lower_sass.memory.memory import address_of, take_width
from placewise.kernel.binary.sass import Instruction, Memory

_BYTES = {(32, 1): 4, (64, 1): 8, (32, 4): 16}


def copy(c: Context, i: Instruction) -> None:
    """LDGSTS [shared], [global], P: stores zeros where P does not hold.

    With .ZFILL, the lowest bits of the offset give the number of bytes at the end to zero.
    """
    c.without_effect("BYPASS", "ACCESS")
    filled = c.flag("ZFILL")
    size = _BYTES[take_width(c)[:2]]
    target, source, *conditions = i.operands
    if not isinstance(source, Memory) or len(conditions) > 1:
        c.unsupported(i)
    wanted: Node | None = None
    if conditions:
        if not is_predicate(conditions[0]):
            c.unsupported(i)
        wanted = c.predicate(conditions[0])
    length = size
    if filled:
        missing = source.offset % size
        length = size - missing
        source = source._replace(offset=source.offset - missing)
    address, offset = address_of(c, source, "global")
    values = _words(c, address, offset, length, wanted)
    if wanted is not None:
        values = [c.b.select(wanted, v, c.zero()) for v in values]
    values += [c.zero()] * (size // 4 - len(values))
    where, at = address_of(c, target, "shared")
    access = c.access("store", "shared", 32, size // 4, at)
    c.b.access("store", "i1", access, where, *values, *c.guards())


def _words(c: Context, address: Node, offset: int, length: int, wanted: Node | None) -> list[Node]:
    """The first ``length`` bytes as words, read only where ``wanted`` holds."""
    if wanted is not None and wanted.op == "const" and not wanted.attr:
        return []
    guard = c.guard
    if wanted is not None:
        c.guard = wanted if guard is None else c.binary("and", guard, wanted)
    count = -(-length // 4)
    if length in (4, 8, 16):
        values = c.load("global", 32, count, address, offset)
    else:
        values = [c.load("global", 32, 1, address, offset + 4 * n)[0] for n in range(count)]
    c.guard = guard
    if length % 4:
        mask = c.b.const("i32", (1 << 8 * (length % 4)) - 1)
        values[-1] = c.binary("and", values[-1], mask)
    return values


OPCODES: dict[str, Lowering] = {"LDGSTS": copy}
"""Functions by opcode."""
