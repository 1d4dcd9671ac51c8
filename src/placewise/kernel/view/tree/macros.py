"""Where a kernel's body uses macros, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MacroToken:
    """A token of a macro's definition."""

    text: str
    gap: bool
    """White space, a line end or a comment stands in front of it."""


@dataclass(frozen=True)
class MacroUse:
    """A macro where the kernel's body uses it, not one that another macro's text uses."""

    name: str
    start: int
    end: int
    """Byte range of the use, arguments included."""
    parameters: tuple[str, ...] | None
    """Names of its parameters, ``...`` last of a variadic one; None of a macro without any."""
    body: tuple[MacroToken, ...]


def macro_uses(
    cursors: Iterable[Any], filename: str, start: int, end: int, offset: Callable[[Any], int]
) -> tuple[MacroUse, ...]:
    """The uses between two offsets of ``filename`` among libclang's cursors of a translation unit;
    ``offset`` gives the place of a location."""
    found = []
    for cursor in cursors:
        if cursor.kind.name != "MACRO_INSTANTIATION":
            continue
        file = cursor.location.file
        if file is None or file.name != filename or cursor.referenced is None:
            continue
        first, last = offset(cursor.extent.start), offset(cursor.extent.end)
        if start <= first and last <= end:
            found.append(_use(cursor, first, last))
    return tuple(found)


def _use(cursor: Any, start: int, end: int) -> MacroUse:
    tokens = [t for t in cursor.referenced.get_tokens() if t.kind.name != "COMMENT"]
    spelled = []
    behind = 0
    for token in tokens:
        extent = token.extent
        spelled.append(MacroToken(token.spelling, extent.start.offset > behind))
        behind = extent.end.offset
    name, rest = cursor.spelling, spelled[1:]
    if not rest or rest[0].text != "(" or rest[0].gap:
        return MacroUse(name, start, end, None, tuple(rest))
    closing = next(n for n, t in enumerate(rest) if t.text == ")")
    parameters = tuple(t.text for t in rest[1:closing] if t.text != ",")
    return MacroUse(name, start, end, parameters, tuple(rest[closing + 1 :]))
