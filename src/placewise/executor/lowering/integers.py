"""Integer values joined from parts, split into parts, and computed by parts."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lowering.lowering_context import LoweringContext


def join(c: LoweringContext, parts: list[Node], type_: str) -> Node:
    """Concatenate integers to one of ``type_``, the first in the low bits."""
    bits = BITS[parts[0].type]
    total = c.b.resize(c.b.as_int(parts[0]), type_)
    for number, part in enumerate(parts[1:], 1):
        wide = c.b.resize(c.b.as_int(part), type_)
        total = c.binary("or", total, c.binary("shl", wide, c.b.const(type_, number * bits)))
    return total


def split(c: LoweringContext, value: Node, count: int) -> list[Node]:
    """Cut an integer into ``count`` equal parts, the low bits first."""
    bits = BITS[value.type] // count
    type_ = int_type(bits)
    return [
        c.b.resize(c.binary("lshr", value, c.b.const(value.type, n * bits)) if n else value, type_)
        for n in range(count)
    ]


def by_halves(c: LoweringContext, op: str, a: Node, b: Node) -> list[Node]:
    """Results of an operation on the low and on the high 16 bits of two words."""
    return [c.binary(op, x, y) for x, y in zip(split(c, a, 2), split(c, b, 2), strict=True)]
