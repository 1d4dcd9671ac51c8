"""Loads, stores, and cp.async."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering.bits import shifted
from placewise.kernel.ptx import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    Symbol,
    Vector,
)

_SPACES = {
    "global": "global",
    "shared": "shared",
    "local": "local",
    "const": "constant",
    "param": "param",
}


def _space(i: Instruction) -> str:
    for part in i.parts[1:]:
        head = part.split("::")[0]
        if head in _SPACES:
            return _SPACES[head]
    return "generic"


def element_count(i: Instruction) -> int:
    return next((int(p[1:]) for p in i.parts if p in ("v2", "v4", "v8")), 1)


def address_of(c: Context, i: Instruction, operand: Operand, space: str) -> tuple[Node, int]:
    """Address as i64 (i32 in shared and local memory), and its constant offset in bytes."""
    if not isinstance(operand, Address):
        c.unsupported(i, "expected an address")
    type_ = "i32" if space in ("shared", "local") else "i64"
    if isinstance(operand.base, Register):
        return c.src(operand.base, type_), operand.offset
    if isinstance(operand.base, Symbol):
        return c.symbol(operand.base, type_), operand.offset
    return c.b.const(type_, operand.offset), 0


def space_and_address(c: Context, i: Instruction, operand: Operand) -> tuple[str, Node, int]:
    """(space, address, constant offset in bytes) of an access."""
    space = _space(i)
    return space, *address_of(c, i, operand, space)


def load(c: Context, i: Instruction) -> None:
    space = _space(i)
    operand = i.operands[1]
    if space == "param" and isinstance(operand, Address) and isinstance(operand.base, Symbol):
        load_parameter(c, i, operand.base.name, operand.offset)
        return
    type_, count = i.parts[-1], element_count(i)
    bits = width(type_)
    address, offset = address_of(c, i, operand, space)
    values = c.load(space, bits, count, address, offset)
    write_values(c, i.operands[0], values, signed=type_[0] == "s")


def write_values(c: Context, target: Operand, values: list[Node], *, signed: bool) -> None:
    """Write values to a register or to a vector of registers."""
    targets = target.elements if isinstance(target, Vector) else (target,)
    for t, value in zip(targets, values, strict=True):
        c.dst(t, value, signed=signed)


def read_values(c: Context, operand: Operand, type_: str) -> list[Node]:
    """Values of a register or of a vector of registers."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    return [c.src(e, type_) for e in elements]


def load_parameter(c: Context, i: Instruction, name: str, offset: int) -> None:
    """ld.param of a named parameter: from the parameter buffer, or an argument of a call."""
    type_ = i.parts[-1]
    bits = width(type_)
    count = element_count(i)
    start = c.function_parameters.get(name)
    values = []
    for n in range(count):
        at = offset + n * bits // 8
        if start is not None:
            values.append(c.b.pure("param", int_type(bits), attr=start + at))
        else:
            values.append(c.load_argument(name, at, bits))
    write_values(c, i.operands[0], values, signed=type_[0] == "s")


def store(c: Context, i: Instruction) -> None:
    space = _space(i)
    bits, count = width(i.parts[-1]), element_count(i)
    values = read_values(c, i.operands[1], int_type(bits))
    operand = i.operands[0]
    if space == "param" and isinstance(operand, Address) and isinstance(operand.base, Symbol):
        for n, value in enumerate(values):
            c.store_argument(operand.base.name, operand.offset + n * bits // 8, value)
        return
    address, offset = address_of(c, i, operand, space)
    access = c.access("store", space, bits, count, offset)
    c.b.access("store", "i1", access, address, *values, *c.guards())


def copy_async(c: Context, i: Instruction) -> None:
    """cp.async of 4, 8 or 16 bytes, copied at once, so that waiting for it costs nothing.

    If the source size is below the copy's, zeros fill the rest, and only the source's bytes are
    read.
    """
    if not {"ca", "cg"} & set(i.parts) or len(i.operands) < 3:
        c.unsupported(i)
    size = i.operands[2]
    if not isinstance(size, Immediate):
        c.unsupported(i, "the copy's size is not a literal")
    words = int(size.value) // 4
    policy = any("cache_hint" in p for p in i.parts)
    given = list(i.operands[3:-1] if policy else i.operands[3:])
    address, offset = address_of(c, i, i.operands[1], "global")
    zero = c.b.const("i32", 0)
    if not given:
        values = c.load("global", 32, words, address, offset)
    elif isinstance(given[0], Register) and given[0].type == "pred":
        wanted = c.negate(c.src(given[0], "i1"))
        values = _load_where(c, wanted, words, address, offset)
        values = [c.b.select(wanted, v, zero) for v in values]
    else:
        length = c.src(given[0], "i32")
        whole = c.b.icmp("uge", length, c.b.const("i32", 4 * words))
        full = _load_where(c, whole, words, address, offset)
        values = [
            c.b.select(whole, v, _partial_word(c, address, offset, k, length, whole))
            for k, v in enumerate(full)
        ]
    where, at = address_of(c, i, i.operands[0], "shared")
    access = c.access("store", "shared", 32, words, at)
    c.b.access("store", "i1", access, where, *values, *c.guards())


def _load_where(c: Context, wanted: Node, words: int, address: Node, offset: int) -> list[Node]:
    """Consecutive words of global memory, read only in lanes where ``wanted`` (i1) holds too."""
    guard = c.guard
    c.guard = wanted if guard is None else c.binary("and", guard, wanted)
    values = c.load("global", 32, words, address, offset)
    c.guard = guard
    return values


def _partial_word(
    c: Context, address: Node, offset: int, number: int, length: Node, whole: Node
) -> Node:
    """Word ``number`` of a copy of ``length`` bytes (i32), zeros where the copy has ended.

    Lanes whose copy is ``whole`` read nothing here.
    """
    left = c.binary("sub", length, c.b.const("i32", 4 * number))
    some = c.b.icmp("sgt", left, c.b.const("i32", 0))
    wanted = c.binary("and", some, c.negate(whole))
    (value,) = _load_where(c, wanted, 1, address, offset + 4 * number)
    bits = c.binary("shl", c.binary("umin", left, c.b.const("i32", 4)), c.b.const("i32", 3))
    mask = c.negate(shifted(c, "shl", c.b.const("i32", -1), bits))
    return c.b.select(some, c.binary("and", value, mask), c.b.const("i32", 0))
