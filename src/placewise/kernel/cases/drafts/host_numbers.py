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

import numpy as np

from placewise.kernel.cases.drafts.drafted_types import DTYPES, VECTOR
from placewise.kernel.cases.drafts.host_text import LONGEST, HostText

_LARGEST = 1 << 62
SMS = 108
"""What a program that asks for a device's number of SMs is told: that of an A100."""
_DEEPEST = 8
"""Definitions that are followed one after the other for a number."""
_DEEPEST_FORMULA = 4
"""Definitions that are followed one after the other for a formula."""
_WHOLE = (
    r"(?:const\s+)?(?:unsigned|signed|int|long|short|size_t|u?int(?:32|64)_t|uint)"
    r"(?:\s+(?:int|long))*"
)
_WHOLE_CAST = re.compile(rf"\bstatic_cast\s*<\s*{_WHOLE}\s*>|\(\s*{_WHOLE}\s*\)(?=\s*[\w(])")
_UNKNOWN_CAST = re.compile(r"(?<![\w)>])\(\s*[A-Za-z_]\w*\s*\)(?=\s*[\w(])")
"""A cast to a type that only a compiler knows: a template's type of sizes, so that it is whole."""
_FLOAT_CAST = re.compile(
    r"\bstatic_cast\s*<\s*(?:float|double)\s*>|\(\s*(?:float|double)\s*\)(?=\s*[\w(])"
)
_SIZE_OF = re.compile(r"\bsizeof\s*\(\s*(\w+(?:\s+\w+)?)\s*\)")
UNKNOWN_BYTES = 4
"""What ``sizeof`` of a type that is not known counts as: the bytes of most numbers."""
_SUFFIX = re.compile(r"(?<![\w.])(\d[\d.]*(?:[eE]\d+)?)[uUlLfF]{1,3}\b")
_CHOICE = re.compile(r"(?P<asked>[^?]*\bargc\b[^?]*)\?(?P<given>[^:?]+):(?P<otherwise>[^:?]+)")
_CEILING = re.compile(
    r"(?!\w*(?:down|floor))(?:[ics]div|div_?(?:up|ceil|round)|ceil_?div)\w*", re.I
)
"""Functions of two numbers that divide them and round up: ``ceil_div``, ``divUp``, ``cdiv``."""
_READER = re.compile(r"ato(?:i|l|ll|f)|strto\w+|sto(?:i|l|ul|ll|ull|f|d)")
"""Functions that make a number of a program's argument."""
_READ = re.compile(rf"(?:std::)?(?:{_READER.pattern})\s*\(")


@dataclass(frozen=True)
class HostNumbers:
    """What names in host code stand for."""

    host: HostText
    known: Mapping[str, int] = field(default_factory=dict)
    """Numbers of names, and of members such as ``size.value``, whatever the text says."""
    most: int | None = None
    """The most that a name stands for that is defined as a plain number; None: any. Larger ones are
    halved until they fit, so that what divides them mostly still does. What is computed from such
    names is not limited itself."""
    read: int | None = None
    """What a name stands for that the program reads by ``atoi`` and the like; None: not known."""
    _found: dict[tuple[str, int], float | None] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    """Values of names by where they are used."""

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
        named = {
            ast.unparse(tree): name
            for tree, name in trees.items()
            if tree is not None and not isinstance(tree, ast.Constant)
        }
        tree = self._formula(parsed(expression), at, named, 0)
        text = None if tree is None else ast.unparse(tree)
        return text if text is not None and len(text) <= LONGEST else None

    def _value(self, tree: ast.expr | None, at: int, depth: int) -> float | None:
        """Value of a parsed expression that stands at the offset ``at``; None: not known."""
        match tree:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return self._named(name, at, depth)
            case ast.Attribute(attr="multiProcessorCount"):
                return SMS
            case ast.Attribute(value=ast.Name(id=name), attr="x" | "y" | "z" as axis):
                return self._extent(name, "xyz".index(axis), at, depth)
            case ast.Attribute():
                return self.known.get(ast.unparse(tree))
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand, at, depth)
                return None if value is None else _unary(op, value)
            case ast.BinOp(left=left, op=op, right=right):
                return _binary(op, self._value(left, at, depth), self._value(right, at, depth))
            case ast.Call(func=ast.Name(id=function)) if _READER.fullmatch(function):
                return self.read
            case ast.Call(func=ast.Name(id=function), args=arguments):
                values = [self._value(argument, at, depth) for argument in arguments]
                return _called(function, [v for v in values if v is not None], len(values))
        return None

    def _extent(self, name: str, axis: int, at: int, depth: int) -> float | None:
        """A member of a ``dim3``."""
        found = self.host.extents(name, at) if depth < _DEEPEST else None
        if found is None:
            return None
        parts, place = found
        return self._value(parsed(parts[axis]), place, depth + 1) if axis < len(parts) else 1

    def _named(self, name: str, at: int, depth: int) -> float | None:
        if name in self.known:
            return self.known[name]
        if (name, at) not in self._found:
            # None until it is known: a name that is defined by itself has no value.
            self._found[name, at] = None
            self._found[name, at] = self._defined(name, at, depth)
        return self._found[name, at]

    def _defined(self, name: str, at: int, depth: int) -> float | None:
        """Value of a name by the loop over it, or by its definition; None: not known."""
        if depth >= _DEEPEST:
            return None
        loop = self.host.loop(name, at)
        if loop is not None:
            return self._value(parsed(loop.first), loop.at, depth + 1)
        found = self.host.definition(name, at)
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
        """A parsed expression as a formula; ``sizes`` are names by the text that they stand for."""
        if tree is not None and ast.unparse(tree) in sizes:
            return ast.Name(sizes[ast.unparse(tree)])
        match tree:
            case ast.Name(id=name) if name not in self.known and depth < _DEEPEST_FORMULA:
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
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                if isinstance(self._value(operand, at, depth), int):
                    return self._formula(operand, at, sizes, depth)
            case ast.Call(func=ast.Name(id=function), args=[above, below]) if _CEILING.fullmatch(
                function
            ):
                first = self._formula(above, at, sizes, depth)
                second = self._formula(below, at, sizes, depth)
                if first and second and not _are_numbers(first, second):
                    whole = ast.BinOp(first, ast.Add(), _less_one(second))
                    return ast.BinOp(whole, ast.Div(), second)
        value = self._value(tree, at, depth)
        number = _whole(value)
        return None if number is None or number != value else ast.Constant(number)


def _whole(value: float | None) -> int | None:
    return None if value is None or not abs(value) < _LARGEST else int(value)


def _size_of(match: re.Match[str]) -> str:
    """Bytes of a type, as text."""
    vector = VECTOR.fullmatch(match[1])
    kind, lanes = (vector[1], int(vector[2])) if vector else (match[1], 1)
    return str(np.dtype(DTYPES[kind]).itemsize * lanes if kind in DTYPES else UNKNOWN_BYTES)


def _unary(op: ast.unaryop, value: float) -> float | None:
    match op:
        case ast.USub():
            return -value
        case ast.UAdd():
            return int(value) if math.isfinite(value) else None
        case ast.Invert():
            return float(value)
    return None


def _less_one(tree: ast.expr) -> ast.expr:
    match tree:
        case ast.Constant(value=int() as number):
            return ast.Constant(number - 1)
    return ast.BinOp(tree, ast.Sub(), ast.Constant(1))


def _are_numbers(*trees: ast.expr) -> bool:
    return all(isinstance(tree, ast.Constant) for tree in trees)


def parsed(expression: str) -> ast.expr | None:
    """An expression of C++ as a tree; None where it is more than arithmetic with calls. Casts are
    unary operators in it: ``+`` to a whole number, ``~`` to one with a fraction."""
    text = " ".join(expression.replace("std::", "").split())
    chosen = _CHOICE.fullmatch(text)
    if chosen and chosen["asked"].count("(") == chosen["asked"].count(")"):
        # Without arguments, a program usually takes the branch that is a plain number.
        branches = [chosen["otherwise"].strip(), chosen["given"].strip()]
        text = next((branch for branch in branches if branch.isdigit()), branches[0])
    # The length bounds the depth of parentheses, too.
    if len(text) > LONGEST or "~" in text:
        return None
    text = _WHOLE_CAST.sub("+", _FLOAT_CAST.sub("~", _SIZE_OF.sub(_size_of, text)))
    text = _UNKNOWN_CAST.sub("+", text)
    text = _SUFFIX.sub(r"\1", text)
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text, mode="eval").body
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
