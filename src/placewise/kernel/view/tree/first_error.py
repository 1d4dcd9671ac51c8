"""What libclang has against a source on which NVIDIA's compiler fails without a word."""

from __future__ import annotations

import re
from pathlib import Path

from clang import cindex

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case, CompileOptions
from placewise.kernel.host_code.host_code import DeviceSource
from placewise.kernel.launch import Inputs, Launch
from placewise.kernel.view.tree.clang import parse_source
from placewise.kernel.view.tree.deep_stack import with_deep_stack

_SURE = re.compile(r"undeclared|unknown type|no (?:type|template|member) named|nesting level")
"""Errors that do not come from declarations that the parser lacks but NVIDIA's compiler has."""
_LONGEST = 10_000
"""Most signs in a line, and most lines, of a source that is parsed: libclang takes minutes for an
expression of a hundred thousand terms."""


def first_error(
    source: DeviceSource, filename: str, options: CompileOptions
) -> tuple[int, str] | None:
    """(line, message) of the first error that libclang finds in the file itself; None where it
    finds none that is sure to be one, or the source is too long to ask."""
    lines = source.text.split("\n")
    if len(lines) > _LONGEST or max(map(len, lines)) > _LONGEST:
        return None
    launch = Launch((1, 1, 1), (1, 1, 1))
    case = Case("", source.text, Path(filename), "", launch, Inputs(()), options)

    def parse() -> tuple[int, str] | None:
        unit = parse_source(case, source, source.text.encode(), cindex.TranslationUnit.PARSE_NONE)
        for found in unit.diagnostics:
            file, text = found.location.file, found.spelling
            inside = file is not None and file.name == filename
            if inside and found.severity >= cindex.Diagnostic.Error and _SURE.search(text):
                return found.location.line, text
        return None

    try:
        return with_deep_stack(parse)
    except UnsupportedError:
        return None
