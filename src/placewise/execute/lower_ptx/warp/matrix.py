"""Matrix instructions: mma.sync, ldmatrix, stmatrix, movmatrix.

A warp's lanes take part as a whole, as PTX requires. The 8 by 8 matrices that ldmatrix and stmatrix
move are accessed as the machine does it: lane l accesses the 16 bytes of row l, and the elements
then change lanes.
"""

from __future__ import annotations

from placewise.execute.ir.builder import int_type
from placewise.execute.ir.nodes import Node
from placewise.execute.lower_ptx.context import Context
from placewise.execute.lower_ptx.memory.memory import make_access, place_of
from placewise.execute.lowering.matrix_lanes import ELEMENT_BITS, Mma, register_bits
from placewise.execute.lowering.shorthand import Shorthand
from placewise.kernel.ptx import Instruction, Operand, Vector

_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
    "fp8": ("m16n8k16", "m16n8k32"),
}
"""Shapes of mma.sync by element type (PTX ISA, "Matrix multiply-accumulate operation")."""
_FAMILY = {"s8": "8", "u8": "8", "s4": "4", "u4": "4", "e4m3": "fp8", "e5m2": "fp8"}
_ROWS = 8
"""Rows and columns of a matrix that ldmatrix moves; a row has 16 bytes."""


def shape_of(text: str) -> tuple[int, int, int]:
    """(m, n, k) of a shape such as ``m16n8k16``."""
    m, rest = text[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def registers(c: Context, operand: Operand, type_: str) -> list[Node]:
    """The registers of a fragment as integers."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    return [c.src(e, int_type(register_bits(type_))) for e in elements]


def write_registers(c: Context, operand: Operand, values: list[Node]) -> None:
    """Write a fragment."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    for target, value in zip(elements, values, strict=True):
        c.dst(target, value)


def product(c: Shorthand, mma: Mma, a: list[Node], b: list[Node], acc: list[Node]) -> list[Node]:
    """The registers of D."""
    assert len(a) == mma.a_registers
    assert len(b) == mma.b_registers
    assert len(acc) == mma.accumulators(mma.c)
    type_ = int_type(register_bits(mma.d))
    node = c.b.pure("mma", type_, *a, *b, *acc, attr=mma)
    return [c.b.part(node, k, type_) for k in range(mma.accumulators(mma.d))]


def operation_of(i: Instruction) -> str:
    """xor or and of one-bit matrices, else nothing."""
    if "popc" not in i.parts:
        return ""
    return "xor" if "xor" in i.parts else "and"


def mma(c: Context, i: Instruction) -> None:
    """mma.sync.aligned.SHAPE.row.col[.satfinite].D.A.B.C[.xor.popc]"""
    parts = i.parts
    special = ("sp", "ordered_metadata", "block_scale")
    if any(p.split("::")[0] in special for p in parts) or "sync" not in parts:
        c.unsupported(i, "sparse and scaled products are not covered")
    types = [p for p in parts if p in ELEMENT_BITS]
    shape = next(p for p in parts if p[0] == "m" and p[1:2].isdigit())
    if len(types) != 4:
        c.unsupported(i, "these element types are not covered")
    d, a, b, acc = types
    if shape not in _SHAPES[_FAMILY.get(a, a)] or {"rz", "rm", "rp"} & set(parts):
        c.unsupported(i, "this shape is not covered")
    kind = Mma(*shape_of(shape), a, b, acc, d, operation_of(i), "satfinite" in parts)
    left, right = registers(c, i.operands[1], a), registers(c, i.operands[2], b)
    results = product(c, kind, left, right, registers(c, i.operands[3], acc))
    write_registers(c, i.operands[0], results)


# --- 8 by 8 matrices of 16-bit elements


def _check_matrices(c: Context, i: Instruction) -> None:
    if "m8n8" not in i.parts or i.parts[-1] != "b16":
        c.unsupported(i, "only matrices of 8 by 8 elements of 16 bits are covered")


def _lane_field(c: Shorthand, shift: int, mask: int) -> Node:
    lane = c.b.pure("special", "i32", attr="laneid")
    moved = c.both("lshr", lane, c.b.const("i32", shift)) if shift else lane
    return c.both("and", moved, c.b.const("i32", mask))


def _taken(c: Shorthand, value: Node, order: list[int]) -> Node:
    return c.b.pure("permute", value.type, value, attr=tuple(order))


def _one_of(c: Shorthand, index: Node, values: list[Node]) -> Node:
    """``values[index]`` by lane."""
    found = values[0]
    for n, value in enumerate(values[1:], 1):
        found = c.b.select(c.b.icmp("eq", index, c.b.const("i32", n)), value, found)
    return found


def _half(c: Shorthand, word: Node, upper: Node) -> Node:
    """The upper or lower 16 bits of a word, by lane."""
    sixteen, zero = c.b.const("i32", 16), c.b.const("i32", 0)
    moved = c.both("lshr", word, c.b.select(upper, sixteen, zero))
    return c.both("and", moved, c.b.const("i32", 0xFFFF))


def _pack(c: Shorthand, low: Node, high: Node) -> Node:
    return c.both("or", low, c.both("shl", high, c.b.const("i32", 16)))


def from_rows(c: Shorthand, words: list[Node], first: int, *, transposed: bool) -> Node:
    """A lane's two elements of the matrix whose row r lies in lane ``first`` + r as four words.

    Lane (g, t) holds elements 2t and 2t + 1 of row g, or of column g.
    """
    lanes = range(32)
    if not transposed:
        moved = [_taken(c, w, [first + lane // 4 for lane in lanes]) for w in words]
        return _one_of(c, _lane_field(c, 0, 3), moved)
    column_word, column_half = _lane_field(c, 3, 3), _lane_field(c, 2, 1)
    upper = c.b.icmp("ne", column_half, c.b.const("i32", 0))
    halves = []
    for e in (0, 1):
        moved = [_taken(c, w, [first + 2 * (lane % 4) + e for lane in lanes]) for w in words]
        halves.append(_half(c, _one_of(c, column_word, moved), upper))
    return _pack(c, *halves)


def _to_rows(c: Context, fragments: list[Node], *, transposed: bool) -> list[Node]:
    """The four words of row l % 8 of matrix l / 8 for lane l, from the fragments."""
    lanes = range(32)
    matrix = _lane_field(c, 3, 3)
    words = []
    for word in range(4):
        by_matrix = []
        for fragment in fragments:
            if not transposed:
                by_matrix.append(_taken(c, fragment, [lane % 8 * 4 + word for lane in lanes]))
                continue
            # Row r of the transpose is column r: elements of lanes (2 word + e, r / 2).
            row = c.b.icmp("ne", _lane_field(c, 0, 1), c.b.const("i32", 0))
            halves = []
            for e in (0, 1):
                order = [(2 * word + e) * 4 + lane % 8 // 2 for lane in lanes]
                halves.append(_half(c, _taken(c, fragment, order), row))
            by_matrix.append(_pack(c, *halves))
        words.append(_one_of(c, matrix, by_matrix))
    return words


def _row_guard(c: Context, count: int) -> tuple[Node, ...]:
    """Lanes that hold the address of a row."""
    guards = [c.guard] if c.guard is not None else []
    if count < 4:
        lane = c.b.pure("special", "i32", attr="laneid")
        guards.append(c.b.icmp("ult", lane, c.b.const("i32", _ROWS * count)))
    if len(guards) == 2:
        return (c.both("and", guards[0], guards[1]),)
    return tuple(guards)


def _count(i: Instruction) -> int:
    return next(int(p[1:]) for p in i.parts if p in ("x1", "x2", "x4"))


def ldmatrix(c: Context, i: Instruction) -> None:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16"""
    _check_matrices(c, i)
    space, address, offset = place_of(c, i, i.operands[1])
    count = _count(i)
    access = make_access(c, i, "load", space, (32, 4, offset))
    node = c.b.access("load", "i32", access, address, *_row_guard(c, count))
    words = [c.b.part(node, w, "i32") for w in range(4)]
    values = [from_rows(c, words, _ROWS * m, transposed="trans" in i.parts) for m in range(count)]
    write_registers(c, i.operands[0], values)


def stmatrix(c: Context, i: Instruction) -> None:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16"""
    _check_matrices(c, i)
    space, address, offset = place_of(c, i, i.operands[0])
    count = _count(i)
    words = _to_rows(c, registers(c, i.operands[1], "f16"), transposed="trans" in i.parts)
    access = make_access(c, i, "store", space, (32, 4, offset))
    c.b.access("store", "i1", access, address, *words, *_row_guard(c, count))


def movmatrix(c: Context, i: Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16: the transpose of one matrix."""
    _check_matrices(c, i)
    value = c.src(i.operands[1], "i32")
    upper = c.b.icmp("ne", _lane_field(c, 2, 1), c.b.const("i32", 0))
    halves = []
    for e in (0, 1):
        order = [(2 * (lane % 4) + e) * 4 + lane // 8 for lane in range(32)]
        halves.append(_half(c, _taken(c, value, order), upper))
    c.dst(i.operands[0], _pack(c, *halves))
