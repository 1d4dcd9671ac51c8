"""What nvcc takes over from the host's compiler and C library, and NVRTC lacks or has in another
form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from placewise.kernel.frontends.source_file import SourceFile

NO_EXPRESSION = "expected an expression"
"""NVRTC's message for GNU's compound literals and statement expressions."""
_LONG_HEADER = "placewise_long.h"
"""Header in ``headers/`` with 64-bit integers that are long, as on Linux."""
_TYPEOF_HEADER = "placewise_typeof.h"
_INT128 = "--device-int128"
"""Option by which NVRTC has integers of 128 bits; it names the option where they are used."""
_INTEGERS_OF_64_BITS = re.compile(r"int(?:_least|_fast)?64_t|u?int(?:ptr|max)_t")
_Item = TypeVar("_Item")
_ONE_LONG = re.compile(r"(?<!long )\blong\b(?! long)")


_KEYWORDS = {"__extension__": "", "__asm__": "asm", "__asm": "asm", "__const": "const"}
"""GNU's own keywords, and their standard spelling (empty for one that is dropped)."""


Taken = tuple[tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...]]
"""Headers, macros and options."""


class Dialect:
    """What of nvcc's dialect a source has turned out to need, as headers, macros and options."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self.headers: list[str] = []
        """Headers to include before the source."""
        self.defines = [
            (word, meaning)
            for word, meaning in _KEYWORDS.items()
            if any(re.search(rf"\b{word}\b", f.text) for f in files)
        ]
        self.flags: list[str] = []

    @property
    def taken(self) -> Taken:
        """What was taken up to now."""
        return tuple(self.headers), tuple(self.defines), tuple(self.flags)

    def begin_with(self, taken: Taken) -> None:
        """Begin with what another version of the source turned out to need."""
        headers, defines, flags = taken
        self.headers, self.defines, self.flags = list(headers), list(defines), list(flags)

    def take(self, messages: Sequence[str], files: Sequence[SourceFile]) -> bool:
        """Take what the compiler's ``messages`` on a source's ``files`` ask for; returns whether
        that is anything new."""
        if any('"register"' in m for m in messages) and _add(self.defines, ("register", "")):
            return True
        if any(_INT128 in m for m in messages) and _add(self.flags, _INT128):
            return True
        if any("typeof" in m for m in messages) and _add(self.headers, _TYPEOF_HEADER):
            return True
        if any(NO_EXPRESSION in m for m in messages):
            taken = [file.take_gnu(i) for i, file in enumerate(files)]
            if any(taken):
                return True
        mixed = any(_INTEGERS_OF_64_BITS.search(m) and _ONE_LONG.search(m) for m in messages)
        return mixed and _add(self.headers, _LONG_HEADER)


def _add(found: list[_Item], new: _Item) -> bool:
    if new in found:
        return False
    found.append(new)
    return True
