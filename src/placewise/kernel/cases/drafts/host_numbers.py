"""Whole numbers in a source's host code, as far as its text tells them.

``int n = 1 << 20;`` and ``blocks = (n + block - 1) / block;`` tell what ``blocks`` is. Nothing is
compiled or run: expressions are read as Python's parser reads them, whose arithmetic is that of
C++ but for casts and a few spellings. What is no plain arithmetic is not known.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from placewise.kernel.cases.drafts.host_text import HostText

_LONGEST = 200
"""Characters of an expression; bounds the depth of parentheses, too."""
_LARGEST = 1 << 62
SMS = 108
"""What a program that asks for a device's number of SMs is told: that of an A100."""
_DEEPEST = 8
"""Definitions that are followed one after the other."""
_CAST = re.compile(
    r"\b(?:static_cast|reinterpret_cast)\s*<[^<>]{0,40}>"
    r"|\(\s*(?:const\s+)?(?:unsigned|signed|int|long|short|size_t|u?int(?:32|64)_t|uint)"
    r"(?:\s+(?:int|long))*\s*\)(?=\s*[\w(])"
)
_FLOAT_CAST = re.compile(r"\(\s*(?:float|double)\s*\)(?=\s*[\w(])")
_SUFFIX = re.compile(r"(?<![\w.])(\d[\d.]*(?:[eE]\d+)?)[uUlLfF]{1,3}\b")
_CHOICE = re.compile(r"^[^?]+\?(?P<chosen>[^:?]+):(?P<otherwise>[^:?]+)$")
_CEILING = re.compile(r"(?:[ics]?div|ceil)\w*", re.IGNORECASE)
"""Functions of two numbers that divide them and round up: ``ceil_div``, ``divUp``, ``cdiv``."""
_READ = re.compile(r"(?:std::)?(?:ato(?:i|l|ll|f)|strto\w+|sto(?:i|l|ul|ll|ull|f|d))\s*\(")
"""Functions that make a number of a program's argument."""


@dataclass(frozen=True)
class HostNumbers:
    """What names in host code stand for."""

    host: HostText
    known: Mapping[str, int] = field(default_factory=dict)
    """Numbers of names, and of members such as ``grid.x``, whatever the text says."""
    most: int | None = None
    """The most that a name stands for whose definition is a number; None: any. Larger ones are
    halved until they are no more, so that what divides them mostly still does."""
    read: int | None = None
    """What a name stands for that the program reads from its arguments; None: not known."""

    def number(self, expression: str, at: int) -> int | None:
        """The whole number that ``expression`` comes to at the offset ``at`` of the text; None: not
        known."""
        return _whole(self.value(expression, at))

    def value(self, expression: str, at: int) -> float | None:
        """What ``expression`` comes to, with its fraction; None: not known."""
        value = self._value(parsed(expression), at, 0)
        return None if value is None or not math.isfinite(value) else value

    def formula(self, expression: str, at: int, sizes: Mapping[str, str]) -> str | None:
        """``expression`` as a formula of a case file. ``sizes`` are the expressions, mostly names,
        that have a name there, and that name; what else there is becomes numbers. None where that
        cannot be."""
        trees = {parsed(told): name for told, name in sizes.items()}
        named = {ast.unparse(tree): name for tree, name in trees.items() if tree is not None}
        tree = self._formula(parsed(expression), at, named, 0)
        return None if tree is None else ast.unparse(tree)

    def _value(self, tree: ast.expr | None, at: int, depth: int) -> float | None:
        match tree:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return self._named(name, at, depth)
            case ast.Attribute(attr="multiProcessorCount"):
                return SMS
            case ast.Attribute():
                return self.known.get(ast.unparse(tree))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._value(operand, at, depth)
                return None if value is None else -value
            case ast.BinOp(left=left, op=op, right=right):
                return _binary(op, self._value(left, at, depth), self._value(right, at, depth))
            case ast.Call(func=ast.Name(id=function), args=arguments):
                values = [self._value(argument, at, depth) for argument in arguments]
                return _called(function, [v for v in values if v is not None], len(values))
        return None

    def _named(self, name: str, at: int, depth: int) -> float | None:
        if name in self.known:
            return self.known[name]
        found = self.host.definition(name, at) if depth < _DEEPEST else None
        if found is None:
            return None
        tree = parsed(found[0])
        value = self._value(tree, found[1], depth + 1)
        names = tree is not None and any(isinstance(part, ast.Name) for part in ast.walk(tree))
        if value is None and _READ.match(found[0]):
            value, names = self.read, False
        if value is None or names or self.most is None:
            return value
        while value > self.most:
            value //= 2
        return value

    def _formula(
        self, tree: ast.expr | None, at: int, sizes: Mapping[str, str], depth: int
    ) -> ast.expr | None:
        if tree is not None and ast.unparse(tree) in sizes:
            return ast.Name(sizes[ast.unparse(tree)])
        match tree:
            case ast.Name(id=name) if name not in self.known and depth < _DEEPEST:
                found = self.host.definition(name, at)
                inner = found and self._formula(parsed(found[0]), found[1], sizes, depth + 1)
                if inner and not isinstance(inner, ast.Constant):
                    return inner
            case ast.BinOp(
                left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Mod() | ast.Div()
            ):
                first = self._formula(left, at, sizes, depth)
                second = self._formula(tree.right, at, sizes, depth)
                if first and second and not _are_numbers(first, second):
                    return ast.BinOp(first, tree.op, second)
            case ast.Call(func=ast.Name(id=function), args=[above, below]) if _CEILING.fullmatch(
                function
            ):
                first = self._formula(above, at, sizes, depth)
                second = self._formula(below, at, sizes, depth)
                if first and second and not _are_numbers(first, second):
                    whole = ast.BinOp(first, ast.Add(), _less_one(second))
                    return ast.BinOp(whole, ast.Div(), second)
        value = _whole(self._value(tree, at, depth))
        return None if value is None else ast.Constant(value)


def _whole(value: float | None) -> int | None:
    return None if value is None or not abs(value) < _LARGEST else int(value)


def _less_one(tree: ast.expr) -> ast.expr:
    match tree:
        case ast.Constant(value=int() as number):
            return ast.Constant(number - 1)
    return ast.BinOp(tree, ast.Sub(), ast.Constant(1))


def _are_numbers(*trees: ast.expr) -> bool:
    return all(isinstance(tree, ast.Constant) for tree in trees)


def parsed(expression: str) -> ast.expr | None:
    """An expression of C++ as a tree; None where it is more than arithmetic with calls."""
    text = _SUFFIX.sub(r"\1", _CAST.sub("", _FLOAT_CAST.sub("1.0*", expression.strip())))
    chosen = _CHOICE.match(text)
    if chosen:
        # What the program does without arguments is most often the branch of a plain number.
        branches = [chosen["otherwise"].strip(), chosen["chosen"].strip()]
        text = next((branch for branch in branches if branch.isdigit()), branches[0])
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text.replace("std::", "").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _binary(op: ast.operator, first: float | None, second: float | None) -> float | None:
    """The result of an arithmetic operation; None where one part is not known."""
    if first is None or second is None:
        return None
    whole = isinstance(first, int) and isinstance(second, int)
    match op:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
        case ast.Div() if second and whole:
            return _quotient(int(first), int(second))
        case ast.Div() if second:
            return first / second
        case ast.Mod() if second and whole:
            return first - second * _quotient(int(first), int(second))
        case ast.LShift() if whole and 0 <= second < 40:
            return int(first) << int(second)
        case ast.RShift() if whole and 0 <= second < 64:
            return int(first) >> int(second)
    return None


def _quotient(first: int, second: int) -> int:
    """Division of whole numbers as C++ has it: rounded towards 0."""
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _called(function: str, values: list[float], count: int) -> float | None:
    """What a function of ``count`` numbers returns, where all are known and it is a usual one."""
    if not values or len(values) < count:
        return None
    if function in ("ceil", "ceilf") and count == 1:
        return math.ceil(values[0])
    if function in ("float", "double") and count == 1:
        return float(values[0])
    if function in ("int", "size_t", "floor", "unsigned") and count == 1:
        return math.floor(values[0])
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    if count == 2 and values[1] and _CEILING.fullmatch(function):
        return -(-values[0] // values[1])
    return None
