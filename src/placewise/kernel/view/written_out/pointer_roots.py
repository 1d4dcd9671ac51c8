"""Which of a kernel's arrays its local pointers may point into.

A pointer that is assigned, or chosen by a condition, has an index only where all that it is made
from points into one array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.tree.around import CASTS, STEPS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import WRAPPERS, Node

FOLLOWED = WRAPPERS | CASTS - {"CXX_FUNCTIONAL_CAST_EXPR"}
"""What stands around a pointer and leaves it the pointer that it is."""
_NULL = frozenset({"CXX_NULL_PTR_LITERAL_EXPR", "GNU_NULL_EXPR"})
NOWHERE = 0
"""Stands among the identities of arrays for the null pointer."""
ELSEWHERE = -1
"""Stands among the identities of arrays for what is not known."""


@dataclass(frozen=True)
class PointerRoots:
    """Where the pointers of a kernel's body may point."""

    arrays: dict[int, frozenset[int]]
    """Identities of parameters by that of a parameter or local pointer; ``NOWHERE`` and
    ``ELSEWHERE`` among them."""
    moved: frozenset[int]
    """Parameters that the body changes."""

    def of(self, node: Node) -> frozenset[int]:
        """The arrays that an expression of pointer type may point into."""
        return frozenset(self._of(node))

    def _of(self, node: Node) -> Iterator[int]:
        if node.kind == "DECL_REF_EXPR":
            yield from self.arrays.get(node.target, (ELSEWHERE,))
        elif node.kind in _NULL or node.value == 0:
            yield NOWHERE
        else:
            made = spine(node)
            if made:
                for one in made:
                    yield from self._of(one)
            else:
                yield ELSEWHERE


def spine(node: Node) -> tuple[Node, ...]:
    """The pointers that an expression of pointer type is made from; none where it is made in a way
    that keeps no index."""
    children = node.children
    if node.kind in FOLLOWED:
        inner = children[-1] if children else None
        if inner is None or not _same_element(node, inner):
            return ()
        return (inner,)
    if node.kind == "BINARY_OPERATOR" and node.operator in ("+", "-") and len(children) == 2:
        return tuple(c for c in children if c.type_kind == "POINTER")
    if changes(node):
        return (children[1] if node.operator == "=" else children[0],)
    if node.kind == "CONDITIONAL_OPERATOR" and len(children) == 3:
        return (children[1], children[2])
    if node.kind == "UNARY_OPERATOR" and node.operator == "&":
        element = children[0].bare()
        if element.kind == "ARRAY_SUBSCRIPT_EXPR" and element.children[0].type_kind == "POINTER":
            return (element.children[0],)
        if element.kind == "UNARY_OPERATOR" and element.operator == "*":
            return (element.children[0],)
    return ()


def changes(node: Node) -> bool:
    """Whether an expression changes a variable: an assignment or a step."""
    if node.kind == "UNARY_OPERATOR":
        return node.operator in STEPS
    is_assignment = node.kind == "BINARY_OPERATOR" and node.operator == "="
    return is_assignment or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"


def pointer_roots(kernel: ParsedKernel) -> PointerRoots:
    """Where the parameters and local pointers of a kernel's body may point."""
    nodes = list(kernel.body.walk())
    parameters = [p for p in kernel.parameters if p.type_kind == "POINTER"]
    found = {p.id: frozenset({p.id}) for p in parameters}
    sources: dict[int, list[Node]] = {p.id: [] for p in parameters}
    elements = {p.id: element_type(p) for p in parameters}
    for node in nodes:
        if node.kind == "VAR_DECL" and node.type_kind == "POINTER" and _is_plain(kernel, node):
            value = next((c for c in node.children if c.type_kind in ("POINTER", "NULLPTR")), None)
            sources[node.id] = [] if value is None else [value]
            found[node.id] = frozenset()
            elements[node.id] = element_type(node)
    moved, lost = set[int](), set[int]()
    for node in nodes:
        if node.kind == "DECL_REF_EXPR" and node.target in found:
            change, value = _change(node)
            if value is not None:
                sources[node.target].append(value)
            if change is not None:
                moved.add(node.target)
            elif not _is_value(node) or _text(kernel, node) != node.name:
                lost.add(node.target)
    for identity in lost:
        found[identity] |= {ELSEWHERE}
    return PointerRoots(_closed(found, sources, elements), frozenset(moved))


def _closed(
    found: dict[int, frozenset[int]], sources: dict[int, list[Node]], elements: dict[int, str]
) -> dict[int, frozenset[int]]:
    """The arrays of every pointer, also by way of other pointers."""
    changed = True
    while changed:
        changed = False
        reached = PointerRoots(found, frozenset())
        for identity, values in sources.items():
            arrays = found[identity].union(*(reached.of(v) for v in values))
            known = {elements[a] for a in arrays if a in elements}
            if known - {elements[identity]}:
                arrays |= {ELSEWHERE}
            if arrays != found[identity]:
                found[identity] = arrays
                changed = True
    return found


def _change(node: Node) -> tuple[Node | None, Node | None]:
    """The expression that changes a named pointer, and what it is set to; None for what there is
    none of."""
    around = node.parent
    while around is not None and around.kind == "PAREN_EXPR":
        node, around = around, around.parent
    if around is None or not around.children or around.children[0] is not node:
        return None, None
    if not changes(around):
        return None, None
    return around, around.children[1] if around.operator == "=" else None


def _is_value(node: Node) -> bool:
    """Whether a name stands for its value, and not for the variable itself."""
    around = node.parent
    while around is not None and around.kind in ("PAREN_EXPR", "CONDITIONAL_OPERATOR"):
        node, around = around, around.parent
    return around is not None and (around.kind == "UNEXPOSED_EXPR" or _is_capture(node, around))


def _is_capture(node: Node, around: Node) -> bool:
    """Whether it is the capture that ``[&]`` implies: no text of its own."""
    return around.kind == "LAMBDA_EXPR" and not any(
        start <= node.start < end for start, end in _captures(around)
    )


def _captures(function: Node) -> Iterable[tuple[int, int]]:
    """The range of a lambda's list of captures, as far as its first parameter or its body."""
    inner = [c.start for c in function.children if c.kind in ("PARM_DECL", "COMPOUND_STMT")]
    if inner:
        yield function.start, min(inner)


def _is_plain(kernel: ParsedKernel, declaration: Node) -> bool:
    """Whether a local variable is one of each thread, declared in a statement of its own or with
    others."""
    statement = declaration.parent
    if statement is None or statement.kind != "DECL_STMT" or declaration.start < 0:
        return False
    head = kernel.text[statement.start : declaration.location]
    words = (b"static", b"extern", b"__shared__", b"__constant__", b"volatile")
    return not any(word in head for word in words) and "volatile" not in declaration.type


def _same_element(node: Node, inner: Node) -> bool:
    if inner.kind in _NULL or inner.value == 0:
        return True
    return inner.type_kind == "POINTER" and element_type(node) == element_type(inner)


def _text(kernel: ParsedKernel, node: Node) -> str:
    return kernel.text[node.start : node.end].decode(errors="replace")
