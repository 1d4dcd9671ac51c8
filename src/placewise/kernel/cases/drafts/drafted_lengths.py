"""How long a kernel's arrays are, as the program around it allocates them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from placewise.kernel.cases.drafts.drafted_types import DTYPES, VECTOR
from placewise.kernel.cases.drafts.host_numbers import UNKNOWN_BYTES, HostNumbers, parsed
from placewise.kernel.cases.drafts.host_text import apart, up_to_end

_ALLOCATION = re.compile(
    r"\bcudaMalloc(?:Managed|Async)?\s*(?:<[^<>;]{1,60}>)?\s*\(\s*"
    r"(?:\(\s*void\s*\*\s*\*\s*\)|reinterpret_cast\s*<\s*void\s*\*\s*\*\s*>)?\s*"
    r"\(?\s*&\s*(?P<name>\w+)\s*\)?\s*,"
)
_CAST = re.compile(r"^\(\s*(?:const\s+)?\w+\s*\*\s*\)\s*")
_SIZE_OF = re.compile(r"\bsizeof\s*\(\s*(\w+)\s*\)")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_ANY_TYPE = "element"
"""A type that is not known, as that of an array whose extents alone are looked at."""
_MOST_CALLS = 4
"""Calls through which an array is followed from its launch to where it is allocated."""
_MOST_NAMES = 3
"""Definitions that are followed, one after the other, for the type that bytes are counted in."""


@dataclass(frozen=True)
class DraftedLength:
    """Bytes of an array."""

    formula: str
    """A formula of the sizes of a case file."""
    bytes: int
    unit: int
    """What an element counts in ``formula`` where the text does not tell how large it is; 0 where
    it does."""

    def elements(self, element_bytes: int) -> str:
        """The number of elements of so many bytes each, as a formula."""
        each = self.unit or element_bytes
        tree = parsed(self.formula)
        factors = _factors(tree) if tree is not None else []
        numbers = [_number(factor) for factor in factors]
        whole = math.prod(n for n in numbers if n is not None) if factors else 0
        if not whole or whole % each:
            return f"({self.formula}) / {each}"
        rest = [ast.unparse(f) for f, n in zip(factors, numbers, strict=True) if n is None]
        if len(rest) > 1 or whole > each:
            rest = [one if one.isidentifier() else f"({one})" for one in rest]
        return " * ".join([*([str(whole // each)] if whole > each or not rest else []), *rest])


@dataclass(frozen=True)
class Allocations:
    """The allocations in a source's host code."""

    numbers: HostNumbers

    def length_of(self, argument: str, at: int, sizes: Mapping[str, str]) -> DraftedLength | None:
        """The array that is passed as ``argument`` at the offset ``at``; None where the text does
        not tell. ``sizes`` are expressions by the names they have in a case file."""
        host, name = self.numbers.host, _CAST.sub("", argument).strip()
        for _ in range(_MOST_CALLS):
            passed = host.passed(name, at) if name.isidentifier() else None
            if passed is None:
                break
            name, at = _CAST.sub("", passed[0]).strip(), passed[1]
        places = self._places.get(name, [])
        before = [place for place in places if place < at]
        for place in (*before[::-1], *places[len(before) :]):
            told = self._with_extents(up_to_end(host.text, place))
            value = self.numbers.number(told, place) if told else None
            if value is not None and value > 0:
                formula = self.numbers.formula(told, place, sizes) or str(value)
                return DraftedLength(formula, value, self._unit(told, place))
        return None

    def known_by(self, sizes: Mapping[str, str], at: int) -> dict[str, str]:
        """``sizes``, expressions at the offset ``at`` by their names in a case file, and the
        expressions that these are defined by, here or where the functions around are called."""
        known = dict(sizes)
        for told, name in sizes.items():
            expression, place = told, at
            for _ in range(_MOST_CALLS):
                named = expression.isidentifier()
                defined = self.numbers.host.definition(expression, place) if named else None
                if defined is None:
                    break
                expression, place = defined
                known.setdefault(expression.strip(), name)
        return known

    def _with_extents(self, told: str) -> str:
        """``told`` with the extents of an array of the host in place of its name in ``sizeof``."""

        def extents(match: re.Match[str]) -> str:
            name = match[1]
            array = re.search(
                rf"\b{name}\s*\[(?P<extent>[^\[\]]{{0,60}})\]\s*(?:=\s*\{{(?P<values>[^{{}}]*)\}})?",
                self.numbers.host.text,
            )
            if array is None or name in DTYPES:
                return match[0]
            extent = array["extent"].strip() or str(len(apart(array["values"] or "")))
            return f"(({extent}) * sizeof({_ANY_TYPE}))"

        return _SIZE_OF.sub(extents, told)

    def _unit(self, told: str, at: int) -> int:
        """What ``DraftedLength.unit`` says of ``told`` at the offset ``at``."""
        for _ in range(_MOST_NAMES):
            kind = _SIZE_OF.search(told)
            if kind is not None:
                known = kind[1] in DTYPES or VECTOR.fullmatch(kind[1])
                return 0 if known else UNKNOWN_BYTES
            found = [self.numbers.host.definition(name, at) for name in _NAME.findall(told)]
            defined = next((one for one in found if one and "sizeof" in one[0]), None)
            if defined is None:
                defined = found[0] if len(found) == 1 else None
            if defined is None:
                break
            told, at = defined
        return 0

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where the bytes of each name's allocations are told."""
        found: dict[str, list[int]] = {}
        for match in _ALLOCATION.finditer(self.numbers.host.text):
            found.setdefault(match["name"], []).append(match.end())
        return found


def _number(tree: ast.expr) -> int | None:
    match tree:
        case ast.Constant(value=int() as number):
            return number
    return None


def _factors(tree: ast.expr) -> list[ast.expr]:
    match tree:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_factors(left), *_factors(right)]
    return [tree]
