"""Memory spaces and placements: the values the whole pipeline speaks of."""

from placewise.space.hints import Hint, hint_of
from placewise.space.placement import Placement
from placewise.space.spaces import MemorySpace
from placewise.space.way import Way

__all__ = ["Hint", "MemorySpace", "Placement", "Way", "hint_of"]
