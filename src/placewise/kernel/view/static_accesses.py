"""Read the accesses of one thread off a kernel's source (Peng, Grossman and Sarkar 2016, IV-B).

Branches are all taken, in the order of the text; the bodies of called functions are not looked
into. What was assumed is part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from placewise.kernel.cases.case import Case
from placewise.kernel.static_accesses import (
    StaticAccess,
    StaticIndex,
    StaticLoop,
    StaticProgram,
)
from placewise.kernel.view.indices.loops import count_of
from placewise.kernel.view.indices.symbolic import AtomKind, Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.tile import make_bounder
from placewise.kernel.view.tree.clang import parse_kernel
from placewise.kernel.view.tree.node import Node

_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT")
_THREAD = "threadIdx.x"
Item = StaticAccess | StaticLoop


def static_accesses(case: Case) -> StaticProgram:
    """The accesses of one thread of the case's kernel to arrays that are its parameters.

    The case's launch and the values of its whole-number arguments decide nothing but signs; its
    arguments must have their parameters' names. Raises UnsupportedError where the kernel's
    definition cannot be found.
    """
    kernel = parse_kernel(case)
    values = Values(kernel, make_bounder(case.launch, case.inputs))
    pointers = {p.id: p for p in kernel.parameters if p.type_kind == "POINTER"}
    reader = _Reader(values, pointers)
    body = tuple(reader.items(kernel.body))
    return StaticProgram(body, tuple(dict.fromkeys(reader.assumed)))


@dataclass
class _Reader:
    """Walks the syntax tree in the order of execution."""

    values: Values
    pointers: dict[int, Node]
    assumed: list[str] = field(default_factory=list)

    def items(self, node: Node) -> Iterator[Item]:
        """Accesses and loops of a statement or expression, in the order in which they run."""
        if node.kind in _LOOPS:
            yield self.loop(node)
            return
        if node.kind == "IF_STMT" and len(node.children) > 1:
            self.assumed.append(f"the branch in line {node.line} is taken")
        if node.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") and (
            node.operator == "=" or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        ):
            yield from self.assignment(node)
            return
        found = self.access(node)
        if found is not None:
            for child in self.indices(node):
                yield from self.items(child)
            yield found
            return
        if node.kind == "CALL_EXPR" and any(
            f.id == node.target for f in self.values.kernel.functions
        ):
            self.assumed.append(f"'{node.name}' accesses no array itself (line {node.line})")
        for child in node.children:
            yield from self.items(child)

    def assignment(self, node: Node) -> Iterator[Item]:
        """The right side, then the left one, which is loaded first by ``+=`` and its like."""
        left, right = node.children
        yield from self.items(right)
        target = self.access(left.bare(), is_store=True)
        if target is None:
            yield from self.items(left)
            return
        for child in self.indices(left.bare()):
            yield from self.items(child)
        if node.operator != "=":
            loaded = self.access(left.bare())
            assert loaded is not None, "what can be stored to can be loaded"
            yield loaded
        yield target

    def loop(self, node: Node) -> StaticLoop:
        """A loop with the accesses of its body."""
        body = tuple(item for child in node.children for item in self.items(child))
        name, length = f"line {node.line}", None
        count = count_of(self.values, node) if node.kind == "FOR_STMT" else None
        if count is not None:
            name = _loop_key(count.variable, node)
            stride = count.stepping.stride
            spans = [limit - count.first for limit in count.stepping.limits]
            known = [p.terms[0][1] if p.terms else 0 for p in spans if not p.atoms]
            if stride and known:
                length = max(0, min(known) // stride + 1)
        if length is None:
            self.assumed.append(f"the loop in line {node.line} has an unknown length")
        return StaticLoop(name, length, body, node.line)

    def indices(self, node: Node) -> list[Node]:
        """Index expressions of an access, which may have accesses of their own."""
        place = node.children[0].bare() if node.kind == "MEMBER_REF_EXPR" else node
        return place.children[1:] if place.kind == "ARRAY_SUBSCRIPT_EXPR" else []

    def access(self, node: Node, *, is_store: bool = False) -> StaticAccess | None:
        """The access that an expression is; None where it is none to a parameter's array."""
        name, place = "", node
        if node.kind == "MEMBER_REF_EXPR" and node.children:
            name, place = node.name, node.children[0].bare()
        if place.kind != "ARRAY_SUBSCRIPT_EXPR" or len(place.children) != 2:
            return None
        base = place.children[0].bare()
        pointer = self.pointers.get(base.target)
        if pointer is None or (not name and place.type_kind == "RECORD"):
            return None
        index = self.index(self.values.value(place.children[1]))
        if index.opaque:
            self.assumed.append(f"an index in line {node.line} is not analysable")
        return StaticAccess(pointer.name, name, is_store, index, node.line)

    def index(self, poly: Poly) -> StaticIndex:
        """An index's polynomial by what its symbols are."""
        thread: int | None = 0
        uniform: dict[str, int] = {}
        loops: dict[str, int | None] = {}
        constant, opaque = 0, False
        for monomial, coefficient in poly.terms:
            keys = [atom.key for atom in monomial]
            if not monomial:
                constant = coefficient
                continue
            if keys == [_THREAD]:
                thread = coefficient if thread is not None else None
                continue
            uniform["*".join(keys)] = coefficient
            for key in keys:
                if key.startswith("loop "):
                    loops[key] = coefficient if len(keys) == 1 and key not in loops else None
            known = all(a.uniform or a.key.startswith("loop ") for a in monomial)
            if not known:
                thread = None
                opaque |= any(atom.kind is AtomKind.UNKNOWN for atom in monomial)
        return StaticIndex(
            thread, tuple(sorted(uniform.items())), tuple(sorted(loops.items())), constant, opaque
        )


def _loop_key(variable: int, loop: Node) -> str:
    """The key of the atom that stands for a loop's variable inside it."""
    return f"loop {variable} {id(loop)}"
