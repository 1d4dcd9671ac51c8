"""Row and column of an index: ``row * pitch + column`` taken apart in the source's own text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from placewise.kernel.source import Term
from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.loops import loop_of
from placewise.kernel.view.indices.symbolic import AtomKind, Monomial, Poly
from placewise.kernel.view.indices.values import BUILTINS, Values
from placewise.kernel.view.pointer_uses import Access, PointerVariable
from placewise.kernel.view.tree.around import initial_values
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import IndexTerm, term_place

_LARGEST_PITCHES = 4
"""Pitches tried per array; more would need an index of more dimensions."""


@dataclass(frozen=True)
class Pitch:
    """Elements between rows: a product of launch dimensions and scalars, or a number, or both."""

    poly: Poly
    monomial: Monomial
    """The factors beside the number; empty for a number alone."""
    number: int
    """The number, 1 for a product alone."""

    def quotient(self, poly: Poly) -> int | None:
        """``poly / pitch`` where that is a whole number other than 0."""
        if self.monomial:
            count = next((c for m, c in poly.terms if m == self.monomial), 0) // self.number
        else:
            count = (poly.value or 0) // self.number
        return count if count and poly == self.poly * Poly.constant(count) else None

    def divides(self, poly: Poly) -> bool:
        """Whether every term is a multiple of the pitch."""
        if self.monomial and not poly.contains(self.monomial):
            return False
        return bool(poly.terms) and all(c % self.number == 0 for _, c in poly.terms)

    def absent(self, poly: Poly, *, varying: bool = False) -> bool:
        """Whether no term is a multiple of the pitch; with ``varying``, no term that differs from
        thread to thread."""
        terms = [(m, c) for m, c in poly.terms if m and not (varying and all(a.uniform for a in m))]
        if self.monomial:
            multiples = tuple((m, c) for m, c in terms if c % self.number == 0)
            return Poly(multiples).lacks(self.monomial)
        return all(c % self.number for _, c in terms)


@dataclass
class IndexSplit:
    """An index as row and column, as values and as terms of the source."""

    row: Poly = field(default_factory=Poly)
    column: Poly = field(default_factory=Poly)
    row_terms: tuple[Term, ...] = ()
    column_terms: tuple[Term, ...] = ()
    whole_rows: bool = True
    """Bare multiples of the pitch are rows."""


def pitches(indices: Sequence[Poly]) -> list[Pitch]:
    """Factors of varying terms that can be a pitch: uniform products, and numbers above 1; after
    these, uniform products with their number."""
    found: dict[str, Pitch] = {}
    multiples: dict[str, Pitch] = {}
    for index in indices:
        for monomial, coefficient in index.terms:
            shared = tuple(a for a in monomial if a.uniform)
            if len(shared) == len(monomial):
                continue
            if shared:
                product = Poly.of({shared: 1})
                found.setdefault(product.key, Pitch(product, shared, 1))
                if abs(coefficient) > 1:
                    multiple = Poly.of({shared: abs(coefficient)})
                    multiples.setdefault(multiple.key, Pitch(multiple, shared, abs(coefficient)))
            elif abs(coefficient) > 1:
                number = Poly.constant(abs(coefficient))
                found.setdefault(number.key, Pitch(number, (), abs(coefficient)))
    return [
        *list(found.values())[:_LARGEST_PITCHES],
        *list(multiples.values())[:_LARGEST_PITCHES],
    ]


def index_terms(access: Access) -> tuple[IndexTerm, ...]:
    """All summands of an access's index, those of the local pointers it goes through first.

    Raises Unbounded where such a pointer moves.
    """
    terms = list(access.terms)
    variable: PointerVariable | None = access.variable
    while variable is not None:
        if variable.changed is not None:
            raise Unbounded(f"the pointer '{variable.name}' moves (line {variable.changed})")
        terms = [*variable.terms, *terms]
        variable = variable.base
    return tuple(terms)


def split_index(
    values: Values, access: Access, pitch: Pitch, *, whole_rows: bool = True,
) -> IndexSplit | None:  # fmt: skip
    """Row and column of an access under ``pitch``; None where the text does not show them.

    A bare multiple of the pitch counts as rows, or with ``whole_rows`` False as columns, as in
    ``i * m + m - 1 - k``.
    """
    result = IndexSplit(whole_rows=whole_rows)
    for term in index_terms(access):
        if term not in access.terms and not _means_the_same(values, term.node):
            return None
        if not _take(values, term, pitch, result):
            return None
    places = sorted((*result.row_terms, *result.column_terms), key=lambda t: t.start)
    # Terms that overlap in the text come from one macro and cannot be told apart.
    if any(a.end > b.start for a, b in pairwise(places)):
        return None
    return result


def all_in_columns(values: Values, access: Access) -> tuple[Term, ...] | None:
    """The whole index of an access as terms of the source; None where the text does not show them.

    Raises Unbounded where a local pointer that it goes through moves.
    """
    result = IndexSplit()
    for term in index_terms(access):
        if term not in access.terms and not _means_the_same(values, term.node):
            return None
        if not _add(values, term, result, row=False):
            return None
    return result.column_terms


def _take(values: Values, term: IndexTerm, pitch: Pitch, result: IndexSplit) -> bool:
    """Add a summand to the row or the column, going into sums and definitions."""
    value = values.value(term.node)
    inner = term.node.bare()
    count = pitch.quotient(value) if result.whole_rows else None
    if count is not None:
        rows = Term(term.sign, term.node.start, term.node.end, False, literal=str(count))
        result.row = result.row + Poly.constant(term.sign * count)
        result.row_terms = (*result.row_terms, rows)
        return True
    if pitch.absent(value):
        return _add(values, term, result, row=False)
    if inner.kind == "BINARY_OPERATOR" and inner.operator in ("+", "-"):
        left, right = inner.children
        sign = term.sign if inner.operator == "+" else -term.sign
        return _take(values, IndexTerm(term.sign, left), pitch, result) and _take(
            values, IndexTerm(sign, right), pitch, result
        )
    if inner.kind == "BINARY_OPERATOR" and inner.operator == "*" and pitch.divides(value):
        for factors in (list(inner.children), _factors(inner)):
            for row in factors:
                others = [values.value(f) for f in factors if f is not row]
                if _product(others) == pitch.poly:
                    return _add(values, IndexTerm(term.sign, row), result, row=True)
    if inner.kind == "DECL_REF_EXPR":
        definition = _definition(values, inner)
        if definition is not None:
            return _take(values, IndexTerm(term.sign, definition), pitch, result)
    return pitch.absent(value, varying=True) and _add(values, term, result, row=False)


def _factors(product: Node) -> list[Node]:
    """Factors of ``a * b * c``, in their order."""
    inner = product.bare()
    if inner.kind == "BINARY_OPERATOR" and inner.operator == "*":
        return [f for child in inner.children for f in _factors(child)]
    return [product]


def _product(polys: Sequence[Poly]) -> Poly:
    result = Poly.constant(1)
    for poly in polys:
        result = result * poly
    return result


def _add(values: Values, term: IndexTerm, result: IndexSplit, *, row: bool) -> bool:
    node = term.node
    if node.parent is None or node.parent.kind != "ARRAY_SUBSCRIPT_EXPR":
        # Without its parentheses, a macro's argument stands where the macro is used.
        node = node.bare()
    place = term_place(IndexTerm(term.sign, node), values.kernel.text)
    if place is None:
        return False
    value = values.value(term.node)
    value = value if term.sign > 0 else -value
    if row:
        result.row, result.row_terms = result.row + value, (*result.row_terms, place)
    else:
        result.column = result.column + value
        result.column_terms = (*result.column_terms, place)
    return True


def _definition(values: Values, reference: Node) -> Node | None:
    """The initialiser of a variable that never changes, if its text means the same later on."""
    declaration = values.locals.get(reference.target)
    if declaration is None or reference.target in values.changes:
        return None
    initial = initial_values(declaration)
    return initial[-1] if initial and _means_the_same(values, initial[-1]) else None


def _means_the_same(values: Values, expression: Node) -> bool:
    """Whether the text of an expression keeps its value later on: it reads no memory, and no name
    in it changes, the step of a loop around it apart, or is declared twice."""
    for node in expression.walk():
        if node.kind in ("CALL_EXPR", "ARRAY_SUBSCRIPT_EXPR") or (
            node.kind == "UNARY_OPERATOR" and node.operator == "*"
        ):
            return False
        if node.kind == "MEMBER_REF_EXPR" and any(
            a.kind is AtomKind.UNKNOWN for a in values.value(node).atoms
        ):
            return False
        if node.kind != "DECL_REF_EXPR" or node.name in BUILTINS:
            continue
        if values.names[node.name] > 1:
            return False
        if node.target in values.changes:
            loop = loop_of(values, node)
            if loop is None or not expression.within(loop.children[-1]):
                return False
    return True
