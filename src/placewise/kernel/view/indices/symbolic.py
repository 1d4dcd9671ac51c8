"""Index expressions as polynomials with whole-number coefficients.

The atoms are what an index is made of: block and grid shape and scalar arguments (the same for all
threads of a block), thread indices and loop variables (bounded), quotients, remainders, minima
(bounded by their operands), and what is not known. Equal sub-expressions are equal atoms, so that
sums cancel and pitches can be recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class AtomKind(StrEnum):
    """What is known of an atom's value."""

    UNIFORM = "uniform"
    """Equal in all threads of a block: a launch dimension, a block index, a scalar argument."""
    RANGE = "range"
    """Between ``lower`` and ``upper``."""
    COMPOUND = "compound"
    """``operator`` applied to ``operands``."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Atom:
    """One factor of a monomial; atoms with the same key have the same value."""

    key: str
    kind: AtomKind = field(compare=False)
    text: str = field(compare=False, default="")
    """C++ expression of type int, for uniform atoms."""
    lower: tuple[Poly, ...] = field(compare=False, default=())
    """Values that a range never goes below."""
    upper: tuple[Poly, ...] = field(compare=False, default=())
    operator: str = field(compare=False, default="")
    operands: tuple[Poly, ...] = field(compare=False, default=())
    reason: str = field(compare=False, default="")
    """Why nothing is known."""

    @property
    def uniform(self) -> bool:
        """Whether all threads of a block have the same value."""
        if self.kind is AtomKind.COMPOUND:
            return self.operator != "select" and all(p.uniform for p in self.operands)
        return self.kind is AtomKind.UNIFORM

    def reaches(self) -> Iterator[Atom]:
        """Atoms that its bounds depend on, itself apart."""
        for poly in (*self.lower, *self.upper, *self.operands):
            for atom in poly.atoms:
                yield atom
                yield from atom.reaches()


_CONVERTED = re.compile(r"int\([\w.]+\)")

Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Poly:
    """Sum of coefficient times monomial, in a fixed order, without zero coefficients."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def of(cls, terms: dict[Monomial, int]) -> Poly:
        """The sum of ``terms``, coefficients by monomial."""
        kept = [(m, c) for m, c in terms.items() if c]
        return cls(tuple(sorted(kept, key=lambda t: tuple(a.key for a in t[0]))))

    @classmethod
    def constant(cls, value: int) -> Poly:
        """A number."""
        return cls.of({(): value})

    @classmethod
    def atom(cls, atom: Atom) -> Poly:
        """One atom alone."""
        return cls.of({(atom,): 1})

    def __add__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _rejoined(Poly.of(terms))

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in other.terms:
                monomial = tuple(sorted((*m1, *m2), key=lambda a: a.key))
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Poly.of(terms)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All atoms of the monomials, each once."""
        return tuple({a.key: a for m, _ in self.terms for a in m}.values())

    @property
    def uniform(self) -> bool:
        """Whether all threads of a block have the same value."""
        return all(a.uniform for a in self.atoms)

    @property
    def value(self) -> int | None:
        """The number where it is a constant."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    def split(self, atom: Atom) -> tuple[Poly, Poly] | None:
        """``(coefficient, rest)`` with ``self == coefficient * atom + rest``; None where the atom
        occurs to a higher power."""
        coefficient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, number in self.terms:
            count = monomial.count(atom)
            if count > 1:
                return None
            if count:
                without = tuple(a for a in monomial if a != atom)
                coefficient[without] = coefficient.get(without, 0) + number
            else:
                rest[monomial] = number
        return Poly.of(coefficient), Poly.of(rest)

    def contains(self, monomial: Monomial) -> bool:
        """Whether every term has all atoms of ``monomial``."""
        return bool(self.terms) and all(_divides(monomial, m) for m, _ in self.terms)

    def lacks(self, monomial: Monomial) -> bool:
        """Whether no term has all atoms of ``monomial``."""
        return not any(
            all(m.count(a) >= monomial.count(a) for a in monomial) for m, _ in self.terms
        )

    @property
    def key(self) -> str:
        """Text that is equal for equal polynomials."""
        return "+".join(f"{c}*{'*'.join(a.key for a in m)}" for m, c in self.terms) or "0"

    @property
    def text(self) -> str:
        """C++ expression of a uniform polynomial, of type int."""
        ordered = sorted(self.terms, key=lambda t: (t[1] < 0, not t[0]))
        pieces: list[str] = []
        for monomial, coefficient in ordered:
            size = abs(coefficient)
            factors = _factors(monomial)
            if size != 1 or not factors:
                factors.insert(0, str(size))
            product = " * ".join(factors)
            if coefficient < 0:
                pieces.append(f"- {product}" if pieces else f"-{product}")
            else:
                pieces.append(f"+ {product}" if pieces else product)
        return " ".join(pieces) or "0"


def _rejoined(poly: Poly) -> Poly:
    """``poly`` with ``x`` in place of ``x / n * n + x % n``, as in an index that the source divides
    into row and column and adds up again. Multiples count, too: ``x / n * n * p + x % n * p`` is
    ``x * p``."""
    for monomial, coefficient in poly.terms:
        for remainder in monomial:
            if remainder.operator != "%":
                continue
            number, divisor = remainder.operands
            others = list(monomial)
            others.remove(remainder)
            factor = Poly.of({tuple(others): coefficient})
            quotients = [compound("/", number, divisor)]
            if (inner := _quotient(number)) is not None:
                # ``x / a / b`` may stand as ``x / (a * b)``.
                quotients.append(compound("/", inner[0], inner[1] * divisor))
            for quotient in quotients:
                multiple = factor * divisor * quotient
                if len(multiple.terms) == 1 and multiple.terms[0] in poly.terms:
                    return poly - multiple - factor * Poly.atom(remainder) + factor * number
    return poly


def _divides(divisor: Monomial, monomial: Monomial) -> bool:
    return all(monomial.count(a) >= divisor.count(a) for a in divisor)


def _factors(monomial: Monomial) -> list[str]:
    """Factors of a product; what is of an unsigned type is multiplied in one conversion to int."""
    texts = [_factor(a) for a in monomial]
    unsigned = sorted((t[4:-1] for t in texts if _CONVERTED.fullmatch(t)), reverse=True)
    others = [t for t in texts if not _CONVERTED.fullmatch(t)]
    return [*([f"int({' * '.join(unsigned)})"] if unsigned else []), *others]


def _factor(atom: Atom) -> str:
    if atom.kind is not AtomKind.COMPOUND:
        return atom.text
    texts = [p.text for p in atom.operands]
    if atom.operator in ("min", "max", "abs"):
        return f"{atom.operator}({', '.join(texts)})"
    left, right = atom.operands
    first = texts[0] if len(left.terms) < 2 else f"({texts[0]})"
    second = texts[1] if _single(right) or right.value is not None else f"({texts[1]})"
    return f"({first} {atom.operator} {second})"


def _single(poly: Poly) -> bool:
    """Whether a polynomial is one atom alone, whose text is one factor."""
    return len(poly.terms) == 1 and poly.terms[0][1] == 1 and len(poly.terms[0][0]) == 1


def uniform(key: str, text: str) -> Poly:
    """A value that all threads of a block share."""
    return Poly.atom(Atom(key, AtomKind.UNIFORM, text))


def ranged(key: str, lower: tuple[Poly, ...], upper: tuple[Poly, ...], reason: str = "") -> Poly:
    """A value between bounds; ``reason`` says why where a bound is missing."""
    return Poly.atom(Atom(key, AtomKind.RANGE, lower=lower, upper=upper, reason=reason))


def unknown(key: str, reason: str) -> Poly:
    """A value of which nothing is known."""
    return Poly.atom(Atom(key, AtomKind.UNKNOWN, reason=reason))


def compound(operator: str, *operands: Poly) -> Poly:
    """``/``, ``%``, ``&``, ``>>``, ``min``, ``max``, ``abs`` or ``select`` of operands; what can
    be computed is."""
    numbers = [p.value for p in operands]
    if operator != "select" and all(n is not None for n in numbers):
        found = apply(operator, *[n for n in numbers if n is not None])
        if found is not None:
            return Poly.constant(found)
    if operator == "/" and numbers[1] is not None and numbers[1] > 0:
        divisor = numbers[1]
        if all(c % divisor == 0 for _, c in operands[0].terms):
            return Poly.of({m: c // divisor for m, c in operands[0].terms})
    if operator in ("min", "max", "select") and operands[0] == operands[1]:
        return operands[0]
    key = f"({operator} {' '.join(p.key for p in operands)})"
    return Poly.atom(Atom(key, AtomKind.COMPOUND, operator=operator, operands=operands))


def _quotient(poly: Poly) -> tuple[Poly, Poly] | None:
    """(dividend, divisor) of a polynomial that is one quotient alone; None for any other."""
    if _single(poly):
        (atom,) = poly.terms[0][0]
        if atom.operator == "/":
            return atom.operands[0], atom.operands[1]
    return None


def apply(operator: str, *values: int) -> int | None:
    """C++'s result for whole numbers, None for a division by zero."""
    if operator == "abs":
        return abs(values[0])
    a, b = values
    if operator in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - quotient * b
    return {"min": min(a, b), "max": max(a, b), "&": a & b}.get(
        operator, a >> b if operator == ">>" and 0 <= b < 64 else None
    )
