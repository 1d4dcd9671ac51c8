"""Two JSON documents, leaf by leaf: figures that differ, and words that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TIMED = re.compile(r"(^|\.)(\w*seconds|version)($|\.)")
"""Leaves that no two runs share: how long the program itself took, and its version."""


@dataclass(frozen=True)
class Difference:
    """One leaf that is not the same before and after."""

    place: str
    before: Any
    after: Any

    @property
    def is_words(self) -> bool:
        """Whether both are sentences: the text was reworded, no figure changed. A single word, such
        as the name of a memory, counts as a figure."""
        return all(isinstance(text, str) and " " in text for text in (self.before, self.after))


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a JSON document with its place, such as ``options.3.ratio``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{place}.{index}".removeprefix("."))
    else:
        yield place, value


def differences(before: Any, after: Any) -> tuple[int, tuple[Difference, ...]]:
    """Leaves compared, and those that differ; a leaf that one side lacks counts as a difference.

    Numbers must be equal to the last bit. Texts that differ are differences too, but tell
    themselves apart by :attr:`Difference.is_words`.
    """
    left = {k: v for k, v in leaves(before) if not _TIMED.search(k)}
    right = {k: v for k, v in leaves(after) if not _TIMED.search(k)}
    missing = object()
    found = tuple(
        Difference(k, left.get(k, "absent"), right.get(k, "absent"))
        for k in {**left, **right}
        if left.get(k, missing) != right.get(k, missing)
    )
    return len({**left, **right}), found
