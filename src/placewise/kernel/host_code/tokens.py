"""C++ text as tokens with their offsets, before any preprocessing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//(?:[^\n\\]|\\[\s\S])*|/\*[\s\S]*?(?:\*/|\Z)|\\\n)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\([\s\S]*?(?:\)(?P=mark)"|\Z))
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\[\s\S])*"?)
    | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\[\s\S])*'?)
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<mark_>::|->|<<<|>>>|==|<=|>=|!=|&&|\|\||<<|[\s\S])
    """,
    re.VERBOSE,
)
_DIRECTIVE = re.compile(
    r"[ \t]*\#(?:/\*[\s\S]*?(?:\*/|\Z)|//[^\n]*|\"(?:[^\"\\\n]|\\[^\n])*\"|\\\r?\n|[^\n])*"
)
_NAME = re.compile(r"\s*#\s*(\w*)")


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is word, number, literal, mark (punctuation) or directive (a whole line)."""

    kind: str
    text: str
    start: int
    """Offset in characters."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def directive(self) -> str:
        """Name of a directive such as ``include``; empty for other tokens."""
        found = _NAME.match(self.text) if self.kind == "directive" else None
        return found[1] if found else ""


def tokens(text: str) -> Iterator[Token]:
    """Tokens of C++ text; comments and white space are left out. Never fails."""
    at = 0
    first_in_line = True
    while at < len(text):
        if first_in_line and text[at] == "#":
            found = _DIRECTIVE.match(text, at)
            if found:
                yield Token("directive", found[0], at)
                at = found.end()
                continue
        found = _TOKEN.match(text, at)
        if found is None:
            return
        at = found.end()
        kind = found.lastgroup or ""
        if kind == "space":
            first_in_line = first_in_line or "\n" in found[0]
            continue
        first_in_line = False
        if kind in ("raw", "mark", "string", "character"):
            kind = "literal"
        yield Token({"mark_": "mark"}.get(kind, kind), found[0], found.start())
