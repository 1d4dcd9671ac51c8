"""Macros that access a kernel's arrays, their text written out where the body uses them.

``#define AT(x) A[(x) * 2]`` makes ``AT(i + 1)`` an access that no edit of the body can reach;
``A[(i + 1) * 2]`` is one. Macros inside that text are written out in the next round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from placewise.kernel.view.pointers import follow
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.macros import MacroUse
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import balanced
from placewise.kernel.view.written_out.pieces import WrittenOut, piece, write_out

_TOKEN = re.compile(
    rb"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[(),\[\]{}]|[^\"'/(),\[\]{}]+|/",
    re.S,
)
"""One token of a macro's arguments: a comment, a literal, a delimiter, or text between them."""


def expand_macros(kernel: ParsedKernel) -> WrittenOut | None:
    """The kernel's file with macros written out whose text accesses arrays that no rewrite can
    follow otherwise; None where there are none, or none that can be."""
    if not kernel.macros:
        return None
    arrays = {
        p.id for p in kernel.parameters if p.type_kind == "POINTER" and follow(kernel, p).obstacles
    }
    pieces = []
    for use in _hiding(kernel, arrays) if arrays else ():
        new = expanded(use, kernel.text)
        if new is not None:
            pieces.append(piece(kernel.text, use.start, use.end, new))
    return write_out(kernel.text, pieces)


def _hiding(kernel: ParsedKernel, arrays: set[int]) -> list[MacroUse]:
    """Uses whose text names one of the arrays, or a local pointer, or makes an access of one."""
    nodes = list(kernel.body.walk())
    locals_ = {n.id for n in nodes if n.kind == "VAR_DECL" and n.type_kind == "POINTER"}
    found: dict[int, MacroUse] = {}
    for node in nodes:
        if node.kind != "DECL_REF_EXPR" or node.target not in arrays | locals_:
            continue
        around = [use for use in kernel.macros if use.start <= node.start < use.end]
        if around and kernel.text[node.start : node.end] != node.name.encode():
            found |= {use.start: use for use in around if use.start == node.start}
        for made in _made_of(node):
            # What ends behind a macro's arguments is made by its text.
            found |= {u.start: u for u in around if u.start >= made.start or made.end >= u.end}
            # What begins before the end of what stands in front of it is made by its text, too.
            parts = made.children if made.kind == "BINARY_OPERATOR" else []
            overlap = len(parts) == 2 and parts[0].end > parts[1].start
            found |= {u.start: u for u in kernel.macros if overlap and u.start == parts[1].start}
    outer: list[MacroUse] = []
    for start in sorted(found):
        if not outer or outer[-1].end <= start:
            outer.append(found[start])
    return outer


def _made_of(name: Node) -> Iterator[Node]:
    """The pointers that are made from a pointer's name, and the access by it."""
    node = name.parent
    while node is not None and node.type_kind == "POINTER":
        yield node
        node = node.parent
    if node is not None and node.kind in ("ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR"):
        yield node


def expanded(use: MacroUse, text: bytes) -> bytes | None:
    """What a macro's use stands for, its own text expanded once; None where the text alone does
    not say it."""
    names = [token.text for token in use.body]
    if "#" in names or "##" in names or "__VA_OPT__" in names:
        return None
    if any(_calls_itself(use, n) for n, name in enumerate(names) if name == use.name):
        return None
    arguments = _arguments(use, text)
    if arguments is None:
        return None
    out = b""
    for token in use.body:
        new = arguments.get(token.text, token.text.encode())
        out += (b" " if token.gap and out else b"") + _apart(out, new, gap=token.gap) + new
    before, behind = text[: use.start], text[use.end :]
    out = _apart(before, out, gap=False) + out
    return out + _apart(out, behind, gap=False)


def _calls_itself(use: MacroUse, at: int) -> bool:
    """Whether the macro's own name in its text would be expanded again."""
    following = use.body[at + 1].text if at + 1 < len(use.body) else ""
    return use.parameters is None or following in ("(", "")


def _arguments(use: MacroUse, text: bytes) -> dict[str, bytes] | None:
    """Text of each argument by its parameter's name."""
    if use.parameters is None:
        return {}
    written = text[use.start + len(use.name.encode()) : use.end].strip()
    if not written.startswith(b"(") or not written.endswith(b")") or b"\n#" in written:
        return None
    values, depth = [b""], 0
    for token in _TOKEN.findall(written[1:-1]):
        depth += (token in b"([{") - (token in b")]}") if len(token) == 1 else 0
        if token.startswith((b"/*", b"//")):
            token = b" "
        is_last = "..." in use.parameters and len(values) == len(use.parameters)
        if token == b"," and depth == 0 and not is_last:
            values.append(b"")
        else:
            values[-1] += token
    names = ["__VA_ARGS__" if name == "..." else name for name in use.parameters]
    if not names and not values[0].strip():
        return {}
    if len(values) != len(names) or not all(balanced(v) for v in values):
        return None
    return {name: b" ".join(v.split()) for name, v in zip(names, values, strict=True)}


def _apart(before: bytes, behind: bytes, *, gap: bool) -> bytes:
    """A blank where the end of one text and the start of another would become one token."""
    if gap or not before or not behind:
        return b""
    pair = before[-1:] + behind[:1]
    joins = re.fullmatch(rb"\w\w|[-+*/%&|^<>=!~:.#]{2}|[.\d]{2}", pair)
    return b" " if joins else b""
