"""Texture reads, surface reads and writes.

The operands of a read are the layer, the coordinates and the level of detail, in this order, in
one group of registers or two; those of a surface stand behind one register. NVIDIA does not
document this; the tests compare every form with PTX.
"""

from __future__ import annotations

from collections.abc import Mapping

from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.kernel.binary.sass import (
    Constant,
    Immediate,
    Instruction,
    Memory,
    Name,
    Operand,
    Register,
)
from placewise.kernel.ptx import Module

_SHAPES = {
    "1D": ("1d", 1),
    "2D": ("2d", 2),
    "3D": ("3d", 3),
    "CUBE": ("cube", 3),
    "ARRAY_1D": ("a1d", 2),
    "ARRAY_2D": ("a2d", 3),
    "ARRAY_CUBE": ("acube", 4),
}
"""(shape as PTX names it, number of coordinates, array layers included)."""
_SURFACES = {
    "1D": ("1d", 1),
    "2D": ("2d", 2),
    "3D": ("3d", 3),
    "1D_ARRAY": ("a1d", 2),
    "2D_ARRAY": ("a2d", 3),
}
_SIZES = {"U8": (8, 1), "U16": (16, 1), "32": (32, 1), "64": (32, 2), "128": (32, 4)}
"""Bits of an element and elements of a surface access."""
_SCOPES = ("STRONG", "WEAK", "CTA", "SM", "GPU", "SYS", "VC", "EF", "EL", "LU", "NA")
_CHANNELS = ("R", "G", "B", "A")
_ALL = 0xF
_WORD = 4
_RESULTS = 2
"""Registers in each of the two groups that receive results."""

SAMPLING = frozenset({"TEX", "TLD", "TLD4", "TXD"})
"""Instructions that read textures."""
Shapes = Mapping[tuple[int, int] | None, frozenset[str]]
"""Texture shapes that the PTX samples, by source (file, line); those of all lines under None."""


def shapes_of(module: Module) -> Shapes:
    """Texture shapes that a kernel's PTX samples at floating-point coordinates, by (file, line)."""
    found: dict[tuple[int, int] | None, set[str]] = {None: set()}
    known = {shape for shape, _ in _SHAPES.values()}
    for function in module.functions.values():
        for item in function.body:
            parts = getattr(item, "parts", ())
            if parts and parts[0] == "tex" and parts[-1] == "f32":
                shapes = {part for part in parts if part in known}
                found.setdefault(getattr(item, "place", None), set()).update(shapes)
                found[None] |= shapes
    return {place: frozenset(shapes) for place, shapes in found.items()}


def read(c: Context, i: Instruction) -> None:
    """TEX, TLD, TLD4, TXD: read a texel or sample; a mask chooses among its four channels."""
    name = i.parts[0]
    scattered = c.flag("SCR")
    level = c.flag("LL")
    c.without_effect("LZ", "NODEP")
    channel = None
    if name == "TLD4" and c.modifiers and c.modifiers[0] in _CHANNELS:
        # If there are two modifiers B, the first is the channel.
        channel = c.modifiers.pop(0)
    bindless = c.flag("B")
    upper, lower, *rest = i.operands
    mask = c.literal(rest.pop()) if isinstance(rest[-1], Immediate) else _ALL
    shape, axes = _shape(c, rest.pop(), sampled=name != "TLD")
    if bindless:
        handle, words = _bindless(c, rest, axes, gradients=name == "TXD")
    else:
        handle = _handle(c, i, rest)
        several = scattered or name == "TXD"
        words = _coordinates(c, rest, axes + level, several, gradients=name == "TXD")
    words = [*words[:axes], *[c.zero()] * (4 - axes)]
    operation = f"{shape}.{'s32' if name == 'TLD' else 'f32'}"
    if channel is not None:
        operation += f".{channel.lower()}"
    access = c.access("load", "texture", 32, 4, 0, operation)
    if operation == "1d.s32":
        node = c.b.access("texture", "i32", access, handle, words[0], *c.guards())
    else:
        node = c.b.access("sample", "i32", access, handle, *words, *c.guards())
    wanted = [c.b.part(node, n, "i32") for n in range(4) if mask >> n & 1]
    c.write(lower, *wanted[:_RESULTS])
    if len(wanted) > _RESULTS:
        c.write(upper, *wanted[_RESULTS:])


def _shape(c: Context, operand: Operand, *, sampled: bool) -> tuple[str, int]:
    if not isinstance(operand, Name) or operand.text not in _SHAPES:
        c.refuse(f"a texture of shape {operand}")
    shape, axes = _SHAPES[operand.text]
    if shape == "2d" and sampled:
        # One-dimensional textures are sampled as two-dimensional ones of one row.
        here = c.shapes.get(c.place.source) or c.shapes.get(None, frozenset())
        if here & {"1d", "2d"} == {"1d", "2d"}:
            c.refuse("one- and two-dimensional textures on one line")
        if "1d" in here:
            shape = "1d"
    return shape, axes


def _handle(c: Context, i: Instruction, rest: list[Operand]) -> Node:
    """The object, taken off the end of ``rest``: a word of bank 0, or a uniform register.

    A handle has 64 bits here, of which machine code loads the lower ones only; these tell the
    others (:func:`placewise.executor.device_memory.address_space.handle`).
    """
    # Since Blackwell a register stands alone, without an index.
    index = Immediate(0) if isinstance(rest[-1], Register) else rest.pop()
    bank = rest.pop()
    if isinstance(bank, Immediate) and isinstance(index, Immediate):
        offset = c.literal(index) * _WORD
        return c.banks.read(c, Constant(c.literal(bank), None, offset), 64)
    if isinstance(bank, Register) and isinstance(index, Immediate) and c.literal(index) == 0:
        return _whole_handle(c, c.register(bank.file, bank.number))
    return c.unsupported(i, "an object of this form")


def _whole_handle(c: Context, word: Node) -> Node:
    if word.op == "param" and isinstance(word.attr, int):
        return c.b.pure("param", "i64", attr=word.attr)
    wide = c.b.pure("zext", "i64", word)
    return c.binary("or", c.binary("shl", wide, c.b.const("i64", WINDOW_SHIFT)), wide)


def _bindless(
    c: Context, operands: list[Operand], count: int, *, gradients: bool
) -> tuple[Node, list[Node]]:
    """(handle, coordinates) of an instruction with .B, whose texture object is in a register.

    The object is the first register of the second group, for TXD of the first group.
    """
    if len(operands) != _RESULTS or not all(_is_plain(o) for o in operands):
        c.refuse("its coordinates")
    first, second = (o for o in operands if isinstance(o, Register))
    if gradients:
        words = [_register(c, first, n) for n in range(count + 1)]
        return _whole_handle(c, words[0]), words[1:]
    return _whole_handle(c, _register(c, second, 0)), [_register(c, first, n) for n in range(count)]


def _coordinates(
    c: Context, operands: list[Operand], count: int, scattered: bool, *, gradients: bool
) -> list[Node]:
    """Values of the registers from those in ``operands`` on; ``scattered`` splits them in half."""
    if not operands or len(operands) > _RESULTS or not all(_is_plain(o) for o in operands):
        c.refuse("its coordinates")
    first = operands[0]
    assert isinstance(first, Register)
    if gradients or len(operands) == 1 or not _is_used(operands[1]):
        sizes = [count]
    elif scattered:
        sizes = [(count + 1) // 2, count // 2]
    else:
        # The level alone stands in the second group.
        sizes = [count - 1, 1]
    words = []
    for operand, size in zip(operands, sizes, strict=False):
        assert isinstance(operand, Register)
        words += [_register(c, operand, n) for n in range(size)]
    return words


def _is_plain(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.file == "R" and not operand.suffixes


def _is_used(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.number is not None


def _register(c: Context, operand: Register, n: int) -> Node:
    return c.register("R", None if operand.number is None else operand.number + n)


def surface_load(c: Context, i: Instruction) -> None:
    """SULD.D.BA: read bytes of a surface without conversion."""
    shape, axes, bits, count, boundary = _surface(c, i)
    target, *rest = i.operands
    handle = _handle(c, i, rest)
    words = _surface_words(c, rest, axes)
    access = c.access("load", "texture", bits, count, 0, f"{shape}.{boundary}")
    node = c.b.access("surface", int_type(bits), access, handle, *words, *c.guards())
    parts = [c.b.part(node, n, int_type(bits)) for n in range(count)]
    c.write(target, *(c.b.resize(part, "i32") for part in parts))


def surface_store(c: Context, i: Instruction) -> None:
    """SUST.D.BA: write bytes of a surface without conversion."""
    shape, axes, bits, count, boundary = _surface(c, i)
    place, value, *rest = i.operands
    handle = _handle(c, i, rest)
    words = _surface_words(c, [place], axes)
    if rest or not isinstance(value, Register) or not _is_plain(value):
        c.unsupported(i)
    values = [c.b.resize(_register(c, value, n), int_type(bits)) for n in range(count)]
    access = c.access("store", "texture", bits, count, 0, f"{shape}.{boundary}")
    c.b.access("surface", "i1", access, handle, *words, *values, *c.guards())


def _surface(c: Context, i: Instruction) -> tuple[str, int, int, int, str]:
    """Shape, coordinates, bits of an element, elements, boundary mode."""
    if not c.flag("D") or not c.flag("BA"):
        c.unsupported(i, "formatted surface accesses")
    c.without_effect(*_SCOPES)
    boundary = {"TRAP": "trap", "IGN": "zero"}.get(c.one_of("TRAP", "IGN") or "", "clamp")
    named = c.one_of(*_SURFACES)
    if named is None:
        c.unsupported(i, "a surface of this shape")
    bits, count = _SIZES[c.one_of(*_SIZES) or "32"]
    shape, axes = _SURFACES[named]
    return shape, axes, bits, count, boundary


def _surface_words(c: Context, operands: list[Operand], axes: int) -> list[Node]:
    """Four coordinates, read from the registers that start at the one in brackets."""
    (place,) = operands
    if not isinstance(place, Memory) or place.base is None or place.offset or place.uniform:
        c.refuse("its coordinates")
    words = [_register(c, place.base, n) for n in range(axes)]
    return [*words, *[c.zero()] * (4 - axes)]


OPCODES: dict[str, Lowering] = {
    "TEX": read,
    "TLD": read,
    "TLD4": read,
    "TXD": read,
    "SULD": surface_load,
    "SUST": surface_store,
}
"""Functions by opcode."""
