"""Text of the source lines that a report names."""

from __future__ import annotations

from pathlib import Path

from placewise.kernel.cases.case import Case


class SourceLines:
    """Looks up lines of the case's source, and of other files that can be read."""

    def __init__(self, case: Case | None) -> None:
        self._name = Path(case.filename).name if case is not None else None
        self._own = case.source.splitlines() if case is not None else []
        self._files: dict[str, list[str]] = {}

    def text(self, file: str, line: int | None) -> str:
        """The line without its indentation; empty where the file cannot be read."""
        if line is None:
            return ""
        lines = self._lines(file)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _lines(self, file: str) -> list[str]:
        if Path(file).name == self._name:
            return self._own
        if file not in self._files:
            try:
                self._files[file] = Path(file).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                self._files[file] = []
        return self._files[file]


def short(file: str) -> str:
    """The path relative to the working folder if it is inside it; otherwise unchanged."""
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
