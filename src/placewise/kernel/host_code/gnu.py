"""GNU's extensions of C++ that nvcc takes over from the host's compiler, and NVRTC lacks."""

from __future__ import annotations

from collections.abc import Iterator

from placewise.kernel.host_code.macros import body_of
from placewise.kernel.host_code.tokens import Token, tokens

_BEFORE_VALUE = frozenset(
    {*"=(,{?:+-*/%&|^<!~[", "return", "&&", "||", "==", "<=", ">=", "!=", "<<"}
)
"""What a value can follow; a type in parentheses elsewhere is a parameter or a condition."""
_NO_VALUE = frozenset({"if", "for", "while", "do", "switch", "return", "}"})


def compound_literals(text: str) -> tuple[int, ...]:
    """Offsets of the characters to drop so that compound literals, ``(struct Point){x, y}``, become
    C++, ``Point{x, y}``: the parentheses around the type's name, and the word before it."""
    found = []
    for part, at in _parts(text):
        for i, token in enumerate(part):
            if token.text != "(" or not _is_before_value(part[max(i - 2, 0) : i]):
                continue
            end = next((j for j in range(i, len(part)) if part[j].text == ")"), len(part))
            opens = [t.text for t in part[end + 1 : end + 2]] == ["{"]
            tagged = [t for t in part[i + 1 : i + 2] if t.text in ("struct", "union")]
            if opens and _is_name([t.text for t in part[i + 1 + len(tagged) : end]]):
                found += [at + token.start, at + part[end].start]
                found += [at + a for word in tagged for a in range(word.start, word.end)]
    return tuple(found)


def statement_macros(text: str) -> Iterator[tuple[Token, str]]:
    """Directives that define macros with statement expressions, ``({ int a = x; a * a; })``, each
    with its text in C++: lambdas that are called in place, ``[&]{ int a = x; return a * a; }()``,
    stand for them."""
    for token in tokens(text):
        body = body_of(token.text) if token.kind == "directive" else None
        if body is not None:
            called = _with_calls(token.text[body:])
            if called is not None:
                yield token, token.text[:body] + called


def has_statement_expressions(text: str) -> bool:
    """Whether there are statement expressions, ``({ … })``, outside of macros."""
    outside = [t for t in tokens(text) if t.kind != "directive"]
    return next(_statement_expressions(outside), None) is not None


def _with_calls(body: str) -> str | None:
    part = list(tokens(body))
    edits: list[tuple[int, int, str]] = []
    for first, last in _statement_expressions(part):
        edits.append((part[first].start, part[first + 1].end, "[&]{"))
        edits.append((part[last].start, part[last + 1].end, "}()"))
        value = _last_statement(part, first + 2, last)
        if value < last and part[value].text not in _NO_VALUE:
            edits.append((part[value].start, part[value].start, "return "))
    for start, end, new in sorted(edits, reverse=True):
        body = body[:start] + new + body[end:]
    return body if edits else None


def _statement_expressions(part: list[Token]) -> Iterator[tuple[int, int]]:
    """Places of ``(`` before ``{``, and of ``}`` before ``)``, around statements."""
    for i, token in enumerate(part):
        if token.text != "(" or [t.text for t in part[i + 1 : i + 2]] != ["{"]:
            continue
        depth, has_statements = 0, False
        for j in range(i, len(part)):
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(part[j].text, 0)
            has_statements = has_statements or part[j].text == ";"
            if depth == 0:
                if has_statements and part[j - 1].text == "}":
                    yield i, j - 1
                break


def _last_statement(part: list[Token], first: int, last: int) -> int:
    """Where the last statement of those in ``part[first:last]`` begins."""
    depth, begin, next_begin = 0, first, first
    for j in range(first, last):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(part[j].text, 0)
        if depth == 0 and part[j].text in (";", "}"):
            begin, next_begin = next_begin, j + 1
    return next_begin if next_begin < last else begin


def _parts(text: str) -> Iterator[tuple[list[Token], int]]:
    """The tokens outside directives, and those of each macro's body with their place."""
    outside = []
    for token in tokens(text):
        if token.kind != "directive":
            outside.append(token)
        elif (body := body_of(token.text)) is not None:
            yield list(tokens(token.text[body:])), token.start + body
    yield outside, 0


def _is_before_value(before: list[Token]) -> bool:
    if not before:
        return True
    return before[-1].text in _BEFORE_VALUE and before[0].text != "operator"


def _is_name(inside: list[str]) -> bool:
    if inside[:1] == ["::"]:
        inside = inside[1:]
    return (
        bool(inside)
        and all(w.isidentifier() for w in inside[::2])
        and set(inside[1::2]) <= {"::"}
        and len(inside) % 2 == 1
    )
