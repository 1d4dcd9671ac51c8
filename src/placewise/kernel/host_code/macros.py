"""Macros of a source, before any preprocessing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from placewise.kernel.host_code.tokens import tokens

_DEFINITION = re.compile(r"\s*#\s*define\s+(\w+)(?:\([^)]*\))?(?P<body>[\s\S]*)")
_WORD = re.compile(r"\w+")


def definitions(
    texts: list[str], defines: tuple[tuple[str, str], ...]
) -> list[tuple[str, frozenset[str]]]:
    """Every definition of a macro: its name and the words of its body."""
    found = [(name, frozenset(_WORD.findall(body))) for name, body in defines]
    for text in texts:
        for token in tokens(text):
            match = _DEFINITION.match(token.text) if token.directive == "define" else None
            if match:
                found.append((match[1], frozenset(_WORD.findall(match["body"]))))
    return found


def body_of(directive: str) -> int | None:
    """Where the body of a macro begins in the directive that defines it; None for others."""
    match = _DEFINITION.match(directive)
    return match.start("body") if match else None


def standing_for(words: Iterable[str], macros: list[tuple[str, frozenset[str]]]) -> frozenset[str]:
    """``words`` with all macros that lead to one of them."""
    found = set(words)
    while new := {name for name, body in macros if body & found} - found:
        found |= new
    return frozenset(found)
