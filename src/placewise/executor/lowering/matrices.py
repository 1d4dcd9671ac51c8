"""Matrix products, and 8 by 8 matrices of 16-bit elements: loads, stores, transposes."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.matrix_lanes import Mma, register_bits
from placewise.executor.ir.nodes import Node
from placewise.executor.lowering.lowering_context import LoweringContext

_ROWS = 8
"""Rows and columns of a matrix that ldmatrix moves; a row has 16 bytes."""


def product(
    c: LoweringContext, mma: Mma, a: list[Node], b: list[Node], acc: list[Node]
) -> list[Node]:
    """The registers of D = A B + C, from those of A, B and C."""
    assert len(a) == mma.a_registers
    assert len(b) == mma.b_registers
    assert len(acc) == mma.accumulators(mma.c)
    type_ = int_type(register_bits(mma.d))
    node = c.b.pure("mma", type_, *a, *b, *acc, attr=mma)
    return [c.b.part(node, k, type_) for k in range(mma.accumulators(mma.d))]


def row_guard(c: LoweringContext, count: int) -> tuple[Node, ...]:
    """Guard of the lanes that hold the address of a row: the first 8 for each matrix."""
    if count == 4:
        return c.guards()
    lane = c.b.pure("special", "i32", attr="laneid")
    holds = c.b.icmp("ult", lane, c.b.const("i32", _ROWS * count))
    return (holds if c.guard is None else c.binary("and", c.guard, holds),)


def load_matrices(
    c: LoweringContext, space: str, address: Node, offset: int, count: int, *, transposed: bool
) -> list[Node]:
    """Load 1, 2 or 4 matrices: lane l reads the 16 bytes of row l % 8 of matrix l / 8.

    Returns each lane's two elements of each matrix as one word.
    """
    access = c.access("load", space, 32, 4, offset)
    node = c.b.access("load", "i32", access, address, *row_guard(c, count))
    words = [c.b.part(node, w, "i32") for w in range(4)]
    return [from_rows(c, words, _ROWS * m, transposed=transposed) for m in range(count)]


def store_matrices(
    c: LoweringContext,
    space: str,
    address: Node,
    offset: int,
    fragments: list[Node],
    *,
    transposed: bool,
) -> None:
    """Store 1, 2 or 4 matrices, given each lane's two elements of each as one word: the inverse of
    :func:`load_matrices`."""
    words = to_rows(c, fragments, transposed=transposed)
    access = c.access("store", space, 32, 4, offset)
    c.b.access("store", "i1", access, address, *words, *row_guard(c, len(fragments)))


def transpose_matrix(c: LoweringContext, fragment: Node) -> Node:
    """A lane's two elements of the transpose of a matrix, from those of the matrix."""
    upper = c.b.icmp("ne", lane_field(c, 2, 1), c.b.const("i32", 0))
    halves = []
    for e in (0, 1):
        order = [(2 * (lane % 4) + e) * 4 + lane // 8 for lane in range(32)]
        halves.append(half_word(c, permute(c, fragment, order), upper))
    return pack_halves(c, *halves)


def from_rows(c: LoweringContext, words: list[Node], first: int, *, transposed: bool) -> Node:
    """A lane's two elements of the matrix whose row r lane ``first`` + r holds as four words.

    Lane (g, t) holds elements 2t and 2t + 1 of row g, or of column g.
    """
    lanes = range(32)
    if not transposed:
        moved = [permute(c, w, [first + lane // 4 for lane in lanes]) for w in words]
        return _one_of(c, lane_field(c, 0, 3), moved)
    column_word, column_half = lane_field(c, 3, 3), lane_field(c, 2, 1)
    upper = c.b.icmp("ne", column_half, c.b.const("i32", 0))
    halves = []
    for e in (0, 1):
        moved = [permute(c, w, [first + 2 * (lane % 4) + e for lane in lanes]) for w in words]
        halves.append(half_word(c, _one_of(c, column_word, moved), upper))
    return pack_halves(c, *halves)


def to_rows(c: LoweringContext, fragments: list[Node], *, transposed: bool) -> list[Node]:
    """The inverse of :func:`from_rows`: for lane l the four words of row l % 8 of matrix l / 8."""
    lanes = range(32)
    matrix = lane_field(c, 3, 3)
    words = []
    for word in range(4):
        by_matrix = []
        for fragment in fragments:
            if not transposed:
                by_matrix.append(permute(c, fragment, [lane % 8 * 4 + word for lane in lanes]))
                continue
            # Row r of the transpose is column r: elements of lanes (2 word + e, r / 2).
            row = c.b.icmp("ne", lane_field(c, 0, 1), c.b.const("i32", 0))
            halves = []
            for e in (0, 1):
                order = [(2 * word + e) * 4 + lane % 8 // 2 for lane in lanes]
                halves.append(half_word(c, permute(c, fragment, order), row))
            by_matrix.append(pack_halves(c, *halves))
        words.append(_one_of(c, matrix, by_matrix))
    return words


def lane_field(c: LoweringContext, shift: int, mask: int) -> Node:
    lane = c.b.pure("special", "i32", attr="laneid")
    moved = c.binary("lshr", lane, c.b.const("i32", shift)) if shift else lane
    return c.binary("and", moved, c.b.const("i32", mask))


def permute(c: LoweringContext, value: Node, order: list[int]) -> Node:
    return c.b.pure("permute", value.type, value, attr=tuple(order))


def _one_of(c: LoweringContext, index: Node, values: list[Node]) -> Node:
    """``values[index]``, chosen for each lane."""
    found = values[0]
    for n, value in enumerate(values[1:], 1):
        found = c.b.select(c.b.icmp("eq", index, c.b.const("i32", n)), value, found)
    return found


def half_word(c: LoweringContext, word: Node, upper: Node) -> Node:
    """The upper (``upper`` holds) or lower 16 bits of a word, chosen for each lane."""
    sixteen, zero = c.b.const("i32", 16), c.b.const("i32", 0)
    moved = c.binary("lshr", word, c.b.select(upper, sixteen, zero))
    return c.binary("and", moved, c.b.const("i32", 0xFFFF))


def pack_halves(c: LoweringContext, low: Node, high: Node) -> Node:
    return c.binary("or", low, c.binary("shl", high, c.b.const("i32", 16)))
