"""Loads of vectors from arrays of numbers, written out number by number.

``reinterpret_cast<const float4 *>(a)[i]`` becomes ``make_float4(a[4 * i], a[4 * i + 1], …)``, so
that a rewrite can follow the array where it needs the index of each element.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from placewise.kernel.view.elements import unqualified, vector_parts
from placewise.kernel.view.pointer_uses import Access, PointerVariable, Uses, element_type
from placewise.kernel.view.pointers import BY_INDEX, READ_AS, follow
from placewise.kernel.view.read_as import read_as
from placewise.kernel.view.tree.around import CASTS, PURE_CALLS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import WRAPPERS, Node
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place
from placewise.kernel.view.written_out.pieces import Piece, WrittenOut, piece, write_out
from placewise.kernel.view.written_out.pointer_roots import changes

_MEMBERS = (".x", ".y", ".z", ".w")


def write_vectors(kernel: ParsedKernel, *, wide: bool) -> WrittenOut | None:
    """The kernel's file with loads of vectors written out, of those arrays of numbers that the
    kernel reads both as numbers and as vectors, or from places between vectors; None where there
    are none. ``wide``: an index may need 64 bits; nothing is written out then."""
    pieces: list[Piece] = []
    for parameter in kernel.parameters if not wide else ():
        if parameter.type_kind != "POINTER":
            continue
        uses = follow(kernel, parameter)
        if uses.reinterpreted and read_as(kernel, parameter) is None:
            pieces += _pieces(kernel, element_type(parameter), uses)
    return write_out(kernel.text, pieces)


class _UnclearError(Exception):
    """A load of a vector that cannot be written out."""


def _pieces(kernel: ParsedKernel, element: str, uses: Uses) -> list[Piece]:
    """What to write in place of an array's loads of vectors, and of the pointers for them."""
    if set(uses.obstacles) - set(BY_INDEX) or any(
        not reason.startswith(READ_AS) for reason in uses.obstacles.values()
    ):
        return []
    if any(a.place.kind != "load" for a in uses.accesses):
        return []
    writer = _Writer(kernel.text, element)
    try:
        pieces = [writer.alias(v) for v in uses.variables[1:] if writer.lanes(v.element) > 1]
        pieces += [made for a in uses.accesses if (made := writer.access(a)) is not None]
    except _UnclearError:
        return []
    pieces.sort(key=lambda p: p.start)
    overlap = any(one.end > two.start for one, two in pairwise(pieces))
    return [] if overlap else pieces


@dataclass(frozen=True)
class _Place:
    """Where a vector lies: numbers behind a pointer to numbers."""

    pointer: str
    terms: tuple[tuple[int, str], ...]
    """Signs and texts of what is added to the pointer, in vectors."""


@dataclass(frozen=True)
class _Writer:
    text: bytes
    element: str
    """Type of the array's numbers."""

    def lanes(self, type_: str) -> int:
        """Numbers of the array in a value of a type. Raises _UnclearError where it is made of
        others."""
        if type_ == self.element:
            return 1
        numbers = vector_parts(type_)
        if numbers is None or vector_parts(self.element) != (numbers[0], 1):
            raise _UnclearError
        return numbers[1]

    def alias(self, variable: PointerVariable) -> Piece:
        """The declaration of a pointer to vectors, as one of a pointer to numbers."""
        statement = variable.declaration.parent
        value = next((c for c in variable.declaration.children if c.type_kind == "POINTER"), None)
        if variable.changed is not None or value is None or statement is None:
            raise _UnclearError
        if statement.kind != "DECL_STMT" or len(statement.children) != 1:
            raise _UnclearError
        lanes = self.lanes(variable.element)
        place = self.place(value)
        start = place.pointer + "".join(
            f" {'+' if sign > 0 else '-'} {lanes} * {text}" for sign, text in place.terms
        )
        new = f"const {self.element} *{variable.name} = {start};"
        return piece(self.text, statement.start, statement.end, new.encode())

    def access(self, access: Access) -> Piece | None:
        """A load of a vector, or of one of its members; None of a load of a number."""
        place, node = access.place, access.node
        pointee = element_type(node) if place.form == "pointer" else unqualified(node.type)
        lanes = self.lanes(pointee)
        self.check_casts(node)
        if lanes == 1:
            return None
        where = self.place(node if place.form == "pointer" else node.children[0])
        if place.form == "element":
            where = _Place(where.pointer, (*where.terms, self.term(1, node.children[1])))
        numbers = [self.number(where, lanes, lane) for lane in range(lanes)]
        read = self.text[place.end : place.member_end].strip().decode()
        if not place.intrinsic and read in _MEMBERS[:lanes]:
            new = numbers[_MEMBERS.index(read)]
            return piece(self.text, place.start, place.member_end, new.encode())
        new = f"make_{pointee}({', '.join(numbers)})"
        # ``__ldg(&v[i].x)``: the member stands inside of what is replaced.
        member = self.text[place.end : place.member_end] if place.intrinsic else b""
        return piece(self.text, place.outer_start, place.outer_end, new.encode() + member)

    def number(self, where: _Place, lanes: int, lane: int) -> str:
        """One number of a vector."""
        index = ""
        for sign, text in where.terms:
            index += f" {'+' if sign > 0 else '-'} {lanes} * {text}"
        index = index.removeprefix(" + ")
        if not index:
            index = str(lane)
        elif lane:
            index += f" + {lane}"
        return f"{where.pointer}[{index.strip()}]"

    # One branch for each kind of expression that a pointer to vectors is made of.
    def place(self, node: Node) -> _Place:
        """Where a pointer to vectors points to."""
        if node.kind == "DECL_REF_EXPR":
            return _Place(node.name, ())
        if node.kind in CASTS:
            inner = node.children[-1]
            if inner.type_kind == "POINTER" and element_type(inner) == element_type(node):
                return self.place(inner)
            return _Place(f"({self.pure(inner)})", ())
        if node.kind in WRAPPERS and len(node.children) == 1:
            return self.place(node.children[0])
        if node.kind == "BINARY_OPERATOR" and node.operator in ("+", "-"):
            left, right = node.children
            pointer, other = (left, right) if left.type_kind == "POINTER" else (right, left)
            sign = -1 if node.operator == "-" else 1
            found = self.place(pointer)
            return _Place(found.pointer, (*found.terms, self.term(sign, other)))
        if node.kind == "UNARY_OPERATOR" and node.operator == "&":
            element = node.children[0].bare()
            if element.kind == "ARRAY_SUBSCRIPT_EXPR":
                found = self.place(element.children[0])
                return _Place(found.pointer, (*found.terms, self.term(1, element.children[1])))
            if element.kind == "UNARY_OPERATOR" and element.operator == "*":
                return self.place(element.children[0])
        raise _UnclearError

    def term(self, sign: int, node: Node) -> tuple[int, str]:
        """What is added to a pointer, as a factor."""
        place = term_place(IndexTerm(sign, node), self.text)
        if place is None:
            raise _UnclearError
        self.check_pure(node)
        text = self.text[place.start : place.end].decode()
        return sign, text if text.isidentifier() or text.isdigit() else f"({text})"

    def pure(self, node: Node) -> str:
        """The text of an expression that may be evaluated several times."""
        text = self.text[node.start : node.end]
        if node.start < 0 or not text or not balanced(text):
            raise _UnclearError
        self.check_pure(node)
        self.check_casts(node)
        return text.decode()

    def check_pure(self, node: Node) -> None:
        for inner in node.walk():
            is_call = inner.kind == "CALL_EXPR" and inner.name not in PURE_CALLS
            if changes(inner) or is_call or inner.kind == "LAMBDA_EXPR":
                raise _UnclearError

    def check_casts(self, node: Node) -> None:
        """Raise _UnclearError where a pointer to numbers is made of one to vectors: what is added
        to the latter would count numbers."""
        for inner in node.walk():
            if inner.kind in CASTS and inner.type_kind == "POINTER" and inner.children:
                operand = inner.children[-1]
                if operand.type_kind == "POINTER" and element_type(operand) not in (
                    self.element,
                    element_type(inner),
                ):
                    raise _UnclearError
