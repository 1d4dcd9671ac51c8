"""Read the accesses of one thread off a kernel's source (Peng, Grossman and Sarkar 2016, IV-B).

Branches are all taken, in the order of the text. Functions that get arrays are followed where they
can be written out in place of their calls. What was assumed is part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from placewise.kernel.view.tree.around import STEPS, outside
from placewise.kernel.view.tree.clang import parse_kernel
from placewise.kernel.view.tree.node import LOOPS, Node
from placewise.kernel.view.written_out.all_levels import written_out
from placewise.kernel.view.written_out.pointer_roots import PointerRoots, pointer_roots
from placewise.space import LOAD_FUNCTIONS

_ADDRESSES = ("POINTER", "LVALUEREFERENCE")
_WORD = 4
"""Bytes of an element whose size libclang does not give."""
_THREAD = "threadIdx.x"
Item = StaticAccess | StaticLoop


def static_accesses(case: Case) -> StaticProgram:
    """The accesses of one thread of the case's kernel to arrays that are its parameters.

    An element that is read or written as a whole counts as an access to each of its fields. The
    case's launch and the values of its whole-number arguments decide nothing but signs; its
    arguments must have their parameters' names. Raises UnsupportedError where the kernel's
    definition cannot be found.
    """
    kernel = parse_kernel(case)
    found = written_out(case, kernel)
    if found is not None:
        kernel = found[1]
    values = Values(kernel, make_bounder(case.launch, case.inputs))
    fields = {d.parameter: d.record.names for d in kernel.records}
    reader = _Reader(values, pointer_roots(kernel), fields)
    body = tuple(reader.items(kernel.body))
    return StaticProgram(body, tuple(dict.fromkeys(reader.assumed)))


@dataclass(frozen=True)
class _Place:
    """What an expression names in memory."""

    array: str
    field: str
    """Empty for an element as a whole."""
    index: Poly
    element: Node
    """The expression of the element."""


@dataclass
class _Reader:
    """Walks the syntax tree in the order of execution."""

    values: Values
    roots: PointerRoots
    fields: Mapping[str, tuple[str, ...]]
    """Names of the fields, by the parameter that is an array of structs."""
    assumed: list[str] = field(default_factory=list)

    def items(self, node: Node) -> Iterator[Item]:
        """Accesses and loops of a statement or expression, in the order in which they run."""
        if node.kind in LOOPS:
            yield self.loop(node)
            return
        if node.kind == "IF_STMT" and len(node.children) > 1:
            self.assumed.append(f"the branch in line {node.line} is taken")
        if _assigns(node):
            yield from self.assignment(node)
            return
        if node.kind == "UNARY_OPERATOR" and node.operator == "&" and not _reads_address(node):
            yield from self.indices(node.children[0].bare())
            return
        if node.kind == "VAR_DECL" and node.type_kind == "LVALUEREFERENCE" and node.children:
            yield from self.indices(node.children[-1].bare())
            return
        place = self.place(node)
        if place is not None:
            yield from self.indices(node)
            yield from self.accesses(place, is_store=False)
            around = node.parent
            if around is not None and around.kind == "UNARY_OPERATOR" and around.operator in STEPS:
                yield from self.accesses(place, is_store=True)
            return
        self.check_call(node)
        for child in node.children:
            yield from self.items(child)

    def check_call(self, node: Node) -> None:
        """Note a function that gets pointers and is not looked into."""
        if node.kind != "CALL_EXPR":
            return
        called = (f for f in self.values.kernel.functions if f.id == node.target)
        if any(c.type_kind in _ADDRESSES for f in called for c in f.children):
            self.assumed.append(f"'{node.name}' accesses no array itself (line {node.line})")

    def assignment(self, node: Node) -> Iterator[Item]:
        """The right side, then the left one, which is loaded first by ``+=`` and its like."""
        left, right = node.children[0], node.children[-1]
        yield from self.items(right)
        target = self.place(left.bare())
        if target is None:
            yield from self.items(left)
            return
        yield from self.indices(left.bare())
        if node.operator != "=" and node.kind != "CALL_EXPR":
            yield from self.accesses(target, is_store=False)
        yield from self.accesses(target, is_store=True)

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

    def indices(self, node: Node) -> Iterator[Item]:
        """What the index expressions of a place access themselves."""
        while node.kind in ("MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR"):
            if node.kind == "ARRAY_SUBSCRIPT_EXPR":
                yield from self.items(node.children[1])
            if not node.children:
                return
            node = node.children[0].bare()
        if node.type_kind == "POINTER":
            yield from self.items(node)

    def place(self, node: Node) -> _Place | None:
        """The place in a parameter's array that an expression is; None where it is none."""
        member, inner = "", node
        while True:
            base = inner.children[0].bare() if inner.children else inner
            if inner.kind == "ARRAY_SUBSCRIPT_EXPR" and base.type_kind != "POINTER":
                # An element of an array that is a field: the field is one.
                if base.kind not in ("MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR"):
                    return None
                inner = base
            elif inner.kind == "MEMBER_REF_EXPR" and inner.children:
                member, inner = inner.name, base
                if inner.type_kind == "POINTER":
                    return self.pointed(inner, None, member, node)
            else:
                break
        inner = self.referred(inner)
        if inner.kind == "ARRAY_SUBSCRIPT_EXPR":
            return self.pointed(inner.children[0], inner.children[1], member, inner)
        if inner.kind == "UNARY_OPERATOR" and inner.operator == "*":
            return self.pointed(inner.children[0], None, member, inner)
        return None

    def referred(self, node: Node) -> Node:
        """The element that a local reference is bound to; any other expression itself."""
        declared = self.values.locals.get(node.target) if node.kind == "DECL_REF_EXPR" else None
        if declared is None or declared.type_kind != "LVALUEREFERENCE" or not declared.children:
            return node
        return self.referred(declared.children[-1].bare())

    def pointed(
        self, pointer: Node, index: Node | None, member: str, element: Node
    ) -> _Place | None:
        """The element at an index from a pointer, or its ``member``."""
        arrays = self.roots.of(pointer)
        name = next((p.name for p in self.values.kernel.parameters if {p.id} == arrays), None)
        if name is None:
            self.assumed.append(
                f"which array the pointer in line {pointer.line} points into is not followed: its "
                "accesses are left out"
            )
            return None
        poly = self.values.value(pointer)
        return _Place(
            name, member, poly if index is None else poly + self.values.value(index), element
        )

    def accesses(self, place: _Place, *, is_store: bool) -> Iterator[StaticAccess]:
        """The accesses that reading or writing a place is: one, or one to each field."""
        index, line = self.index(place.index), place.element.line
        if index.opaque:
            self.assumed.append(f"an index in line {line} is not analysable")
        whole = self.fields.get(place.array, ()) or ("",)
        for name in (place.field,) if place.field else whole:
            size = place.element.size or _WORD
            yield StaticAccess(place.array, name, is_store, index, line, size)

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


def _assigns(node: Node) -> bool:
    """Whether an expression assigns to its first operand; a struct's assignment is a call."""
    if node.kind == "CALL_EXPR":
        return node.name == "operator=" and len(node.children) > 1
    return node.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or (
        node.kind == "BINARY_OPERATOR" and node.operator == "="
    )


def _reads_address(node: Node) -> bool:
    """Whether an address is taken for a function that reads what is there: a load, an atomic."""
    call = outside(node)
    return (
        call is not None
        and call.kind == "CALL_EXPR"
        and (call.name in LOAD_FUNCTIONS or call.name.startswith("atomic"))
    )


def _loop_key(variable: int, loop: Node) -> str:
    """The key of the atom that stands for a loop's variable inside it."""
    return f"loop {variable} {id(loop)}"
