"""Lists and formulas of tuning problems as they are published, which are Python expressions.

They are read by hand: nothing is evaluated as code. Lists are ``[1, 2]``, ``list(range(32, 1025,
32))``, ``[2**i for i in range(6)]`` and sums of such; formulas of sizes may ask for
``ProblemSize[0]`` and for ``max(tile)``, the greatest value of a parameter.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_LONGEST = 4000
"""Most characters of an expression."""
_MOST_VALUES = 100_000
LARGEST = 2**64
"""Largest number of a formula."""
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
"""What formulas of tuning problems may compute, by node of the syntax tree."""
_PROBLEM = re.compile(r"\bProblemSize\s*\[\s*(\d)\s*\]")
_EXTREME = re.compile(r"\b(max|min)\(\s*([A-Za-z_]\w*)\s*\)")


def listed_values(text: str) -> list[Any]:
    """The values of a tuning parameter. Raises ValueError for what is no list of values."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        found = _list(ast.parse(text.strip(), mode="eval").body, {})
    except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError):
        raise ValueError(f"'{text[:80]}' is no list of values") from None
    if not found:
        raise ValueError(f"'{text[:80]}' is an empty list")
    return found


def resolved_size(size: Any, problem: Sequence[Any], choices: Mapping[str, Sequence[Any]]) -> Any:
    """A size with ``ProblemSize[k]`` replaced by the ``problem``'s extents, and ``max(name)`` and
    ``min(name)`` by those of a parameter's values. Raises ValueError where the problem has no such
    extent, or no parameter is called so."""
    if not isinstance(size, str):
        return size

    def extent(found: re.Match[str]) -> str:
        at = int(found[1])
        if at >= len(problem):
            raise ValueError(f"'{size}': the problem has {len(problem)} extents")
        return f"({problem[at]})"

    def extreme(found: re.Match[str]) -> str:
        values = choices.get(found[2])
        if not values or not all(isinstance(v, int) for v in values):
            raise ValueError(f"'{size}': no parameter with whole numbers is called '{found[2]}'")
        return str(max(values) if found[1] == "max" else min(values))

    return _EXTREME.sub(extreme, _PROBLEM.sub(extent, size))


def line_of_generator(text: str) -> tuple[float, float] | None:
    """(value for i = 0, step) of a generator of an array's elements that is a straight line in
    ``i``, such as ``2 * i + 3``; None for any other."""
    try:
        if len(text) > _LONGEST:
            return None
        return _line(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _line(node: ast.expr) -> tuple[float, float] | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value), 0.0
        case ast.Name(id="i"):
            return 0.0, 1.0
        case ast.UnaryOp(op=ast.USub(), operand=part):
            found = _line(part)
            return None if found is None else (-found[0], -found[1])
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as sign, right=right):
            one, other = _line(left), _line(right)
            if one is None or other is None:
                return None
            if isinstance(sign, ast.Add):
                return one[0] + other[0], one[1] + other[1]
            if isinstance(sign, ast.Sub):
                return one[0] - other[0], one[1] - other[1]
            if one[1] and other[1]:
                return None
            return one[0] * other[0], one[1] * other[0] + one[0] * other[1]
    return None


def _list(node: ast.expr, names: Mapping[str, Any]) -> list[Any]:
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            found = [_element(part, names) for part in parts]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            found = _list(left, names) + _list(right, names)
        case ast.Call(func=ast.Name(id="list"), args=[part], keywords=[]):
            found = _list(part, names)
        case ast.Call(func=ast.Name(id="range"), args=[_, *_] as parts, keywords=[]):
            span = range(*(_whole(part, names) for part in parts))
            if len(span) > _MOST_VALUES:
                raise ValueError
            found = list(span)
        case ast.ListComp(
            elt=element,
            generators=[ast.comprehension(target=ast.Name(id=name), iter=source, ifs=[])],
        ):
            found = [_element(element, {**names, name: v}) for v in _list(source, names)]
        case _:
            raise ValueError
    if len(found) > _MOST_VALUES:
        raise ValueError
    return found


def _element(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case _:
            return _number(node, names)


def _whole(node: ast.expr, names: Mapping[str, Any]) -> int:
    found = _number(node, names)
    if not isinstance(found, int):
        raise TypeError
    return found


def _number(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            found: Any = value
        case ast.Name(id=name) if name in names:
            found = names[name]
        case ast.UnaryOp(op=ast.USub(), operand=part):
            found = -_number(part, names)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _number(left, names), _number(right, names)
            if not 0 <= power <= 64 or abs(base) > 2**32:
                raise ValueError
            found = base**power
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in ARITHMETIC:
            found = ARITHMETIC[type(sign)](_number(left, names), _number(right, names))
        case _:
            raise ValueError
    if not isinstance(found, int | float) or abs(found) > LARGEST:
        raise ValueError
    return found
