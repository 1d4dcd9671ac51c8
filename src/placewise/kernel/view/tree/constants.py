"""``__constant__`` variables as the source declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from placewise.kernel.cases.case import Case
from placewise.kernel.source import DeclaredConstant

_KEYWORD = b"__constant__"


def declared_constants(
    declarations: Iterable[Any], case: Case, offset: Callable[[Any], int]
) -> tuple[DeclaredConstant, ...]:
    """The ``__constant__`` variables among libclang's cursors ``declarations``; ``offset`` says
    where in the case's source a location stands. Those of included files come with an obstacle."""
    text = case.source.encode()
    found: list[DeclaredConstant] = []
    for cursor in declarations:
        is_constant = any(c.kind.name == "CUDACONSTANT_ATTR" for c in cursor.get_children())
        if cursor.kind.name != "VAR_DECL" or not is_constant:
            continue
        file, line = cursor.location.file, cursor.location.line
        if file is None or file.name != case.filename:
            reason = f"declared in {'' if file is None else file.name}:{line}"
            found.append(DeclaredConstant(cursor.spelling, 0, 0, line, reason))
        else:
            found.append(_located(cursor.spelling, text, offset(cursor.location), line))
    return tuple(_alone(one, found) for one in found)


def _alone(one: DeclaredConstant, found: list[DeclaredConstant]) -> DeclaredConstant:
    """A variable, with an obstacle where its declaration has others, too."""
    beside = [o.name for o in found if o is not one and o.start == one.start and o.end]
    if not beside or one.obstacle is not None:
        return one
    return replace(one, obstacle=f"declared beside '{beside[0]}' (line {one.line})")


def _located(name: str, text: bytes, at: int, line: int) -> DeclaredConstant:
    """The keyword in front of a variable's name, and what follows it up to the next word."""
    first = max(text.rfind(end, 0, at) for end in (b";", b"}", b"#")) + 1
    statement = text[first:at]
    if statement.count(_KEYWORD) != 1 or text[at : at + len(name.encode())] != name.encode():
        return DeclaredConstant(
            name, 0, 0, line, f"its declaration comes from a macro (line {line})"
        )
    start = first + statement.index(_KEYWORD)
    end = start + len(_KEYWORD)
    if b"extern" in statement.replace(b'extern "C"', b"").split():
        return DeclaredConstant(name, start, end, line, f"defined in another file (line {line})")
    if b"__device__" in statement.split():
        # Two words for one memory: what is left says the rest.
        blank = len(text[end:at]) - len(text[end:at].lstrip())
        return DeclaredConstant(name, start, end + blank, line, is_device=True)
    return DeclaredConstant(name, start, end, line)
