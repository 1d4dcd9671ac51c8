"""``wmma``: whole-warp loads, products and stores of matrices.

PTX leaves open which lane holds which element of a fragment;
:mod:`placewise.executor.ir.matrix_lanes` says how it is here. A register is loaded at once
where its elements are neighbours in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.matrix_lanes import (
    ELEMENT_BITS,
    Mma,
    elements_per_register,
    register_bits,
)
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.memory.memory import space_and_address
from placewise.executor.lower_ptx.warp.matrix import (
    operation_of,
    registers,
    shape_of,
    write_registers,
)
from placewise.executor.lowering.integers import join
from placewise.executor.lowering.matrices import product
from placewise.kernel.ptx import Instruction, Vector

_ACCUMULATOR = {"f16": "f32", "bf16": "f32", "tf32": "f32", "f64": "f64"}


def wmma(c: Context, i: Instruction) -> None:
    """wmma.load.{a,b,c}, wmma.mma, wmma.store.d"""
    if "load" in i.parts:
        _load(c, i)
    elif "store" in i.parts:
        _store(c, i)
    else:
        _multiply(c, i)


def _shape(i: Instruction) -> tuple[int, int, int]:
    return shape_of(next(p for p in i.parts if p[0] == "m" and p[1:2].isdigit()))


def _kind(i: Instruction, element: str, accumulator: str) -> Mma:
    m, n, k = _shape(i)
    return Mma(m, n, k, element, element, accumulator, accumulator)


def _multiply(c: Context, i: Instruction) -> None:
    m, n, k = _shape(i)
    types = [p for p in i.parts if p in ELEMENT_BITS]
    d, a, b, acc = types if len(types) == 4 else (types[0], "f16", "f16", types[1])
    if {"rz", "rm", "rp"} & set(i.parts):
        c.unsupported(i, "products rounded other than to nearest are not covered")
    kind = Mma(m, n, k, a, b, acc, d, operation_of(i), "satfinite" in i.parts)
    left = registers(c, i.operands[1], a)[: kind.a_registers]
    right = registers(c, i.operands[2], b)[: kind.b_registers]
    results = product(c, kind, left, right, registers(c, i.operands[3], acc))
    write_registers(c, i.operands[0], results)


@dataclass(frozen=True)
class _Memory:
    """A matrix in memory: address of its first element, and its pitch in bytes."""

    c: Context
    space: str
    start: Node
    offset: int
    pitch: Node
    bits: int

    def at(self, line: int, along: int, line_of: Node, along_of: Node) -> tuple[Node, int]:
        """Address of element (line + line_of, along + along_of) of a lane, and constant offset."""
        c, t = self.c, self.start.type
        line_node = c.binary("add", c.b.resize(line_of, t), c.b.const(t, line))
        down = c.binary("mul", line_node, self.pitch)
        bits = c.binary("mul", c.b.resize(along_of, t), c.b.const(t, self.bits))
        right = c.binary("lshr", bits, c.b.const(t, 3))
        address = c.binary("add", self.start, c.binary("add", down, right))
        return address, self.offset + along * self.bits // 8

    def load(self, place: tuple[Node, int], bits: int, count: int) -> list[Node]:
        return self.c.load(self.space, bits, count, *place)

    def store(self, place: tuple[Node, int], values: list[Node]) -> None:
        c = self.c
        bits = {"i16": 16, "i32": 32, "i64": 64}[values[0].type]
        access = c.access("store", self.space, bits, len(values), place[1])
        c.b.access("store", "i1", access, place[0], *values, *c.guards())


def _memory(c: Context, i: Instruction, position: int, element: str, width: int) -> _Memory:
    """The matrix at operand ``position``; ``width`` (elements) is the pitch if none is given."""
    space, address, offset = space_and_address(c, i, i.operands[position])
    stride = i.operands[-1] if len(i.operands) > 2 else None
    t, bits = address.type, ELEMENT_BITS[element]
    if stride is None:
        pitch = c.b.const(t, width * bits // 8)
    else:
        elements = c.b.resize(c.src(stride, "i32"), t)
        pitch = c.binary("mul", elements, c.b.const(t, bits))
        pitch = c.binary("lshr", pitch, c.b.const(t, 3))
    return _Memory(c, space, address, offset, pitch, bits)


def _lane(c: Context) -> tuple[Node, Node]:
    """(g, t) with g = lane / 4 and t = lane % 4."""
    lane = c.b.pure("special", "i32", attr="laneid")
    return c.binary("lshr", lane, c.b.const("i32", 2)), c.binary("and", lane, c.b.const("i32", 3))


def _load(c: Context, i: Instruction) -> None:
    which, element = i.parts[2], i.parts[-1]
    if which == "c":
        _load_accumulator(c, i, element)
        return
    kind = _kind(i, element, _ACCUMULATOR.get(element, "s32"))
    values = _load_factor(c, i, kind, element, which)
    target = i.operands[0]
    count = len(target.elements) if isinstance(target, Vector) else 1
    write_registers(c, target, [values[n % len(values)] for n in range(count)])


def _load_factor(c: Context, i: Instruction, kind: Mma, element: str, which: str) -> list[Node]:
    """The registers of A or B: lines of eight, each register some consecutive k."""
    tiles = (kind.m if which == "a" else kind.n) // 8
    index = kind.a_index if which == "a" else kind.b_index
    # Along a line of memory k grows where A lies by rows or B by columns.
    along_k = ("row" in i.parts) == (which == "a")
    per = elements_per_register(element)
    memory = _memory(c, i, 1, element, kind.k if along_k else 8 * tiles)
    g, t = _lane(c)
    first_k = c.binary("mul", t, c.b.const("i32", per))
    bits = register_bits(element)
    values: dict[int, Node] = {}
    for tile in range(tiles):
        for part in range(kind.k_parts):
            k = part * 4 * per
            if along_k:
                place = memory.at(8 * tile, k, g, first_k)
                value = memory.load(place, bits, 1)[0]
            else:
                if memory.bits < 8:
                    c.unsupported(i, "this layout is not covered")
                pieces = [
                    memory.load(memory.at(k + j, 8 * tile, first_k, g), memory.bits, 1)[0]
                    for j in range(per)
                ]
                value = join(c, pieces, int_type(bits))
            values[index(tile, part)] = value
    return [values[n] for n in range(len(values))]


def _load_accumulator(c: Context, i: Instruction, element: str) -> None:
    kind = _kind(i, "f64" if element == "f64" else "tf32", element)
    by_rows = "row" in i.parts
    memory = _memory(c, i, 1, element, kind.n if by_rows else kind.m)
    values = [c.b.const("i32", 0)] * (kind.m * kind.n // 32)
    for at, places in _accumulator_places(c, memory, kind, by_rows):
        for e, place in enumerate(places):
            loaded = memory.load(place, memory.bits, 2 // len(places))
            values[at + e : at + e + len(loaded)] = loaded
    if element == "f16":
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [join(c, list(pair), "i32") for pair in pairs]
    write_registers(c, i.operands[0], values)


def _store(c: Context, i: Instruction) -> None:
    element = i.parts[-1]
    kind = _kind(i, "f64" if element == "f64" else "tf32", element)
    by_rows = "row" in i.parts
    memory = _memory(c, i, 0, element, kind.n if by_rows else kind.m)
    given = registers(c, i.operands[1], element)
    if element == "f16":
        sixteen = c.b.const("i32", 16)
        given = [
            c.b.resize(half, "i16") for v in given for half in (v, c.binary("lshr", v, sixteen))
        ]
    for at, places in _accumulator_places(c, memory, kind, by_rows):
        step = 2 // len(places)
        for e, place in enumerate(places):
            memory.store(place, given[at + e : at + e + step])


def _accumulator_places(
    c: Context, memory: _Memory, kind: Mma, by_rows: bool
) -> list[tuple[int, list[tuple[Node, int]]]]:
    """For each 8 by 8 tile: number of the lane's first element in it, and the address of its two
    elements in memory: one address if they are adjacent, else two."""
    g, t = _lane(c)
    first = c.binary("shl", t, c.b.const("i32", 1))
    found = []
    for row in range(kind.m // 8):
        for column in range(kind.n // 8):
            if by_rows:
                places = [memory.at(8 * row, 8 * column, g, first)]
            else:
                places = [memory.at(8 * column + e, 8 * row, first, g) for e in (0, 1)]
            found.append((kind.c_index(row, column), places))
    return found
