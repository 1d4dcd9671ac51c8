"""Which ``__constant__`` variables of a source a kernel reads, as far as the text tells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from placewise.kernel.cases.drafts.host_numbers import HostNumbers

_WORDS = r"(?:(?:__device__|static|const|struct)\s+)*"
_DECLARATION = re.compile(
    rf"{_WORDS}\b__constant__\s+{_WORDS}(?P<kind>\w+(?:\s+\w+){{0,2}}?)\s+(?P<name>\w+)\s*"
    r"(?P<extents>(?:\[[^\[\]]{1,99}\]\s*){0,4});"
)
_EXTENT = re.compile(r"\[([^\[\]]{1,99})\]")
_MOST_BYTES = 1 << 16
"""Bytes of constant memory."""


@dataclass(frozen=True)
class DraftedConstant:
    """A variable in constant memory that the source does not initialise."""

    kind: str
    """Type of the variable, without extents."""
    name: str
    elements: int
    """Elements of an array; 0 where it is none."""


def drafted_constants(numbers: HostNumbers, start: int, body: str) -> Iterator[DraftedConstant]:
    """The variables in constant memory that a kernel seems to read. Its declaration begins at the
    offset ``start``; ``body`` is its body and what stands behind it."""
    text = numbers.host.text
    for match in _DECLARATION.finditer(text):
        extents = [numbers.number(e, match.start()) for e in _EXTENT.findall(match["extents"])]
        known = [extent for extent in extents if extent is not None and extent > 0]
        elements = math.prod(known) if extents else 0
        used = re.compile(rf"\b{match['name']}\b")
        # Functions that the kernel calls stand before it.
        reads = used.search(body) or used.search(text, match.end(), max(match.end(), start))
        if reads and len(known) == len(extents) and elements <= _MOST_BYTES:
            yield DraftedConstant(match["kind"], match["name"], elements)
