"""The state of lowering that PTX and machine code share."""

from __future__ import annotations

from placewise.executor.ir.builder import Builder, int_type
from placewise.executor.ir.nodes import Access, Node, Place


class LoweringContext:
    """The builder, and the opcode, place and guard of the instruction that is being lowered."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder
        self.opcode = ""
        self.place = Place(0, None)
        self.guard: Node | None = None
        """Holds (i1) in the lanes that execute the instruction; None if all active lanes do."""

    def negate(self, value: Node) -> Node:
        """Complement of all bits."""
        return self.b.pure("xor", value.type, value, self.b.const(value.type, -1))

    def binary(self, op: str, a: Node, b: Node) -> Node:
        """An elementwise operation on two values, with a result of their type."""
        return self.b.pure(op, a.type, a, b)

    def guards(self) -> tuple[Node, ...]:
        """The guard as the last operand of a memory node; empty without a guard."""
        return (self.guard,) if self.guard is not None else ()

    def access(
        self,
        kind: str,
        space: str,
        bits: int,
        count: int,
        offset: int,
        operation: str = "",
        *,
        result_used: bool = True,
    ) -> Access:
        """An access by the instruction; the fields are those of :class:`Access`."""
        return Access(
            kind=kind,
            space=space,
            bits=bits,
            count=count,
            opcode=self.opcode,
            place=self.place,
            offset=offset,
            operation=operation,
            result_used=result_used,
            site=self.b.next_site,
        )

    def load(self, space: str, bits: int, count: int, address: Node, offset: int) -> list[Node]:
        """Load ``count`` elements of ``bits`` for each lane, under the guard."""
        type_ = int_type(bits)
        access = self.access("load", space, bits, count, offset)
        node = self.b.access("load", type_, access, address, *self.guards())
        return [self.b.part(node, n, type_) for n in range(count)] if count > 1 else [node]
