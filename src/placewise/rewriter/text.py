"""Edits of a text that may be nested: a replacement may contain parts of the text that are edited
themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

Render = Callable[[int, int], str]
"""A function that returns the text of a byte range with all edits inside it applied."""


@dataclass(frozen=True)
class Edit:
    """Replaces bytes ``start:end`` by the text that ``make`` returns. ``make`` gets a function that
    renders ranges inside."""

    start: int
    end: int
    make: Callable[[Render], str]
    is_outer: bool = False
    """Whether this edit encloses other edits of the same range."""


@dataclass
class EditedText:
    """A source text and the edits to it."""

    text: bytes
    edits: list[Edit] = field(default_factory=list)

    def replace(
        self, start: int, end: int, new: str | Callable[[Render], str], *, is_outer: bool = False
    ) -> None:
        """Replace a range by a text, or by the text that a function makes from ranges inside.

        ``is_outer``: this edit encloses other edits of the same range.
        """
        self.edits.append(Edit(start, end, new if callable(new) else _fixed(new), is_outer))

    def insert(self, at: int, new: str) -> None:
        """Insert at an offset; insertions at one place keep their order."""
        self.replace(at, at, new)

    def finish(self) -> str:
        """The whole text with all edits applied."""
        return self.part(0, len(self.text))

    def part(self, start: int, end: int) -> str:
        """The text between two offsets, with all edits inside it applied."""
        self.edits.sort(key=lambda e: (e.start, e.end > e.start, -e.end, not e.is_outer))
        return self._render(start, end)

    def _render(self, start: int, end: int, inside: tuple[Edit, ...] = ()) -> str:
        """The text of a range with its outermost edits applied, except those in ``inside``, which
        are being applied already. Of two edits of the same range the first is the outermost."""
        pieces, at = [], start
        for edit in self.edits:
            if edit.start < at or edit.end > end or any(edit is one for one in inside):
                continue
            if edit.end == edit.start == end and inside:
                continue
            pieces.append(self.text[at : edit.start].decode())
            pieces.append(edit.make(partial(self._render, inside=(*inside, edit))))
            at = edit.end
        pieces.append(self.text[at:end].decode())
        return "".join(pieces)


def with_line_ends_of(original: str, text: str) -> str:
    """``text`` with CRLF line ends if all lines of ``original`` have them."""
    if "\n" in original.replace("\r\n", "") or "\r\n" not in original:
        return text
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def whole_line(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The range of a statement; its whole line where nothing else stands there."""
    line = text.rfind(b"\n", 0, start) + 1
    behind = text.find(b"\n", end)
    alone = behind >= 0 and not text[line:start].strip() and not text[end:behind].strip()
    return (line, behind + 1) if alone else (start, end)


def _fixed(text: str) -> Callable[[Render], str]:
    return lambda _: text
