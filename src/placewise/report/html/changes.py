"""The lines of the source that a written form changes."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

CONTEXT = 3
"""Unchanged lines that are shown before and after a change."""


def changed_lines(before: str, after: str) -> list[dict[str, Any]]:
    """Compare two texts; returns documents :class:`placewise.schemas.page.ChangedLine`."""
    old, new = before.splitlines(), after.splitlines()
    found: list[dict[str, Any]] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    codes = matcher.get_opcodes()
    for n, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            found += _same(old, (i1, i2), j1, first=n == 0, last=n == len(codes) - 1)
            continue
        found += [_line("removed", i + 1, None, old[i]) for i in range(i1, i2)]
        found += [_line("added", None, j + 1, new[j]) for j in range(j1, j2)]
    return found


def _same(
    old: list[str], span: tuple[int, int], after: int, *, first: bool, last: bool
) -> list[dict[str, Any]]:
    """Unchanged lines between two changes; the middle of many lines is left out."""
    begin, end = span
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    if end - begin <= head + tail + 1:
        return [_line("same", i + 1, after + i - begin + 1, old[i]) for i in range(begin, end)]
    shown = [*range(begin, begin + head), *range(end - tail, end)]
    lines = [_line("same", i + 1, after + i - begin + 1, old[i]) for i in shown]
    lines.insert(head, _line("gap", None, None, str(end - begin - head - tail)))
    return lines


def _line(kind: str, before: int | None, after: int | None, text: str) -> dict[str, Any]:
    return {"kind": kind, "before": before, "after": after, "text": text}
