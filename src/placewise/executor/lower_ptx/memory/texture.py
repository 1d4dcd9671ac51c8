"""Texture reads, surface reads and writes."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lower_ptx.memory.memory import (
    read_values,
    write_values,
)
from placewise.executor.texture.texture_request import BOUNDARY
from placewise.executor.texture.texture_words import SHAPES
from placewise.kernel.ptx import Address, Instruction, Operand, Pair, Register, Vector

_AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4}
"""Number of coordinates by shape, array layers included; PTX pads three to four."""
_NAMED = frozenset(SHAPES[:-1])


def tex(c: Context, i: Instruction) -> None:
    """tex[.base|.level|.grad].SHAPE.v4.{u32,s32,f32}.{s32,f32} d[|p], [object, {coordinates}] …

    Textures have one level, so that the level of detail and gradients do not matter.
    """
    shape = _shape(c, i)
    type_, coordinate = i.parts[-2:]
    extra = {"level": 1, "grad": 2}.get(i.parts[1], 0)
    if len(i.operands) != 2 + extra:
        c.unsupported(i, "offsets and depth comparison are not covered")
    if "v4" not in i.parts or type_ not in ("u32", "s32", "f32"):
        c.unsupported(i, "results of 32 bits are covered")
    handle, coordinates = _object(c, i, i.operands[1], shape)
    access = c.access("load", "texture", 32, 4, 0, f"{shape}.{coordinate}")
    if shape == "1d" and coordinate == "s32":
        node = c.b.access("texture", "i32", access, handle, coordinates[0], *c.guards())
    else:
        node = c.b.access("sample", "i32", access, handle, *coordinates, *c.guards())
    _give(c, i.operands[0], node)


def tld4(c: Context, i: Instruction) -> None:
    """tld4.{r,g,b,a}.2d.v4.TYPE.f32 d[|p], [object, {x, y}]"""
    shape = _shape(c, i)
    if shape != "2d" or len(i.operands) != 2 or i.parts[-2] not in ("u32", "s32", "f32"):
        c.unsupported(i, "gathers of plain two-dimensional textures are covered")
    handle, coordinates = _object(c, i, i.operands[1], shape)
    access = c.access("load", "texture", 32, 4, 0, f"{shape}.f32.{i.parts[1]}")
    _give(c, i.operands[0], c.b.access("sample", "i32", access, handle, *coordinates, *c.guards()))


def suld(c: Context, i: Instruction) -> None:
    """suld.b.SHAPE[.cache][.vector].TYPE.BOUNDARY d, [object, {coordinates}]"""
    shape, bits, count, boundary = _surface(c, i)
    handle, coordinates = _object(c, i, i.operands[1], shape)
    access = c.access("load", "texture", bits, count, 0, f"{shape}.{boundary}")
    node = c.b.access("surface", int_type(bits), access, handle, *coordinates, *c.guards())
    values = [c.b.part(node, n, int_type(bits)) for n in range(count)]
    write_values(c, i.operands[0], values, signed=False)


def sust(c: Context, i: Instruction) -> None:
    """sust.b.SHAPE[.cache][.vector].TYPE.BOUNDARY [object, {coordinates}], value"""
    shape, bits, count, boundary = _surface(c, i)
    handle, coordinates = _object(c, i, i.operands[0], shape)
    values = read_values(c, i.operands[1], int_type(bits))
    access = c.access("store", "texture", bits, count, 0, f"{shape}.{boundary}")
    c.b.access("surface", "i1", access, handle, *coordinates, *values, *c.guards())


def _shape(c: Context, i: Instruction) -> str:
    found = next((p for p in i.parts[1:] if p in _NAMED), None)
    if found is None:
        c.unsupported(i, "a texture of this shape is not covered")
    return found


def _surface(c: Context, i: Instruction) -> tuple[str, int, int, str]:
    """Shape, bits of an element, elements and boundary mode."""
    if i.parts[1] != "b":
        c.unsupported(i, "formatted surface accesses are not covered")
    count = next((int(p[1]) for p in i.parts if p in ("v2", "v4")), 1)
    boundary = i.parts[-1]
    if boundary not in BOUNDARY:
        c.unsupported(i, "no boundary mode")
    return _shape(c, i), width(i.parts[-2]), count, boundary


def _object(
    c: Context, i: Instruction, operand: Operand, shape: str
) -> tuple[Node, tuple[Node, ...]]:
    """The handle, and four coordinates as 32-bit words."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Register):
        c.unsupported(i, "it must name a texture or surface object")
    given = operand.coordinates
    if not _AXES[shape] <= len(given) <= 4:
        c.unsupported(i, "a separate sampler is not covered")
    words = [c.src(x, "i32") for x in given[: _AXES[shape]]]
    words += [c.b.const("i32", 0)] * (4 - len(words))
    return c.src(operand.base, "i64"), tuple(words)


def _give(c: Context, target: Operand, node: Node) -> None:
    """Write the four channels; the predicate beside them says that the data is resident."""
    if isinstance(target, Pair):
        c.dst(target.second, c.b.const("i1", 1))
        target = target.first
    assert isinstance(target, Vector)
    write_values(c, target, [c.b.part(node, n, "i32") for n in range(4)], signed=False)
