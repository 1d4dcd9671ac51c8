"""Memory spaces and placements: the values the whole pipeline speaks of."""

from placewise.space.hints import (
    LOAD_FUNCTIONS,
    Hint,
    HintSpace,
    LoadFunction,
    Priority,
    hint_of,
    hint_spaces,
)
from placewise.space.placement import Placement
from placewise.space.spaces import MemorySpace
from placewise.space.way import Way

__all__ = [
    "LOAD_FUNCTIONS",
    "Hint",
    "HintSpace",
    "LoadFunction",
    "MemorySpace",
    "Placement",
    "Priority",
    "Way",
    "hint_of",
    "hint_spaces",
]
