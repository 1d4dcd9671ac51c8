"""What a serialization condition's expression means: its values, and the shape it has.

The keywords of Fig. 2 (Chen et al. 2017) for the data that thread 1 and thread 2 access:
``address`` is a byte address, ``word`` the number of the 4-byte word that holds it (address // 4;
the paper says "starting address of the word", but ``word1 % banks`` in its own Fig. 4 is a bank
only if consecutive words differ by 1), ``index`` the number of the element (address // element
size). ``/`` is real division, as the floor brackets of Fig. 4 imply; ``floor(a / b)`` of integers
is computed exactly. ``&&``, ``||``, ``!`` and relations give 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.machine.msl.tree import Binary, Expression, Floor, Keyword, Number, Unary

WORD_BYTES = 4
"""A word of shared memory (Chen et al. 2017, section 2: "by default, a word is 4-byte long")."""

Values = Mapping[str, NDArray[np.int64] | int]
"""Values of keywords; arrays where they differ by access or lane."""

_PAIRED = ("address", "index", "word")


@dataclass(frozen=True)
class KeyForm:
    """``key(1) != key(2)``, and ``groups[k](1) == groups[k](2)`` for every k.

    Each is an expression of thread 1's keywords. Two lanes are then serialized exactly when they
    lie in the same group with different keys.
    """

    key: Expression
    groups: tuple[Expression, ...]


def key_form(expression: Expression) -> KeyForm | None:
    """The expression as :class:`KeyForm`, or None where it does not have that shape."""
    key = None
    groups = []
    for conjunct in _conjuncts(expression):
        side = _same_on_both_sides(conjunct)
        if side is None:
            return None
        if isinstance(conjunct, Binary) and conjunct.operator == "==":
            groups.append(side)
        elif key is None:
            key = side
        else:
            return None
    return KeyForm(key, tuple(groups)) if key is not None else None


def keywords(expression: Expression) -> frozenset[str]:
    """Names of all keywords in ``expression``."""
    match expression:
        case Keyword(name):
            return frozenset({name})
        case Floor(operand) | Unary(_, operand):
            return keywords(operand)
        case Binary(_, left, right):
            return keywords(left) | keywords(right)
        case _:
            return frozenset()


def evaluate(expression: Expression, values: Values) -> Any:
    """Value of ``expression``, element by element where ``values`` holds arrays.

    ``values`` gives every keyword that the expression uses. Division by zero and remainder by zero
    give an unspecified value.
    """
    match expression:
        case Number(value):
            return np.int64(value)
        case Keyword(name):
            return values[name]
        case Floor(Binary("/", left, right)):
            return _floor_divide(evaluate(left, values), evaluate(right, values))
        case Floor(operand):
            return np.floor(evaluate(operand, values)).astype(np.int64)
        case Unary(operator, operand):
            value = evaluate(operand, values)
            return -value if operator == "-" else np.equal(value, 0).astype(np.int64)
        case Binary(operator, left, right):
            return _OPERATORS[operator](evaluate(left, values), evaluate(right, values))


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    match expression:
        case Binary("&&", left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield expression


def _same_on_both_sides(conjunct: Expression) -> Expression | None:
    """``k(1)`` where the conjunct is ``k(1) == k(2)`` or ``k(1) != k(2)``, or with 1, 2 swapped."""
    match conjunct:
        case Binary("==" | "!=", left, right):
            for one, other in ((left, right), (right, left)):
                if _mentions_only(one, "1") and _renamed(one) == other and one != other:
                    return one
    return None


def _mentions_only(expression: Expression, thread: str) -> bool:
    return all(k in ("banks", "blockSize") or k.endswith(thread) for k in keywords(expression))


def _renamed(expression: Expression) -> Expression:
    """The expression with thread 1's keywords turned into thread 2's."""
    match expression:
        case Keyword(name) if name[:-1] in _PAIRED:
            return Keyword(f"{name[:-1]}2")
        case Floor(operand):
            return Floor(_renamed(operand))
        case Unary(operator, operand):
            return Unary(operator, _renamed(operand))
        case Binary(operator, left, right):
            return Binary(operator, _renamed(left), _renamed(right))
        case _:
            return expression


def _floor_divide(left: Any, right: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.floor_divide(left, right).astype(np.int64)


def _divide(left: Any, right: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(left, right)


def _remainder(left: Any, right: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.mod(left, right)


def _both(left: Any, right: Any) -> Any:
    return (np.not_equal(left, 0) & np.not_equal(right, 0)).astype(np.int64)


def _either(left: Any, right: Any) -> Any:
    return (np.not_equal(left, 0) | np.not_equal(right, 0)).astype(np.int64)


_OPERATORS: Mapping[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
    "%": _remainder,
    "==": lambda a, b: np.equal(a, b).astype(np.int64),
    "!=": lambda a, b: np.not_equal(a, b).astype(np.int64),
    "<": lambda a, b: np.less(a, b).astype(np.int64),
    "<=": lambda a, b: np.less_equal(a, b).astype(np.int64),
    ">": lambda a, b: np.greater(a, b).astype(np.int64),
    ">=": lambda a, b: np.greater_equal(a, b).astype(np.int64),
    "&&": _both,
    "||": _either,
}
