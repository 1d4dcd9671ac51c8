"""The result of a rewrite: a case that computes the same with its arrays placed in other
memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from placewise.kernel.cases.case import Case
from placewise.short_repr import ShortRepr
from placewise.space import Placement


@dataclass(frozen=True, eq=False, repr=False)
class Rewritten(ShortRepr):
    """A placement written out as CUDA C++."""

    placement: Placement
    case: Case
    """The rewritten source, its launch (dynamic shared memory) and inputs (textures, constants)."""
    host: str
    """Host code in CUDA C++ that the user needs: copies to constant memory, texture objects, the
    launch."""
    edits: tuple[str, ...]
    """One line per change, for the report."""
    renamed: tuple[tuple[str, str], ...] = ()
    """(array, its name in the new case) for arrays that are now another argument or a constant."""
    filled: tuple[tuple[str, int, str], ...] = ()
    """(symbol, byte in it, array) for arrays that the host copies to a symbol before a launch."""

    checks: tuple[tuple[str, int], ...] = ()
    """(dimension of the launch or argument, its value) that sizes in the source rest on: the kernel
    traps in a launch with another value."""

    carve_out: str = ""
    """Why the host asks for a carve-out of shared memory, in a sentence; empty where it does
    not."""

    def _in_short(self) -> str:
        return f"{self.case.called} with {self.placement.in_words}"

    def to_dict(self) -> dict[str, Any]:
        """Source, host code and edits as JSON types."""
        return {
            "schema": "placewise-rewritten",
            "schema_version": 1,
            "placement": dict(self.placement.spaces),
            "source": self.case.source,
            "host": self.host,
            "edits": list(self.edits),
            "renamed": dict(self.renamed),
        }
