"""Checks that sources from the browser include only files in their own folder and the compiler's
headers."""

from __future__ import annotations

import re

from placewise.errors import CaseError

_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\r?\n")
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_DIRECTIVE = re.compile(
    r"^[ \t\v\f]*(?:\#|%:|\?\?=)[ \t\v\f]*(include|include_next|import|embed)\b([^\n]*)", re.M
)
_NAME = re.compile(r'[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[ \t]*\r?$')


def check_includes(source: str) -> None:
    """Raises CaseError where ``source`` includes a file by an absolute path, by a path that leads
    out of its folder, or by a macro, since its text is not known before compilation."""
    text = _SPLICE.sub("", source)
    text = _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)
    for found in _DIRECTIVE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        named = _NAME.match(found[2])
        if named is None:
            raise _refused(line, f"#{found[1]} must name its file in quotes or angle brackets")
        name = (named[1] or named[2]).replace("\\", "/")
        if name.startswith(("/", "~")) or ".." in name.split("/") or ":" in name:
            raise _refused(line, f"'{name}' is not in the case's own folder")


def _refused(line: int, message: str) -> CaseError:
    return CaseError(
        message,
        where=f"source, line {line}",
        hint="in the studio a source includes the compiler's headers only; `placewise` on the "
        "command line reads files",
    )
