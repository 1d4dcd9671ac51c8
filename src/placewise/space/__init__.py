"""Memory spaces and placements: the values the whole pipeline speaks of."""

from placewise.space.placement import Placement
from placewise.space.spaces import MemorySpace, Way

__all__ = ["MemorySpace", "Placement", "Way"]
