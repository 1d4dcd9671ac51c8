"""``__constant__`` variables as the source declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from placewise.kernel.cases.case import Case
from placewise.kernel.source import DeclaredConstant, Member, Parameter
from placewise.kernel.view.elements import dtype_of, unqualified
from placewise.kernel.view.tree.libclang import is_initialised
from placewise.kernel.view.tree.scalars import members_of, scalars_of

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
            one = DeclaredConstant(cursor.spelling, 0, 0, line, reason)
        else:
            one = _located(cursor.spelling, text, offset(cursor.location), line)
        initialised = is_initialised(cursor)
        found.append(replace(one, elements=_elements(cursor), initialised=initialised))
    return tuple(_alone(one, found) for one in found)


def _elements(cursor: Any) -> Parameter | None:
    """A variable as a pointer to its first element."""
    type_ = cursor.type.get_canonical()
    while type_.kind.name == "CONSTANTARRAY":
        type_ = type_.element_type.get_canonical()
    text, size = unqualified(type_.spelling), type_.get_size()
    if size <= 0:
        return None
    return Parameter(
        name=cursor.spelling,
        type_text=f"{text} *",
        is_pointer=True,
        element_type=text,
        element_bytes=size,
        element_dtype=dtype_of(text),
        fields=tuple(Member(name, at) for name, at in members_of(type_)),
        scalars=scalars_of(type_),
    )


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
