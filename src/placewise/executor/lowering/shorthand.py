"""What lowering writes most often, for every language that is lowered."""

from __future__ import annotations

from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Node


class Shorthand:
    """A builder with short names for common nodes."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    def negate(self, value: Node) -> Node:
        """Logical or bitwise not."""
        return self.b.pure("xor", value.type, value, self.b.const(value.type, -1))

    def both(self, op: str, a: Node, b: Node) -> Node:
        """An elementwise node whose type is that of its operands."""
        return self.b.pure(op, a.type, a, b)
