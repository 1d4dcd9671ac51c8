"""What a rewrite yields: a case that computes the same with its arrays placed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.kernel.cases.case import Case
from placewise.space import Placement


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A placement written out as CUDA C++."""

    placement: Placement
    case: Case
    """The rewritten source, its launch (dynamic shared memory) and inputs (textures, constants)."""
    host: str
    """Host-side CUDA C++ a user needs: constant copies, texture objects, launch configuration."""
    edits: tuple[str, ...]
    """One line per change, for the report."""
    renamed: tuple[tuple[str, str], ...] = ()
    """(array, its name in the new case) for arrays that are another argument or a constant now."""
