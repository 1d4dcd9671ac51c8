"""Loads and stores of machine code."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.kernel.binary.sass import Constant, Instruction, Memory, Operand, Register

_SPACE = {"G": "global", "S": "shared", "L": "local", "": "generic"}
_HINTS = (
    *("E", "SYS", "CTA", "GPU", "SM", "VC", "STRONG", "WEAK", "CONSTANT", "MMIO", "PRIVATE"),
    *("EF", "EL", "LU", "EU", "NA", "LTC64B", "LTC128B", "LTC256B", "LDG"),
)
"""Modifiers for address width (always 64 bits), scope, order and caching. They change no result,
because a warp's accesses are done in program order."""
_SCALE = {"X4": 2, "X8": 3, "X16": 4}
SHORT = {"U8": (8, False), "S8": (8, True), "U16": (16, False), "S16": (16, True)}
"""(bits, signed) of elements below 32 bits."""


def address_of(c: Context, operand: Operand, space: str) -> tuple[Node, int]:
    """Address (i32 in shared and local memory, else i64), and its constant offset in bytes."""
    if not isinstance(operand, Memory) or operand.suffixes:
        c.refuse(f"address {operand}")
    if space == "shared":
        # Offsets count from the kernel's own shared memory, above what the system reserves.
        return _short_address(c, operand), operand.offset - c.shared_base
    if space == "local":
        return _short_address(c, operand), operand.offset
    base = operand.base
    if base is None:
        address: Node | None = None
    elif "U32" in base.suffixes:
        address = c.b.resize(c.i32(base._replace(suffixes=())), "i64")
    elif base.suffixes in ((), ("64",)):
        address = c.i64(base._replace(suffixes=()))
    else:
        c.refuse(f"address suffix '{base.suffixes[0]}'")
    if operand.uniform is not None:
        common = c.i64(operand.uniform)
        address = common if address is None or _is_zero(base) else c.binary("add", address, common)
    if address is None:
        return c.b.const("i64", operand.offset), 0
    return address, operand.offset


def _is_zero(base: Register | None) -> bool:
    return base is not None and base.number is None


def _short_address(c: Context, operand: Memory) -> Node:
    address: Node | None = None
    if operand.base is not None and operand.base.number is not None:
        suffixes = operand.base.suffixes
        address = c.i32(operand.base._replace(suffixes=()))
        if suffixes:
            (suffix,) = suffixes
            if suffix not in _SCALE:
                c.refuse(f"address suffix '{suffix}'")
            address = c.binary("shl", address, c.b.const("i32", _SCALE[suffix]))
    if operand.uniform is not None:
        common = c.i32(operand.uniform)
        address = common if address is None else c.binary("add", address, common)
    return c.zero() if address is None else address


def take_width(c: Context) -> tuple[int, int, bool]:
    """Take the width modifiers: (bits of an element, elements, signed) of a lane's access."""
    c.without_effect(*_HINTS)
    short = c.one_of(*SHORT)
    if short:
        return (SHORT[short][0], 1, SHORT[short][1])
    wide = c.one_of("64", "128")
    c.without_effect("32")
    # A pair is loaded as one 64-bit element: mostly it is an address or a double.
    return {"64": (64, 1, False), "128": (32, 4, False)}.get(wide or "", (32, 1, False))


def load(c: Context, i: Instruction) -> None:
    """LDG, LD, LDS, LDL."""
    space = _SPACE[i.parts[0][2:]]
    bits, count, signed = take_width(c)
    c.without_effect("U")
    target, *outs, where = i.operands
    if outs:
        c.unsupported(i, "with a predicate")
    address, offset = address_of(c, where, space)
    write_loaded(c, target, c.load(space, bits, count, address, offset), signed=signed)


def write_loaded(c: Context, target: Operand, values: list[Node], *, signed: bool) -> None:
    """Write loaded elements to consecutive registers; elements below 32 bits are extended."""
    if values[0].type == "i64":
        c.write_wide(target, values[0])
    else:
        c.write(target, *(c.b.resize(v, "i32", signed=signed) for v in values))


def load_constant(c: Context, i: Instruction) -> None:
    """LDC, ULDC, LDCU."""
    bits, count, signed = take_width(c)
    target, where = i.operands
    if not isinstance(where, Constant):
        c.unsupported(i)
    if (bits, count) in ((32, 1), (64, 1)):
        values = [c.banks.read(c, where, bits)]
    else:
        values = c.banks.load(c, where, bits, count)
    write_loaded(c, target, values, signed=signed)


def store(c: Context, i: Instruction) -> None:
    """STG, ST, STS, STL."""
    space = _SPACE[i.parts[0][2:]]
    bits, count, _ = take_width(c)
    where, value = i.operands
    address, offset = address_of(c, where, space)
    access = c.access("store", space, bits, count, offset)
    c.b.access("store", "i1", access, address, *stored(c, value, bits, count), *c.guards())


def stored(c: Context, operand: Operand, bits: int, count: int) -> list[Node]:
    """Elements to store, read from consecutive registers."""
    if bits == 64:
        return [c.i64(operand)]
    if count == 1:
        return [c.b.resize(c.i32(operand), int_type(bits))]
    if not isinstance(operand, Register):
        c.refuse(f"operand {operand}")
    if operand.number is None:
        return [c.zero()] * count
    return [c.register(operand.file, operand.number + n) for n in range(count)]


OPCODES: dict[str, Lowering] = {
    "LDG": load,
    "LD": load,
    "LDS": load,
    "LDL": load,
    "STG": store,
    "ST": store,
    "STS": store,
    "STL": store,
    "LDC": load_constant,
    "ULDC": load_constant,
    "LDCU": load_constant,
}
"""Functions by opcode."""
