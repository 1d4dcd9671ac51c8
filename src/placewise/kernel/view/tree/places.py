"""Where expressions stand in the source text, macros included."""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.kernel.source import Term
from placewise.kernel.view.tree.node import Node

_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*|\\\n", re.S)
_COMMENT_LINES = re.compile(
    rb"(?m:^)(?:(?:[ \t]*//[^\n]*\n)+|[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\r?\n)\Z"
)
_WHOLE = frozenset({"COMPOUND_STMT", "DECL_STMT", "NULL_STMT", "SWITCH_STMT"})
"""Statements that libclang has end where they do."""
_NESTED = frozenset({"FOR_STMT", "WHILE_STMT", "IF_STMT", "UNEXPOSED_STMT"})
"""Statements that end with the last one in them; libclang calls one after a pragma
UNEXPOSED_STMT."""
_LITERAL = re.compile(rb"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")


@dataclass(frozen=True)
class IndexTerm:
    """A summand of an index as a node, for the analysis of its values."""

    sign: int
    node: Node


def term_place(term: IndexTerm, text: bytes) -> Term | None:
    """Where a term stands in ``text``; None if its text is not an expression of its own."""
    node = term.node
    start, end = node.start, node.end
    subscript = node.parent
    if subscript is not None and subscript.kind == "ARRAY_SUBSCRIPT_EXPR":
        # What stands between the brackets is the index, whatever macros it uses.
        start, end = bracketed(subscript, text)
    if start < 0 or end <= start or not balanced(text[start:end]):
        return None
    inner = node
    while inner.kind == "UNEXPOSED_EXPR" and len(inner.children) == 1:
        inner = inner.children[0]
    operator = "?" if inner.kind == "CONDITIONAL_OPERATOR" else inner.operator
    binary = inner.kind in (
        "BINARY_OPERATOR",
        "COMPOUND_ASSIGNMENT_OPERATOR",
        "CONDITIONAL_OPERATOR",
    )
    very_loose = binary and operator not in ("+", "-", "*", "/", "%")
    return Term(term.sign, start, end, very_loose or (binary and operator in "+-"), very_loose)


def bracketed(subscript: Node, text: bytes) -> tuple[int, int]:
    """Byte range of the index of a subscript ``a[index]``; (0, 0) where its brackets are not seen
    in the text."""
    base = subscript.children[0]
    opening = base.end + _blank_length(text[base.end : subscript.end])
    if text[opening : opening + 1] != b"[" or text[subscript.end - 1 : subscript.end] != b"]":
        return 0, 0
    start, end = opening + 1, subscript.end - 1
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


def _blank_length(text: bytes) -> int:
    at = 0
    while at < len(text):
        comment = _COMMENT.match(text, at)
        if comment:
            at = comment.end()
        elif text[at : at + 1].isspace():
            at += 1
        else:
            break
    return at


def expression_end(text: bytes, start: int, closing: bytes) -> int | None:
    """End, without blanks, of the expression that begins at byte ``start`` and is followed by
    ``closing``, a character outside its brackets; None where there is none.

    libclang has an expression whose last token comes from a macro end where that macro begins.
    """
    at, depth = start, 0
    while at < len(text):
        skipped = _COMMENT.match(text, at) or _LITERAL.match(text, at)
        if skipped:
            at = skipped.end()
            continue
        char = text[at : at + 1]
        if not depth and char == closing:
            return start + len(text[start:at].rstrip())
        depth += (char in b"([{") - (char in b")]}")
        if depth < 0:
            return None
        at += 1
    return None


def statement_end(node: Node, text: bytes) -> int | None:
    """End of a statement, its semicolon included; None where it is not seen.

    The semicolon of an expression is found in the text (see :func:`expression_end`). Other
    statements may hold semicolons, so theirs must follow where libclang has them end.
    """
    if node.kind in _WHOLE:
        return node.end
    if node.kind in _NESTED and node.children:
        return statement_end(node.children[-1], text)
    end: int | None = node.end
    if node.kind.endswith(("_EXPR", "_OPERATOR")):
        end = expression_end(text, node.start, b";")
    semicolon = -1 if end is None else text.find(b";", end)
    return None if semicolon < 0 or text[end:semicolon].strip() else semicolon + 1


def balanced(text: bytes) -> bool:
    """Whether parentheses and brackets outside comments and literals match."""
    pairs = {b")": b"(", b"]": b"[", b"}": b"{"}
    stack: list[bytes] = []
    stripped = _LITERAL.sub(b"", _COMMENT.sub(b"", text))
    for at in range(len(stripped)):
        char = stripped[at : at + 1]
        if char in pairs.values():
            stack.append(char)
        elif char in pairs and (not stack or stack.pop() != pairs[char]):
            return False
    return not stack


def declares(text: bytes, name: str) -> bool:
    """Whether a text is a whole declaration of ``name``, and no piece of a macro's use."""
    found = re.search(rb"\b%s\b" % re.escape(name.encode()), text)
    return bool(name) and found is not None and balanced(text)


def above_comment(text: bytes, line_start: int) -> int:
    """Start of the comment lines that end right above a line, or the line's own start."""
    comment = _COMMENT_LINES.search(text[:line_start])
    return comment.start() if comment else line_start
