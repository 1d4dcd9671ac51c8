"""From an access trace to the transactions that each memory of a machine serves."""

from placewise.memory.counters import ArrayCounters, Counters, Reading, counters
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.memory.profile import ArrayProfile, LineTraffic, Profile, Profiler
from placewise.memory.staging import LevelCount

__all__ = [
    "ArrayCounters",
    "ArrayProfile",
    "Counters",
    "LevelCount",
    "LineTraffic",
    "Occupancy",
    "Profile",
    "Profiler",
    "Reading",
    "counters",
    "occupancy",
]
