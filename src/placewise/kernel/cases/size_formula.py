"""Sizes written as formulas of other sizes: ``"(n + 2 * radius) // tile"``. Nothing is evaluated
as code."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_]\w*(?:\.\w+)?)|(?P<sign>//|[-+*/%()]))"
)
_LONGEST = 200
"""Characters; bounds the depth of parentheses, too."""


def evaluate_size(text: str, value_of: Callable[[str], int]) -> int:
    """The whole number that ``text`` stands for.

    Names (``n``, ``A.rows``) are asked of ``value_of``, in their order. ``/`` and ``//`` both round
    down. Raises ValueError for what is no formula and for a division by 0.
    """
    tokens = _tokens(text)
    position = 0

    def taken(*signs: str) -> str | None:
        nonlocal position
        if position < len(tokens) and tokens[position][1] in signs:
            position += 1
            return tokens[position - 1][1]
        return None

    def total() -> int:
        result = product()
        while (sign := taken("+", "-")) is not None:
            other = product()
            result = result + other if sign == "+" else result - other
        return result

    def product() -> int:
        result = factor()
        while (sign := taken("*", "/", "//", "%")) is not None:
            other = factor()
            if sign == "*":
                result *= other
            elif other == 0:
                raise ValueError(f"'{text}' divides by 0")
            else:
                result = result % other if sign == "%" else result // other
        return result

    def factor() -> int:
        nonlocal position
        if taken("-"):
            return -factor()
        if taken("("):
            result = total()
            if not taken(")"):
                raise ValueError(f"'{text}' lacks a ')'")
            return result
        if position == len(tokens) or tokens[position][0] == "sign":
            raise ValueError(f"'{text}' is no formula of sizes")
        kind, word = tokens[position]
        position += 1
        return int(word) if kind == "number" else value_of(word)

    result = total()
    if position < len(tokens):
        raise ValueError(f"'{text}' is no formula of sizes")
    return result


def _tokens(text: str) -> list[tuple[str, str]]:
    """(number, name or sign; its text) of each; ValueError where anything else stands."""
    tokens: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or end > _LONGEST:
            raise ValueError(f"'{text}' is no formula of sizes")
        kind = found.lastgroup or ""
        tokens.append((kind, found[kind]))
        at = found.end()
    return tokens
