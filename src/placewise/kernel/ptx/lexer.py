"""PTX text to tokens."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    \n
  | //[^\n]*
  | /\*(?s:.*?)(?:\*/|\Z)
  | "(?:[^"\\]|\\.)*"
  | 0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16}
  | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
  | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?
  | \.[A-Za-z_]\w*
  | [%$A-Za-z_](?:[\w$.%]|::)*
  | [^\s]
    """,
    re.VERBOSE,
)


def tokens(text: str) -> tuple[list[str], list[int]]:
    """Tokens of ``text`` and the line (from 1) each one starts on; comments are dropped."""
    words: list[str] = []
    lines: list[int] = []
    line = 1
    for word in _TOKEN.findall(text):
        if word == "\n":
            line += 1
        elif word[0] == "/" and len(word) > 1:
            line += word.count("\n")
        else:
            words.append(word)
            lines.append(line)
    return words, lines
