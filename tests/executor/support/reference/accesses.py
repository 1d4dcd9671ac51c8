"""Loads, stores, atomics and texture reads of one thread."""

from placewise.kernel.ptx import Sink, Symbol, Vector
from reference.arithmetic import operation
from reference.integers import WIDTHS, mask, number
from reference.memory import WINDOW, KernelError, reach
from reference.operands import address_of, reader, writer

_SPACES = ("global", "shared", "local", "const", "param")


def _space(i):
    for part in i.parts[1:]:
        if part.split("::")[0] in _SPACES:
            return part.split("::")[0]
    return "generic"


def _elements(operand):
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _named_parameter(space, operand):
    return space == "param" and isinstance(operand.base, Symbol)


def load(i, names):
    space, type_ = _space(i), i.parts[-1]
    writers = [writer(o, type_) for o in _elements(i.operands[0])]
    step = WIDTHS[type_] // 8
    operand = i.operands[1]
    if _named_parameter(space, operand):

        def place(f):
            return f.parameters[operand.base.name], operand.offset

    else:
        address = address_of(operand, space, names)

        def place(f):
            return reach(f.thread, i.line, space, address(f), step * len(writers))

    def act(f):
        data, offset = place(f)
        for n, write in enumerate(writers):
            at = offset + n * step
            write(f, int.from_bytes(data[at : at + step], "little"))

    return act


def store(i, names):
    space, type_ = _space(i), i.parts[-1]
    sources = [reader(o, type_, names) for o in _elements(i.operands[1])]
    step = WIDTHS[type_] // 8
    operand = i.operands[0]
    if _named_parameter(space, operand):

        def place(f):
            return f.parameters[operand.base.name], operand.offset

    else:
        address = address_of(operand, space, names)

        def place(f):
            return reach(f.thread, i.line, space, address(f), step * len(sources))

    def act(f):
        data, offset = place(f)
        for n, source in enumerate(sources):
            at = offset + n * step
            data[at : at + step] = source(f).to_bytes(step, "little")

    return act


_UPDATES = frozenset(["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"])


def _update(name, type_):
    """New value from the old one and the operands."""
    if name == "exch":
        return lambda old, b: b
    if name == "cas":
        return lambda old, b, c: c if old == b else old
    if name == "inc":
        return lambda old, b: 0 if old >= b else old + 1
    if name == "dec":
        return lambda old, b: b if old == 0 or old > b else old - 1
    return operation((name, type_))[2]


def atomic(i, names):
    space, type_ = _space(i), i.parts[-1]
    name = next(p for p in i.parts[1:] if p in _UPDATES)
    operands = list(i.operands)
    target = operands.pop(0) if i.parts[0] == "atom" else Sink()
    write = writer(target, type_)
    address = address_of(operands[0], space, names)
    sources = [reader(o, type_, names) for o in operands[1:]]
    update, size = _update(name, type_), WIDTHS[type_] // 8

    def act(f):
        data, offset = reach(f.thread, i.line, space, address(f), size)
        old = int.from_bytes(data[offset : offset + size], "little")
        new = update(old, *(s(f) for s in sources)) & mask(8 * size)
        data[offset : offset + size] = new.to_bytes(size, "little")
        write(f, old)

    return act


def texture(i, names):
    """tex.1d.v4.*.s32: a texel of linear memory; beyond the ends all zeros."""
    if i.parts[1:3] != ("1d", "v4") or i.parts[-1] != "s32":
        raise KernelError(f"{i.opcode} is not known")
    writers = [writer(o, "b32") for o in _elements(i.operands[0])]
    handle = reader(i.operands[1].base, "b64", names)
    index = reader(i.operands[1].coordinates[0], "s32", names)

    def act(f):
        region = f.thread.block.memory.regions[handle(f) >> WINDOW]
        kind, lanes = region.texel
        size = int(kind[1:]) * lanes
        n = number(index(f), "s32")
        values = [0, 0, 0, 0]
        if 0 <= n * size < len(region.data):
            data, offset = reach(f.thread, i.line, "global", handle(f) + n * size, size)
            # Numbers of 64 bits come as two channels of 32.
            width = min(size // lanes, 4)
            for channel in range(size // width):
                at = offset + channel * width
                values[channel] = int.from_bytes(
                    data[at : at + width], "little", signed=kind[0] == "i"
                )
        for write, value in zip(writers, values, strict=True):
            write(f, value)

    return act
