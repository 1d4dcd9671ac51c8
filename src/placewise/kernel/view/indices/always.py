"""Numbers that are never below zero, whatever the launch: proofs that read nothing off the case's
arguments.

Known to be positive are the launch's own dimensions and what the caller names, such as the factors
of a row's width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from placewise.kernel.view.indices.interval import NO_FACTS, Facts
from placewise.kernel.view.indices.symbolic import Atom, AtomKind, Monomial, Poly

_DEEPEST = 12
"""Most atoms that are replaced by bounds one after the other."""
_DIMENSIONS = ("blockDim.", "gridDim.")


@dataclass(frozen=True)
class Always:
    """What holds in every launch in which ``positive`` atoms are at least 1."""

    positive: Monomial = ()

    def natural(self, value: Poly, facts: Facts = NO_FACTS, depth: int = 0) -> bool:
        """Whether a number is never below zero where ``facts`` hold. False where that is not
        seen."""
        if value.uniform and self._is_natural(value):
            return True
        if depth > _DEEPEST:
            return False
        for fact in facts.inequalities:
            left = value - fact
            if left != value and left.uniform and self._is_natural(left):
                return True
        return any(
            all(self.natural(one, facts, depth + 1) for one in needed)
            for needed in self._replaced(value, facts)
        )

    def _replaced(self, value: Poly, facts: Facts) -> Iterator[list[Poly]]:
        """Lists of numbers: if all of one list are never below zero, ``value`` is not either."""
        atom = _outermost(value)
        split = value.split(atom) if atom is not None else None
        if atom is None or split is None:
            return
        factor, rest = split
        upper = self._is_natural(-factor)
        if not upper and not (factor.uniform and self._is_natural(factor)):
            return
        for needed in self._bounds(atom, upper, facts):
            yield [rest + factor * bound for bound in needed]

    def _bounds(self, atom: Atom, upper: bool, facts: Facts) -> Iterator[list[Poly]]:
        """Lists of numbers, one of which the atom does not go beyond: one bound, or several of
        which any may be the one that holds."""
        for known in (facts.upper if upper else facts.lower).get(atom.key, ()):
            yield [known]
        if atom.kind is AtomKind.RANGE:
            for bound in atom.upper if upper else atom.lower:
                yield [bound]
        if atom.kind is not AtomKind.COMPOUND:
            return
        operator, operands = atom.operator, atom.operands
        if operator == ("min" if upper else "max"):
            for operand in operands:
                yield [operand]
        elif operator in ("min", "max", "select"):
            yield list(operands)
        elif operator == "abs" and not upper:
            yield [Poly()]
        elif operator in ("/", ">>", "%", "&") and self.natural(operands[0], facts, _DEEPEST):
            yield from self._quotients(operator, operands[0], operands[1], upper)

    def _quotients(
        self, operator: str, number: Poly, by: Poly, upper: bool
    ) -> Iterator[list[Poly]]:
        """Bounds of a quotient or remainder of a number that is never below zero."""
        if not self._is_natural(by):
            return
        if not upper:
            yield [Poly()]
            return
        yield [number]
        if operator == "%":
            yield [by - Poly.constant(1)]
        elif operator == "&":
            yield [by]

    def _is_natural(self, value: Poly) -> bool:
        """Whether a number that all threads of a block share is never below zero, term by term."""
        least = 0
        for monomial, number in value.terms:
            lowest = [self._lowest(atom) for atom in monomial]
            if None in lowest or (number < 0 and monomial):
                return False
            least += number * math.prod(low for low in lowest if low is not None)
        return least >= 0

    def _lowest(self, atom: Atom) -> int | None:
        """A number that an atom is never below, from 0 on; None where none is known."""
        if atom.kind is AtomKind.COMPOUND:
            natural = [self._is_natural(p) for p in atom.operands]
            known = {"abs": True, "max": any(natural), "select": False}
            return 0 if known.get(atom.operator, all(natural)) else None
        if atom in self.positive or atom.key.startswith(_DIMENSIONS):
            return 1
        return 0 if atom.key.startswith(("blockIdx.", "threadIdx.")) else None


def _outermost(value: Poly) -> Atom | None:
    """An atom that differs from thread to thread, and that no other one's bounds depend on."""
    varying = [a for a in value.atoms if not a.uniform]
    for atom in varying:
        if not any(atom in other.reaches() for other in varying if other != atom):
            return atom
    return None
