"""Rewrite an array for plain indexing (way ``direct``): ``__ldg(&A[i])`` becomes ``A[i]``."""

from __future__ import annotations

from placewise.kernel.source import ArrayUse
from placewise.rewriter.draft import Draft, strip_load_functions
from placewise.space import MemorySpace


def place_direct(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Remove the load functions around the array's loads."""
    strip_load_functions(draft, use)
    draft.notes.append(f"{use.name}: {space.name}")
    draft.edits.append(f"{use.name}: load functions removed")
