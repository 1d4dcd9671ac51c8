"""Operands of instructions as functions of a thread's frame."""

import struct
from dataclasses import dataclass, field

from placewise.kernel.ptx import Immediate, Negated, Pair, Register, Sink, Special, Symbol
from reference.integers import WIDTHS, mask, number
from reference.memory import LOCAL, PARAM, SHARED, WINDOW, KernelError


@dataclass
class Names:
    """What the names of a module's variables stand for."""

    shared: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    everywhere: dict[str, int] = field(default_factory=dict)
    """Generic addresses of global and constant variables."""
    parameters: dict[str, int] = field(default_factory=dict)
    """Offsets of the entry's parameters."""
    spaces: dict[str, str] = field(default_factory=dict)

    def address(self, name):
        for table in (self.shared, self.local, self.everywhere):
            if name in table:
                return table[name]
        if name in self.parameters:
            return (PARAM << WINDOW) + self.parameters[name]
        raise KernelError(f"'{name}' has no address")


def _float_pattern(value, type_):
    code = {16: "e", 32: "f", 64: "d"}[WIDTHS[type_]]
    return int.from_bytes(struct.pack("<" + code, value), "little")


def _literal(operand, type_):
    value = operand.value
    if operand.float_bits and type_[0] == "f" and operand.float_bits != WIDTHS[type_]:
        code = "<f" if operand.float_bits == 32 else "<d"
        (as_number,) = struct.unpack(code, value.to_bytes(operand.float_bits // 8, "little"))
        return _float_pattern(as_number, type_)
    if not operand.float_bits and (isinstance(value, float) or type_ in ("f16", "f32", "f64")):
        return _float_pattern(value, type_)
    return int(value) & mask(WIDTHS[type_])


def _special(name):
    head, _, axis = name.removeprefix("%").partition(".")
    if axis == "w":
        return lambda f: 0
    at = "xyz".find(axis) if axis else 0
    lanes = {
        "lanemask_eq": lambda lane: 1 << lane,
        "lanemask_lt": mask,
        "lanemask_le": lambda lane: mask(lane + 1),
        "lanemask_gt": lambda lane: mask(32) & ~mask(lane + 1),
        "lanemask_ge": lambda lane: mask(32) & ~mask(lane),
    }
    if head in lanes:
        return lambda f: lanes[head](f.thread.linear % 32)
    table = {
        "tid": lambda f: f.thread.tid[at],
        "ntid": lambda f: f.thread.block.launch.block[at],
        "ctaid": lambda f: f.thread.block.index[at],
        "nctaid": lambda f: f.thread.block.launch.grid[at],
        "laneid": lambda f: f.thread.linear % 32,
        "warpid": lambda f: f.thread.linear // 32,
        "nwarpid": lambda f: f.thread.block.launch.warps_per_block,
        "dynamic_smem_size": lambda f: f.thread.block.launch.shared_bytes,
    }
    if head not in table:
        raise KernelError(f"special register {name} is not known")
    return table[head]


def reader(operand, type_, names):
    """Function of a frame to the operand's pattern in ``type_``."""
    bits = WIDTHS[type_]
    if isinstance(operand, Register):
        wanted, name = mask(bits), operand.name
        return lambda f: f.registers.get(name, 0) & wanted
    if isinstance(operand, Negated):
        name = operand.register.name
        return lambda f: 1 - f.registers.get(name, 0)
    if isinstance(operand, Immediate):
        value = _literal(operand, type_)
    elif isinstance(operand, Symbol):
        value = (names.address(operand.name) + operand.offset) & mask(bits)
    elif isinstance(operand, Special):
        return _special(operand.name)
    else:
        raise KernelError(f"operand {operand} is not known")
    return lambda f: value


def writer(operand, type_):
    """Function of a frame and an integer that writes a result of ``type_``.

    A wider register gets the sign extended for signed types, zeros otherwise.
    """
    if isinstance(operand, Sink):
        return lambda f, value: None
    if isinstance(operand, Pair):
        operand = operand.first
    if not isinstance(operand, Register):
        raise KernelError(f"destination {operand} is not known")
    name, wanted = operand.name, mask(WIDTHS[operand.type])

    def write(f, value):
        f.registers[name] = number(value, type_) & wanted

    return write


def address_of(operand, space, names):
    """Function of a frame to the address in ``[base + offset]``."""
    offset = operand.offset
    if operand.base is None:
        return lambda f: offset
    if isinstance(operand.base, Symbol):
        start = names.address(operand.base.name) + offset
        # A shared or local variable named in a generic access means its generic address.
        if space == "generic" and operand.base.name in names.shared:
            start += SHARED << WINDOW
        elif space == "generic" and operand.base.name in names.local:
            start += LOCAL << WINDOW
        return lambda f: start
    base = reader(operand.base, "b32" if WIDTHS[operand.base.type] == 32 else "b64", names)
    return lambda f: (base(f) + offset) & mask(64)
