"""Turns an access trace into the transactions that each memory of a machine serves."""

from placewise.memory.occupancy import Occupancy, occupancy
from placewise.memory.reuse.counters import ArrayCounters, Counters, Reading, counters
from placewise.memory.reuse.profile import ArrayProfile, LineTraffic, Profile, Profiler
from placewise.memory.reuse.staging import LevelCount

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
