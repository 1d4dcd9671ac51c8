"""A file of CUDA C++ and what of it the compiler of device code does not get."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from placewise.kernel.host_code.declarations import Declaration, declarations, innermost
from placewise.kernel.host_code.gnu import compound_literals, statement_macros
from placewise.kernel.host_code.includes import Include, includes, is_host_only, resolve
from placewise.kernel.host_code.tokens import Token, tokens

DEVICE_CONSTEXPR = "PWCONSTEX"
"""Macro in place of ``constexpr``, and just as long: the compiler of machine code for CUDA accepts
unannotated ``constexpr`` functions in constant expressions of a kernel, NVRTC does not."""


@dataclass(eq=False)
class SourceFile:
    """The source or a file that it includes; what is left out becomes spaces, so that all the rest
    stays where it is."""

    path: Path
    name: str
    """As errors name it: the main file's name, or what stands in the directive."""
    text: str
    left_out: list[Declaration] = field(default_factory=list)
    annotated: list[Declaration] = field(default_factory=list)
    dropped_includes: list[Include] = field(default_factory=list)
    blanked: tuple[int, ...] = ()
    """Offsets of single characters that become spaces."""
    moved: tuple[tuple[Token, str, str], ...] = ()
    """(directive, header's name, header's text) of directives that are moved to a header."""

    @property
    def changed(self) -> bool:
        without = self.left_out or self.annotated or self.dropped_includes
        return bool(without or self.blanked or self.moved)

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        return declarations(self.text)

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        return includes(self.text)

    @cached_property
    def directives(self) -> tuple[tuple[int, int], ...]:
        """Extents of all directives but ``#include`` and ``#pragma``."""
        return tuple(
            (t.start, t.end)
            for t in tokens(self.text)
            if t.kind == "directive" and t.directive not in ("include", "pragma")
        )

    def at(self, line: int, column: int | None) -> Declaration | None:
        """The declaration at a place; without a column, the first one left in the line."""
        lines = self.text.split("\n")
        if not 1 <= line <= len(lines):
            return None
        start = sum(len(one) + 1 for one in lines[: line - 1])
        content = lines[line - 1]
        if column is not None:
            return innermost(self.declarations, start + min(column, len(content)))
        for offset in range(start, start + len(content)):
            found = innermost(self.declarations, offset)
            if found is not None and found not in self.left_out:
                return found
        return None

    def is_unconditional(self, declaration: Declaration) -> bool:
        """Whether no ``#if`` is around a declaration."""
        names = [t.directive for t in tokens(self.text) if t.end <= declaration.start]
        return sum(name.startswith("if") for name in names) == names.count("endif")

    def drop(self, declaration: Declaration) -> bool:
        if declaration in self.left_out:
            return False
        self.left_out.append(declaration)
        return True

    def annotate(self, declaration: Declaration) -> bool:
        if declaration in self.annotated:
            return False
        self.annotated.append(declaration)
        return True

    def drop_includes(self, unwanted: list[Include]) -> bool:
        new = [i for i in unwanted if i not in self.dropped_includes]
        self.dropped_includes += new
        return bool(new)

    def take_gnu(self, number: int) -> bool:
        """Take out GNU's extensions that have a form in C++; returns whether there were any.
        Macros move to headers, whose names begin with ``number``.
        """
        if self.blanked or self.moved:
            return False
        self.blanked = compound_literals(self.text)
        text = list(self.text)
        for at in self.blanked:
            text[at] = " "
        found = enumerate(statement_macros("".join(text)))
        headers = ((token, f"{number}_{i}.h", macro) for i, (token, macro) in found)
        self.moved = tuple(
            (token, name, macro)
            for token, name, macro in headers
            if len(_included(name)) <= len(token.text.partition("\n")[0])
        )
        return bool(self.blanked or self.moved)

    def device_text(self) -> str:
        characters = list(self.text)
        unwanted = [(d.start, d.end) for d in self.left_out]
        unwanted += [(i.start, i.end) for i in self.dropped_includes]
        for first, last in unwanted:
            kept = [d for d in self.directives if first <= d[0] and d[1] <= last]
            for at in range(first, last):
                character = self.text[at]
                # Conditionals and definitions of macros reach beyond the declaration around them.
                if character != "\n" and not any(start <= at < end for start, end in kept):
                    characters[at] = " " * len(character.encode())
        for at in self.blanked:
            characters[at] = " "
        for directive, name, _ in self.moved:
            for at in range(directive.start, directive.end):
                if self.text[at] != "\n":
                    characters[at] = " " * len(self.text[at].encode())
            included = _included(name)
            characters[directive.start : directive.start + len(included)] = included
        for one in self.annotated:
            if one.constexpr_at is not None and one not in self.left_out:
                characters[one.constexpr_at : one.constexpr_at + 9] = DEVICE_CONSTEXPR
        return "".join(characters)


def source_text(path: Path) -> str:
    """A file's text: UTF-8, with or without a mark of the byte order. What is not, such as
    comments in another encoding, becomes replacement characters. Raises OSError."""
    return path.read_text(encoding="utf-8-sig", errors="replace")


def own_files(main: SourceFile, paths: tuple[Path, ...]) -> list[SourceFile]:
    """The source and the user's files that it includes, directly or not.

    The compiler takes changed headers by the name in the directive; where one name stands for two
    files, only the source itself can be changed.
    """
    found = [main]
    by_name: dict[str, Path] = {}
    for file in found:
        for include in file.includes:
            # A library that is installed beside them, such as <GL/glew.h>, is not the user's.
            if is_host_only(include.name) and not include.quoted:
                continue
            path = resolve(include, file.path.parent, paths)
            if path is None or path == main.path:
                continue
            if by_name.setdefault(include.name, path) != path:
                return [main]
            if not any(f.name == include.name for f in found):
                found.append(SourceFile(path, include.name, source_text(path)))
    return found


def _included(name: str) -> str:
    return f'#include "{name}"'
