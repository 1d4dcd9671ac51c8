"""One node of a kernel's syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from placewise.kernel.source import Scalar

WRAPPERS = frozenset({"PAREN_EXPR", "UNEXPOSED_EXPR"})
"""Parentheses, and conversions without text."""
LOOPS = frozenset({"FOR_STMT", "WHILE_STMT", "DO_STMT"})


@dataclass(eq=False, slots=True)
class Node:
    """One node of the syntax tree; ``start`` and ``end`` are byte offsets, -1 outside the file."""

    kind: str
    name: str
    start: int
    end: int
    location: int
    """Offset of the name in declarations, member references and calls."""
    line: int
    column: int
    type: str
    """Canonical type."""
    type_kind: str
    size: int
    """Bytes of the type, or of the pointee for pointers; 0 where unknown."""
    operator: str
    value: int | None
    """Value of an integer constant."""
    id: int
    """Identity of a declaration."""
    target: int
    """Identity of the declaration that an expression refers to, 0 if none."""
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    members: tuple[tuple[str, int], ...] = ()
    """Names and byte offsets of the members, if a parameter is a struct or points to one."""
    scalars: tuple[Scalar, ...] = ()
    """What a parameter, or the element that it points to, consists of."""

    @property
    def parameters(self) -> list[Node]:
        """The parameters that a function declares."""
        return [c for c in self.children if c.kind == "PARM_DECL"]

    def walk(self) -> Iterator[Node]:
        """Yield the node and all below it, in source order."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def bare(self) -> Node:
        """The expression inside parentheses and implicit conversions."""
        node = self
        while node.kind in WRAPPERS and len(node.children) == 1:
            node = node.children[0]
        return node

    def above(self) -> Iterator[Node]:
        """The nodes around this one, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def within(self, other: Node) -> bool:
        """Whether this node is ``other`` or below it."""
        return self is other or any(node is other for node in self.above())


def is_shared(node: Node) -> bool:
    """Whether a node declares a variable in shared memory."""
    return node.kind == "VAR_DECL" and any(c.kind == "CUDASHARED_ATTR" for c in node.children)


def shared_arrays(body: Node) -> tuple[str, ...]:
    """Names of the shared variables that a kernel's body declares."""
    return tuple(dict.fromkeys(n.name for n in body.walk() if is_shared(n)))
