"""A kernel's file with parts written out in another way that means the same.

A rewrite follows an array through plain expressions of the kernel's body. What hides them, such as
a macro or a call, is written out first, and lines keep the numbers that they had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_MOST_BYTES = 1 << 18
"""Largest size of a written-out text."""


@dataclass(frozen=True)
class WrittenOut:
    """A source with parts written out."""

    source: str
    lines: tuple[int, ...]
    """Line of the kernel's file that each line of ``source`` comes from, both from 1."""


@dataclass(frozen=True)
class Piece:
    """Lines in place of bytes ``start:end``; each with the line that it comes from."""

    start: int
    end: int
    lines: tuple[tuple[bytes, int], ...]


def piece(text: bytes, start: int, end: int, new: bytes) -> Piece:
    """``new`` in place of ``text[start:end]``, all of it from the line of ``start``."""
    line = text.count(b"\n", 0, start) + 1
    return Piece(start, end, tuple((one, line) for one in new.split(b"\n")))


def write_out(text: bytes, pieces: Sequence[Piece]) -> WrittenOut | None:
    """``text`` with the pieces, which do not overlap, in their places; None where there are none,
    or where it grows too long."""
    if not pieces:
        return None
    joined = _Joined(text)
    at = 0
    for one in sorted(pieces, key=lambda p: p.start):
        joined.keep(at, one.start)
        joined.add(one.lines)
        at = one.end
    joined.keep(at, len(text))
    new = b"\n".join(joined.texts)
    return WrittenOut(new.decode(), tuple(joined.lines)) if len(new) < _MOST_BYTES else None


def unique_name(name: str, taken: set[str]) -> str:
    """``name``, with a number added where it is taken. The result is added to ``taken``."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}{number}", number + 1
    taken.add(candidate)
    return candidate


@dataclass(eq=False)
class _Joined:
    """A text put together from ranges of another and new lines."""

    original: bytes
    texts: list[bytes] = field(default_factory=lambda: [b""])
    lines: list[int] = field(default_factory=lambda: [1])

    def keep(self, start: int, end: int) -> None:
        first = self.original.count(b"\n", 0, start) + 1
        kept = self.original[start:end].split(b"\n")
        self.add([(text, first + n) for n, text in enumerate(kept)])

    def add(self, lines: Sequence[tuple[bytes, int]]) -> None:
        if not lines:
            return
        text, line = lines[0]
        if text.strip() and not self.texts[-1].strip():
            self.lines[-1] = line
        self.texts[-1] += text
        self.texts += [text for text, _ in lines[1:]]
        self.lines += [line for _, line in lines[1:]]
