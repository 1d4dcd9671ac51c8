"""Conditions of a tuning problem: which values of its parameters go together.

They are expressions as Python writes them, ``block_x * block_y >= 64 and tile in (1, 2)``, with C's
``&&``, ``||`` and ``!`` understood, too. They are read by hand: nothing is evaluated as code. They
consist of numbers up to 64 bits and their arithmetic, of names, of texts and lists to compare with,
and of comparisons.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placewise.kernel.cases.tuning.tuning_values import ARITHMETIC, LARGEST

_LONGEST = 2000
"""Most characters of an expression."""
_MOST_TRIED = 200_000
"""Most partial choices of values that are tried. A problem whose first valid configuration lies
beyond needs a default for each parameter."""
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, others: one in others,
    ast.NotIn: lambda one, others: one not in others,
}


class Condition:
    """A condition on the values of tuning parameters, parsed."""

    def __init__(self, text: str) -> None:
        """Raises ValueError for what is no condition."""
        self.text = text
        python = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
        try:
            if len(text) > _LONGEST:
                raise ValueError
            self._tree = ast.parse(python.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"'{text}' is no condition") from None
        self.names = frozenset(n.id for n in ast.walk(self._tree) if isinstance(n, ast.Name))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the condition holds for these values of all its :attr:`names`. Raises ValueError
        for what a condition cannot contain, such as calls, and for divisions by 0."""
        try:
            return bool(self._value(self._tree, values))
        except (ZeroDivisionError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"'{self.text}': {error}") from None

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=name) if name in values:
                return values[name]
            case ast.Name(id=name):
                raise ValueError(f"'{self.text}': there is no parameter '{name}'")
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [self._value(part, values) for part in parts]
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self._value(part, values)
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -self._number(part, values)
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(self._value(part, values) for part in parts)
            case ast.BoolOp(values=parts):
                return any(self._value(part, values) for part in parts)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                result = _BINARY[type(op)](self._number(left, values), self._number(right, values))
                return _bounded(result)
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in _COMPARE for op in ops
            ):
                sides = [self._value(part, values) for part in (left, *others)]
                pairs = zip(ops, sides, sides[1:], strict=False)
                return all(_COMPARE[type(op)](one, other) for op, one, other in pairs)
        raise ValueError(f"'{self.text}': {type(node).__name__} is not read in conditions")

    def _number(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        """The value as a number. Raises TypeError for texts and lists, which arithmetic could make
        arbitrarily long."""
        value = self._value(node, values)
        if not isinstance(value, int | float):
            raise TypeError(f"{type(value).__name__} where a number is needed")
        return _bounded(value)


def _bounded(number: Any) -> Any:
    if isinstance(number, int) and abs(number) > LARGEST:
        raise OverflowError("a number of more than 64 bits")
    return number


_FREED = 2
"""Most defaults that are given up one by one and in pairs before all of them are."""


def nearest_valid(
    choices: Mapping[str, Sequence[Any]],
    defaults: Mapping[str, Any],
    conditions: Sequence[Condition],
) -> dict[str, Any] | None:
    """Values of which all conditions hold with as many ``defaults`` as can be: all of them, all but
    one, all but two, else the first of all ``choices`` with the defaults tried first. A parameter
    without a default is always free. None where nothing is valid; raises ValueError as
    :func:`first_valid` does."""
    free = {name for name in choices if name not in defaults}
    for number in range(_FREED + 1):
        for freed in itertools.combinations(defaults, number):
            tried = {
                name: values if name in free or name in freed else [defaults[name]]
                for name, values in choices.items()
            }
            found = first_valid(tried, conditions)
            if found is not None:
                return found
    ordered = {
        name: [defaults[name], *(v for v in values if v != defaults[name])]
        if name in defaults
        else values
        for name, values in choices.items()
    }
    return first_valid(ordered, conditions)


def first_valid(
    choices: Mapping[str, Sequence[Any]], conditions: Sequence[Condition]
) -> dict[str, Any] | None:
    """The first values, in the order of the ``choices``, of which all conditions hold; None where
    there are none. Raises ValueError for bad conditions, and where too many had to be tried."""
    names = list(choices)
    known = set[str]()
    due: list[list[Condition]] = []
    for name in names:
        known.add(name)
        due.append([c for c in conditions if name in c.names and c.names <= known])
    for condition in conditions:
        for name in sorted(condition.names - known):
            raise ValueError(f"'{condition.text}': there is no parameter '{name}'")
        if not condition.names and not condition.holds({}):
            return None
    values: dict[str, Any] = {}
    tried = 0

    def complete(at: int) -> bool:
        nonlocal tried
        if at == len(names):
            return True
        for value in choices[names[at]]:
            tried += 1
            if tried > _MOST_TRIED:
                raise ValueError("no valid configuration was found: give the parameters a Default")
            values[names[at]] = value
            if all(c.holds(values) for c in due[at]) and complete(at + 1):
                return True
        values.pop(names[at], None)
        return False

    return values if complete(0) else None
