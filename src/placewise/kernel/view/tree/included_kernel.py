"""Kernels that a source includes from a file beside it, as many programs' host files do.

A rewrite edits one text, so the included file takes the place of its directive in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.view.tree.template import base_name

_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.M)
_DEEPEST = 8
"""Most files that are followed from one include to the next."""


class IncludedKernelError(UnsupportedError):
    """The kernel's definition is not in the source itself, but in a file that it includes."""


def inline_kernel_file(case: Case) -> tuple[Case, str]:
    """The case with the file that defines its kernel in place of the directive that includes it,
    and a sentence that says so and how lines of that file are counted. Raises UnsupportedError
    where no such file is found."""
    folder = case.path.parent if case.path else Path()
    name = base_name(case.kernel).rsplit("::", 1)[-1]
    defines = re.compile(
        rf"__global__[^;{{}}()]*(?:\([^()]*\)[^;{{}}()]*)?\b{re.escape(name)}\s*\("
    )
    folders = (folder, *case.options.include_paths)
    found = _inlined(case.source, folders, defines, _DEEPEST)
    if found is None:
        raise UnsupportedError(
            f"kernel '{case.kernel}' is defined in an included file that was not found",
            where=case.filename,
            hint="give that file as the case's source",
        )
    text, file, lines_before = found
    # What the inlined file includes itself is found from its own folder.
    paths = tuple(dict.fromkeys((*case.options.include_paths, file.parent)))
    options = replace(case.options, include_paths=paths)
    joined = replace(case, source=text, options=options)
    counted = f"its line 1 is line {lines_before + 1} of {Path(case.filename).name} in this report"
    said = f"{file.name}, which defines the kernel, stands in place of its #include"
    return joined, f"{said}: {counted}" if lines_before else said


def _inlined(
    text: str, folders: tuple[Path, ...], defines: re.Pattern[str], depth: int
) -> tuple[str, Path, int] | None:
    """The text with the defining file in its place, that file, and the number of lines before it;
    None where none defines it."""
    for directive, file, included in _included(text, folders):
        inner: tuple[str, Path, int] | None = None
        if defines.search(included):
            inner = included, file, 0
        elif depth > 1:
            inner = _inlined(included, (file.parent, *folders), defines, depth - 1)
        if inner is not None:
            before = text[: directive.start()]
            joined = before + inner[0] + text[directive.end() :]
            return joined, inner[1], before.count("\n") + inner[2]
    return None


def _included(text: str, folders: tuple[Path, ...]) -> Iterator[tuple[re.Match[str], Path, str]]:
    """Directives of a text with the file that each includes and that file's text."""
    for directive in _DIRECTIVE.finditer(text):
        for folder in folders:
            file = folder / directive[1]
            if file.is_file():
                yield directive, file, file.read_text(encoding="utf-8", errors="replace")
                break
