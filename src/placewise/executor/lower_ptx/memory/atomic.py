"""atom and red: read, change and write back, on one element or on several at once."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lower_ptx.memory.memory import (
    element_count,
    read_values,
    space_and_address,
    write_values,
)
from placewise.kernel.ptx import Instruction, Sink

_OPERATIONS = frozenset({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"})
_WIDTHS = {"cas": (16, 32, 64, 128), "exch": (32, 64, 128), "inc": (32,), "dec": (32,)}
_HALVES = frozenset({"f16", "bf16", "f16x2", "bf16x2"})


def _operation(c: Context, i: Instruction, name: str, type_: str, count: int) -> str:
    """The operation as the IR names it; refuses what PTX does not have."""
    bits = width(type_)
    halves = type_ in _HALVES
    if halves or type_ in ("f32", "f64"):
        if name != "add" and not (name in ("min", "max") and halves and count > 1):
            c.unsupported(i, "atomics of this type are not covered")
        return f"f{name}" + (f"_{type_}" if halves else "")
    if count > 1 or bits not in _WIDTHS.get(name, (32, 64)):
        c.unsupported(i, "atomics of this type are not covered")
    signed = "s" if type_[0] == "s" else "u"
    return signed + name if name in ("min", "max") else name


def atomic(c: Context, i: Instruction) -> None:
    """atom.OP.TYPE d, [a], b[, c]; red.OP.TYPE [a], b; vectors as ``.v2 .v4 .v8``."""
    name = next((p for p in i.parts[1:] if p in _OPERATIONS), None)
    if name is None or "async" in i.parts:
        c.unsupported(i)
    type_, count = i.parts[-1], element_count(i)
    operation = _operation(c, i, name, type_, count)
    reduction = i.parts[0] == "red"
    operands = list(i.operands if reduction else i.operands[1:])
    space, address, offset = space_and_address(c, i, operands[0])
    element = int_type(width(type_))
    values = [v for o in operands[1:] for v in read_values(c, o, element)]
    used = not reduction and not isinstance(i.operands[0], Sink)
    bits = width(type_)
    access = c.access("atomic", space, bits, count, offset, operation, result_used=used)
    node = c.b.access("atomic", element, access, address, *values, *c.guards())
    if used:
        old = [c.b.part(node, n, element) for n in range(count)] if count > 1 else [node]
        write_values(c, i.operands[0], old, signed=False)
