"""Where the text of host code defines its names.

Nothing is compiled. A parameter of a function is what the function's first call passes. Else scopes
are not looked at: of several definitions of a name the last before its use counts, or the first
after it.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

LONGEST = 200
"""Most characters of an expression."""
_MOST_DEFINITIONS = 100
"""Definitions of one name that are looked at."""
_DEFINITION = re.compile(r"(?<![\w.>])(\w+)\s*=(?!=)[ \t]*|#[ \t]*define[ \t]+(\w+)[ \t]+")
_DIM3 = re.compile(r"\bdim3\s+(?=\w+\s*[({])")
_DECLARED = re.compile(r"\s*(\w+)\s*(?=[({])")
_FUNCTION = re.compile(r"\b(\w+)\s*\(([^(){};]{0,400})\)\s*\{")
_STATEMENTS = ("if", "while", "for", "switch", "catch", "constexpr")
_DECLARATION = re.compile(
    r"(?:const\s+)?(?:(?:[\w:]+\s+)+\w+(?:\s*=.*)?|int|unsigned|size_t|long|short)", re.DOTALL
)
"""A parameter in a prototype, which is no call."""
_ARGUMENTS = re.compile(r"((?:[^;{}()]|\((?:[^;{}()]|\([^;{}()]{0,99}\)){0,200}\)){0,999})\)")
_LOOP = re.compile(r"\bfor\s*\([^;{}]{0,60}$")


@dataclass(frozen=True)
class Loop:
    """The header of a loop over one variable."""

    first: str
    """The expression that it starts from."""
    end: str
    """The expression that it stays below; empty where it does not count up."""
    takes_end: bool
    """Whether it takes the end, too."""
    at: int
    """Offset of the header in the text."""


@dataclass(frozen=True)
class HostText:
    """The text of a source, without comments."""

    text: str

    def definition(self, name: str, at: int) -> tuple[str, int] | None:
        """The expression that ``name`` is defined by where it is used at the offset ``at``, and the
        expression's own offset; None where there is none."""
        return self.passed(name, at) or self._assigned(name, at)

    def extents(self, name: str, at: int) -> tuple[tuple[str, ...], int] | None:
        """What the ``dim3`` of that name is made of, as expressions, and where: ``dim3 name(a, b)``
        or ``name = dim3(a, b)``, round brackets or braces."""
        assigned = self._assigned(name, at)
        if assigned is None or not re.match(r"dim3\b|\{", assigned[0]):
            places = _nearest(self._dim3s.get(name, []), at)
            if not places:
                return None
            start, end = places[0]
            assigned = up_to_end(self.text, end), start
        inside = re.fullmatch(r"(?:dim3\s*)?[({](.*)[)}]", assigned[0], re.DOTALL)
        parts = apart(inside[1]) if inside else []
        return tuple(part.strip() for part in parts), assigned[1]

    def loop(self, name: str, at: int) -> Loop | None:
        """The loop over ``name`` whose body the offset ``at`` is in; None where there is none."""
        header = re.compile(
            rf"\bfor\s*\(\s*(?:[\w:]+\s+){{0,3}}{name}\s*=\s*(?P<first>[^;{{}}]{{1,80}});"
            rf"\s*(?:{name}\s*(?P<than><=?)\s*)?(?P<end>[^;{{}}]{{0,80}});[^;{{}}]{{0,80}}\)\s*"
        )
        for found in reversed(list(header.finditer(self.text, 0, max(0, at)))):
            depth = self.text.startswith("{", found.end())
            between = self.text[found.end() : at]
            if not depth and re.search(r"[;{}]", between):
                continue
            if all(
                opened > 0
                for opened in accumulate((c == "{") - (c == "}") for c in between if c in "{}")
            ):
                end = found["end"] if found["than"] else ""
                return Loop(found["first"], end, found["than"] == "<=", found.start())
        return None

    def passed(self, name: str, at: int) -> tuple[str, int] | None:
        """What the function around ``at`` is called with for its parameter ``name``."""
        around = bisect.bisect_left(self._function_starts, at) - 1
        if around < 0:
            return None
        start, function, parameters = self._functions[around]
        number = next((n for n, p in enumerate(parameters) if p == name), None)
        if number is None:
            return None
        for call in re.finditer(rf"\b{function}\s*(?:<[^<>;(){{}}]{{0,60}}>\s*)?\(", self.text):
            passed = _ARGUMENTS.match(self.text, call.end()) if call.start() != start else None
            arguments = apart(passed[1]) if passed else []
            if number < len(arguments) and not _DECLARATION.fullmatch(arguments[number].strip()):
                return arguments[number], call.start()
        return None

    def _assigned(self, name: str, at: int) -> tuple[str, int] | None:
        for start, end in _nearest(self._definitions.get(name, []), at):
            expression = up_to_end(self.text, end, in_line=self.text[start] == "#")
            if (
                start != at
                and expression
                and not _LOOP.search(self.text, max(0, start - 80), start)
            ):
                return expression, start
        return None

    @cached_property
    def _definitions(self) -> dict[str, list[tuple[int, int]]]:
        """Where each name is defined: offsets of the definition and of its expression."""
        return _places(_DEFINITION, self.text)

    @cached_property
    def _dim3s(self) -> dict[str, list[tuple[int, int]]]:
        """Where each ``dim3`` is declared: offsets of its name and of its brackets. A declaration
        may have several: ``dim3 grid(n / 16, m / 16), block(16, 16);``."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for declaration in _DIM3.finditer(self.text):
            at = declaration.end()
            while one := _DECLARED.match(self.text, at):
                found[one[1]].append((one.start(1), one.end()))
                at = one.end() + len(up_to_end(self.text, one.end()))
                comma = re.compile(r"\s*,").match(self.text, at)
                if comma is None:
                    break
                at = comma.end()
        return found

    @cached_property
    def _functions(self) -> list[tuple[int, str, list[str]]]:
        """Offset, name, and names of the parameters of each function that is defined."""
        return [
            (match.start(), match[1], [_last_word(p) for p in apart(match[2], angles=True)])
            for match in _FUNCTION.finditer(self.text)
            if match[1] not in _STATEMENTS
        ]

    @cached_property
    def _function_starts(self) -> list[int]:
        return [start for start, _, _ in self._functions]


def _places(pattern: re.Pattern[str], text: str) -> dict[str, list[tuple[int, int]]]:
    """Start and end of the matches of ``pattern``, in order, by the name in the group that took
    part."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for match in pattern.finditer(text):
        found[match[match.lastindex or 0]].append((match.start(), match.end()))
    return found


def _nearest(places: list[tuple[int, int]], at: int) -> list[tuple[int, int]]:
    """``places`` in the order in which they are tried: those that start before ``at``, the last one
    first, then the others."""
    before = [place for place in places if place[0] < at]
    return [*before[::-1], *places[len(before) :]][:_MOST_DEFINITIONS]


def _last_word(declaration: str) -> str:
    words = declaration.partition("=")[0].split()
    return words[-1].lstrip("*&") if words else ""


def up_to_end(text: str, start: int, *, in_line: bool = False) -> str:
    """What stands from ``start`` to the comma, semicolon or bracket that ends it, or to the end of
    the line where it stands ``in_line``; empty where none is near."""
    if in_line:
        return text[start : start + LONGEST].partition("\n")[0].strip()
    depth = 0
    for at in range(start, min(len(text), start + LONGEST)):
        character = text[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and character in ",;"):
            return text[start:at].strip()
    return ""


def apart(text: str, *, angles: bool = False) -> list[str]:
    """The parts of ``text`` between commas; those in brackets separate nothing. With ``angles``,
    ``<`` and ``>`` are brackets, as in types."""
    opening, closing = ("<([{", ">)]}") if angles else ("([{", ")]}")
    found, depth = [""], 0
    for character in text:
        depth += (character in opening) - (character in closing)
        if character == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += character
    return [part for part in found if part.strip()]
