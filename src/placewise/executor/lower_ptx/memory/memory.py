"""Loads, stores and atomics."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Access, Node
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


def address_in(c: Context, i: Instruction, operand: Operand, space: str) -> tuple[Node, int]:
    """The address as i64 (i32 in shared and local memory) and the constant offset."""
    if not isinstance(operand, Address):
        c.unsupported(i, "expected an address")
    type_ = "i32" if space in ("shared", "local") else "i64"
    if isinstance(operand.base, Register):
        return c.src(operand.base, type_), operand.offset
    if isinstance(operand.base, Symbol):
        return c.symbol(operand.base, type_), operand.offset
    return c.b.const(type_, operand.offset), 0


def make_access(
    c: Context,
    i: Instruction,
    kind: str,
    space: str,
    shape: tuple[int, int, int],
    operation: str = "",
    *,
    result_used: bool = True,
) -> Access:
    """``shape`` is (bits, count, offset)."""
    bits, count, offset = shape
    return Access(
        kind=kind,
        space=space,
        bits=bits,
        count=count,
        opcode=i.opcode,
        place=c.place,
        offset=offset,
        operation=operation,
        result_used=result_used,
    )


def place_of(c: Context, i: Instruction, operand: Operand) -> tuple[str, Node, int]:
    """The space that an instruction names, the address and the constant offset."""
    space = _space(i)
    return space, *address_in(c, i, operand, space)


def guards(c: Context) -> tuple[Node, ...]:
    """The instruction's guard as a last operand, if it has one."""
    return (c.guard,) if c.guard is not None else ()


def load(c: Context, i: Instruction) -> None:
    space = _space(i)
    operand = i.operands[1]
    if space == "param" and isinstance(operand, Address) and isinstance(operand.base, Symbol):
        load_parameter(c, i, operand.base.name, operand.offset)
        return
    type_, count = i.parts[-1], element_count(i)
    bits = width(type_)
    address, offset = address_in(c, i, operand, space)
    access = make_access(c, i, "load", space, (bits, count, offset))
    node = c.b.access("load", int_type(bits), access, address, *guards(c))
    values = [c.b.part(node, n, int_type(bits)) for n in range(count)] if count > 1 else [node]
    write_values(c, i.operands[0], values, signed=type_[0] == "s")


def write_values(c: Context, target: Operand, values: list[Node], *, signed: bool) -> None:
    """Write to a register, or to each of a vector."""
    targets = target.elements if isinstance(target, Vector) else (target,)
    for t, value in zip(targets, values, strict=True):
        c.dst(t, value, signed=signed)


def read_values(c: Context, operand: Operand, type_: str) -> list[Node]:
    """The value of a register, or of each of a vector."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    return [c.src(e, type_) for e in elements]


def load_parameter(c: Context, i: Instruction, name: str, offset: int) -> None:
    """ld.param of a named parameter: a place in the parameter buffer, or a call's argument."""
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
    address, offset = address_in(c, i, operand, space)
    access = make_access(c, i, "store", space, (bits, count, offset))
    c.b.access("store", "i1", access, address, *values, *guards(c))


def copy_async(c: Context, i: Instruction) -> None:
    """cp.async of 4, 8 or 16 bytes: copied at once, so that waiting for it is free.

    A source size below the copy's fills the rest with zeros; only the bytes it names are read.
    """
    if not {"ca", "cg"} & set(i.parts) or len(i.operands) < 3:
        c.unsupported(i)
    size = i.operands[2]
    if not isinstance(size, Immediate):
        c.unsupported(i, "the copy's size is not a literal")
    words = int(size.value) // 4
    policy = any("cache_hint" in p for p in i.parts)
    given = list(i.operands[3:-1] if policy else i.operands[3:])
    guard = c.guard
    address, offset = address_in(c, i, i.operands[1], "global")
    zero = c.b.const("i32", 0)
    if not given:
        values = _words(c, i, address, offset, words, guard)
    elif isinstance(given[0], Register) and given[0].type == "pred":
        wanted = c.negate(c.src(given[0], "i1"))
        values = _words(c, i, address, offset, words, _both(c, guard, wanted))
        values = [c.b.select(wanted, v, zero) for v in values]
    else:
        length = c.src(given[0], "i32")
        whole = c.b.icmp("uge", length, c.b.const("i32", 4 * words))
        full = _words(c, i, address, offset, words, _both(c, guard, whole))
        values = [
            c.b.select(whole, v, _partial(c, i, address, offset, k, length, whole, guard))
            for k, v in enumerate(full)
        ]
    where, at = address_in(c, i, i.operands[0], "shared")
    access = make_access(c, i, "store", "shared", (32, words, at))
    c.b.access("store", "i1", access, where, *values, *guards(c))


def _both(c: Context, guard: Node | None, condition: Node) -> Node:
    return condition if guard is None else c.both("and", guard, condition)


def _words(
    c: Context, i: Instruction, address: Node, offset: int, count: int, guard: Node | None
) -> list[Node]:
    """Consecutive 32-bit words of global memory, by one access."""
    access = make_access(c, i, "load", "global", (32, count, offset))
    node = c.b.access("load", "i32", access, address, *((guard,) if guard is not None else ()))
    return [c.b.part(node, n, "i32") for n in range(count)] if count > 1 else [node]


def _partial(
    c: Context,
    i: Instruction,
    address: Node,
    offset: int,
    word: int,
    length: Node,
    whole: Node,
    guard: Node | None,
) -> Node:
    """One word of a copy that is cut short after ``length`` bytes."""
    left = c.both("sub", length, c.b.const("i32", 4 * word))
    some = c.b.icmp("sgt", left, c.b.const("i32", 0))
    wanted = _both(c, guard, c.both("and", some, c.negate(whole)))
    (value,) = _words(c, i, address, offset + 4 * word, 1, wanted)
    bits = c.both("shl", c.both("umin", left, c.b.const("i32", 4)), c.b.const("i32", 3))
    mask = c.negate(shifted(c, "shl", c.b.const("i32", -1), bits))
    return c.b.select(some, c.both("and", value, mask), c.b.const("i32", 0))
