"""Bounds of index polynomials over all threads of a block, for every block of a launch.

Interval arithmetic, symbolic in what is the same for all threads of a block: varying atoms are
replaced by their bounds one after another, those whose bounds depend on others first. Where a sign
decides, it is read off the launch: bounds hold for the case's blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.view.indices.symbolic import Atom, AtomKind, Poly, compound

MOST_BOUNDS = 12
"""Bounds kept of one polynomial; more would only be tighter."""

_ELEMENTWISE: dict[str, np.ufunc] = {
    "min": np.minimum,
    "max": np.maximum,
    "&": np.bitwise_and,
    ">>": np.right_shift,
}

Numbers = NDArray[np.int64]


class Unbounded(Exception):  # noqa: N818 - an answer, not an error
    """An index has no bound; the message says why."""


@dataclass(frozen=True)
class Facts:
    """What holds at one place in the kernel, by atom: bounds from conditions around it."""

    lower: Mapping[str, tuple[Poly, ...]] = field(default_factory=dict)
    upper: Mapping[str, tuple[Poly, ...]] = field(default_factory=dict)
    inequalities: tuple[Poly, ...] = ()
    """Polynomials that are at least 0."""


NO_FACTS = Facts()


@dataclass(frozen=True)
class Bounder:
    """Bounds for one launch. ``values`` gives uniform atoms by key: numbers, or arrays that
    broadcast over the grid's blocks (z, y, x)."""

    values: Mapping[str, Numbers]
    assumed: set[str] = field(default_factory=set, compare=False)
    """Keys of what the bounds rest on beyond the sizes being positive: where a sign or the smaller
    of two was read off the launch."""
    within_period: bool = False
    """Whether ``i % n`` is bounded by the remainders of the ends of ``i``, where in every block of
    the launch no multiple of ``n`` lies between them. Such bounds hold for this launch alone."""

    def evaluate(self, poly: Poly) -> Numbers:
        """Value of a uniform polynomial in every block; raises Unbounded on a division by zero."""
        total = np.zeros((1, 1, 1), np.int64)
        for monomial, coefficient in poly.terms:
            product = np.full((1, 1, 1), coefficient, np.int64)
            for atom in monomial:
                product = product * self._atom(atom)
            total = total + product
        return total

    def _atom(self, atom: Atom) -> Numbers:
        if atom.kind is not AtomKind.COMPOUND:
            return self.values[atom.key]
        operands = [self.evaluate(p) for p in atom.operands]
        result: Numbers
        if atom.operator == "abs":
            result = np.abs(operands[0])
            return result
        a, b = operands
        if atom.operator in _ELEMENTWISE:
            result = _ELEMENTWISE[atom.operator](a, b)
            return result
        if not b.all():
            raise Unbounded("it divides by zero")
        quotient: Numbers = np.floor_divide(np.abs(a), np.abs(b)) * np.sign(a) * np.sign(b)
        return quotient if atom.operator == "/" else a - quotient * b

    def lowest(self, poly: Poly, facts: Facts = NO_FACTS) -> Numbers:
        """The tightest lower bound in every block; raises Unbounded."""
        return self._extreme(self.bounds(poly, False, facts), np.maximum)

    def highest(self, poly: Poly, facts: Facts = NO_FACTS) -> Numbers:
        """The tightest upper bound in every block; raises Unbounded."""
        return self._extreme(self.bounds(poly, True, facts), np.minimum)

    def stays_natural(self, poly: Poly, facts: Facts = NO_FACTS) -> bool:
        """Whether a number, and each operand in it, is below zero in no launch whose sizes are
        positive. Unlike :meth:`lowest`, it does not rest on how large they are in this one."""
        operands = [p for a in poly.atoms for p in a.operands]
        if not all(self.stays_natural(p, facts) for p in operands):
            return False
        always = replace(self, assumed=set(), within_period=False)
        try:
            bounds = always.bounds(poly, False, facts)
        except Unbounded:
            return False
        return not always.assumed and any(self._lowest_of(bound) >= 0 for bound in bounds)

    def _lowest_of(self, poly: Poly) -> int:
        """A number that a uniform polynomial is not below; -1 where none is seen."""
        least = 0
        for monomial, coefficient in poly.terms:
            if coefficient < 0 and monomial:
                return -1
            least += coefficient * int(all(map(self._is_positive, monomial)))
        is_natural = all(self._is_size(a) for m, _ in poly.terms for a in m)
        return least if is_natural else -1

    def _is_positive(self, atom: Atom) -> bool:
        """Whether an atom is a size: an argument or a launch dimension, at least 1 here."""
        if atom.kind is not AtomKind.UNIFORM or atom.key.startswith("blockIdx."):
            return False
        return bool((self.values[atom.key] > 0).all())

    def _extreme(self, bounds: Iterable[Poly], pick: np.ufunc) -> Numbers:
        found = [self.evaluate(b) for b in bounds]
        result = found[0]
        for other in found[1:]:
            result = pick(result, other)
        return result

    def bounds(self, poly: Poly, upper: bool, facts: Facts = NO_FACTS) -> list[Poly]:
        """Uniform polynomials that each bound ``poly`` from above or below; raises Unbounded."""
        varying = [a for a in poly.atoms if not a.uniform]
        if not varying:
            return [poly]
        direct = [fact + poly if upper else poly - fact for fact in facts.inequalities]
        found = list(dict.fromkeys(bound for bound in direct if bound.uniform))
        try:
            return [*found, *self._bounds_by_atom(poly, varying, upper, facts)][:MOST_BOUNDS]
        except Unbounded:
            if not found:
                raise
            return found

    def _bounds_by_atom(
        self, poly: Poly, varying: list[Atom], upper: bool, facts: Facts
    ) -> list[Poly]:
        """Bounds with one varying atom after the other replaced by its own."""
        atom = _outermost(varying)
        split = poly.split(atom)
        if split is None:
            raise Unbounded("it is not linear")
        coefficient, rest = split
        side = upper if self._sign(coefficient, facts) > 0 else not upper
        found: list[Poly] = []
        for bound in self._atom_bounds(atom, side, facts):
            for candidate in self.bounds(rest + coefficient * bound, upper, facts):
                if candidate not in found:
                    found.append(candidate)
        return found

    def _sign(self, coefficient: Poly, facts: Facts) -> int:
        if (self.lowest(coefficient, facts) >= 0).all():
            self._rest_on_sign(coefficient)
            return 1
        if (self.highest(coefficient, facts) <= 0).all():
            self._rest_on_sign(-coefficient)
            return -1
        raise Unbounded("a factor changes its sign")

    def _rest_on_sign(self, poly: Poly) -> None:
        """Note what makes a polynomial at least 0, unless its terms are so one by one: sizes are
        taken to be positive."""
        if all(c >= 0 for _, c in poly.terms) and all(self._is_size(a) for a in poly.atoms):
            return
        self.assumed.update(keys_of(poly))

    def _is_size(self, atom: Atom) -> bool:
        if not atom.uniform:
            return False
        if atom.kind is AtomKind.COMPOUND and atom.operator not in ("min", "max", "/", "%", ">>"):
            return atom.operator == "abs"
        if atom.kind is AtomKind.COMPOUND:
            return all(
                all(c >= 0 for _, c in p.terms) and all(self._is_size(a) for a in p.atoms)
                for p in atom.operands
            )
        return bool((self.values[atom.key] >= 0).all())

    def _atom_bounds(self, atom: Atom, upper: bool, facts: Facts) -> list[Poly]:
        """Bounds of one varying atom, possibly in terms of others."""
        known = (facts.upper if upper else facts.lower).get(atom.key, ())
        if atom.kind is AtomKind.RANGE:
            own = list(atom.upper if upper else atom.lower)
        elif atom.kind is AtomKind.COMPOUND:
            try:
                own = self._compound_bounds(atom, upper, facts)
            except Unbounded:
                if not known:
                    raise
                own = []
        else:
            own = []
        found = [*own, *known]
        if not found:
            raise Unbounded(atom.reason or "a loop has no bound that is known")
        return found

    def _compound_bounds(self, atom: Atom, upper: bool, facts: Facts) -> list[Poly]:
        operator, operands = atom.operator, atom.operands
        if operator in ("min", "max", "select"):
            return self._choice_bounds(operator, operands, upper, facts)
        if operator == "abs":
            high = self.bounds(operands[0], True, facts)[0]
            low = self.bounds(operands[0], False, facts)[0]
            return [self._simpler("max", high, -low)] if upper else [Poly()]
        number, by = operands
        if not by.uniform or not (self.evaluate(by) > 0).all():
            raise Unbounded("it divides by a value that varies or is not positive")
        if operator == "/":
            return [compound("/", b, by) for b in self.bounds(number, upper, facts)]
        if operator == ">>":
            return [compound(">>", b, by) for b in self.bounds(number, upper, facts)]
        return self._remainder_bounds(operator, number, by, upper, facts)

    def _remainder_bounds(
        self, operator: str, number: Poly, by: Poly, upper: bool, facts: Facts
    ) -> list[Poly]:
        """Bounds of ``number % by`` and ``number & by``."""
        largest = by if operator == "&" else by - Poly.constant(1)
        try:
            positive = bool((self.lowest(number, facts) >= 0).all())
            if positive:
                for bound in self.bounds(number, False, facts):
                    self._rest_on_sign(bound)
        except Unbounded:
            positive = False
        is_period = positive and operator == "%" and self.within_period
        found = self._within_period(number, by, upper, facts) if is_period else []
        if upper:
            return [*found, largest, *(self.bounds(number, True, facts) if positive else [])]
        return [*found, Poly() if positive or operator == "&" else -largest]

    def _within_period(self, number: Poly, by: Poly, upper: bool, facts: Facts) -> list[Poly]:
        """The bound of ``number % by`` where ``number``, which is at least 0, passes no multiple of
        ``by`` in any block; empty where it may."""
        lowest, highest = self.bounds(number, False, facts), self.bounds(number, True, facts)
        period = self.evaluate(by)
        for low in lowest:
            for high in highest:
                if (self.evaluate(low) // period == self.evaluate(high) // period).all():
                    self.assumed.update(keys_of(low) | keys_of(high) | keys_of(by))
                    return [compound("%", high if upper else low, by)]
        return []

    def _choice_bounds(
        self, operator: str, operands: tuple[Poly, ...], upper: bool, facts: Facts
    ) -> list[Poly]:
        """min is at most each operand, max at least each; else both operands count."""
        if operator == ("min" if upper else "max"):
            found: list[Poly] = []
            reason: Unbounded | None = None
            for operand in operands:
                try:
                    found += self.bounds(operand, upper, facts)
                except Unbounded as unbounded:
                    reason = unbounded
            if not found and reason is not None:
                raise reason
            return found
        combine = "max" if upper else "min"
        sides = [self.bounds(p, upper, facts) for p in operands]
        return [self._simpler(combine, a, b) for a in sides[0] for b in sides[1]]

    def _simpler(self, operator: str, a: Poly, b: Poly) -> Poly:
        """``min`` or ``max`` of two uniform polynomials, one of them where that holds in every
        block."""
        first, second = self.evaluate(a), self.evaluate(b)
        smaller, larger = (a, b) if operator == "min" else (b, a)
        if (first <= second).all():
            self._rest_on_sign(b - a)
            return smaller
        if (first >= second).all():
            self._rest_on_sign(a - b)
            return larger
        return compound(operator, a, b)

    def least(self, polys: Iterable[Poly]) -> Poly:
        """The smallest of uniform polynomials in every block."""
        ordered = list(dict.fromkeys(polys))
        result = ordered[0]
        for other in ordered[1:]:
            result = self._simpler("min", result, other)
        return result


def keys_of(poly: Poly) -> set[str]:
    """Keys of everything that a polynomial's value depends on."""
    return {a.key for atom in poly.atoms for a in (atom, *atom.reaches())}


def _outermost(varying: list[Atom]) -> Atom:
    """An atom that no other one's bounds depend on."""
    for atom in varying:
        if not any(atom in other.reaches() for other in varying if other != atom):
            return atom
    raise Unbounded("its bounds depend on one another")
