"""A cursor over tokens."""

from __future__ import annotations

from placewise.errors import CaseError


class Stream:
    """Tokens with their lines, a position, and located errors."""

    def __init__(self, words: list[str], lines: list[int], filename: str) -> None:
        self.words = words
        self.lines = lines
        self.filename = filename
        self.position = 0

    def at_end(self) -> bool:
        return self.position >= len(self.words)

    def peek(self) -> str:
        """The next token; the empty string at the end."""
        return self.words[self.position] if self.position < len(self.words) else ""

    def take(self) -> str:
        if self.position >= len(self.words):
            raise CaseError("the PTX ends in the middle of a statement", where=self.where())
        word = self.words[self.position]
        self.position += 1
        return word

    def accept(self, word: str) -> bool:
        """Take the next token if it is ``word``."""
        if self.position < len(self.words) and self.words[self.position] == word:
            self.position += 1
            return True
        return False

    def expect(self, word: str) -> None:
        found = self.peek()
        if found != word:
            raise CaseError(f"expected '{word}' in PTX, found '{found}'", where=self.where())
        self.position += 1

    def line(self) -> int:
        if not self.lines:
            return 1
        return self.lines[min(self.position, len(self.lines) - 1)]

    def where(self) -> str:
        return f"{self.filename} (PTX line {self.line()})"

    def skip_group(self, opening: str, closing: str) -> None:
        """Skip a bracketed group, the opening bracket being next."""
        self.expect(opening)
        depth = 1
        words = self.words
        position = self.position
        end = len(words)
        while depth and position < end:
            word = words[position]
            if word == opening:
                depth += 1
            elif word == closing:
                depth -= 1
            position += 1
        self.position = position
        if depth:
            raise CaseError(f"'{opening}' is never closed in the PTX", where=self.where())

    def skip_past(self, word: str) -> None:
        while self.take() != word:
            pass

    def skip_line(self) -> None:
        line = self.line()
        while not self.at_end() and self.line() == line:
            self.position += 1

    def integer(self) -> int:
        """A signed integer literal."""
        negative = self.accept("-")
        word = self.take()
        try:
            value = int(word.rstrip("U"), 0) if word != "0" else 0
        except ValueError:
            raise CaseError(
                f"expected a number in PTX, found '{word}'", where=self.where()
            ) from None
        return -value if negative else value
