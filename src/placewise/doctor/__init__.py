"""What works on this machine, what is missing, and how large the caches are."""

from placewise.doctor.caches import CacheFolder, cache_folders, clear_caches
from placewise.doctor.checks import Check, State
from placewise.doctor.diagnose import Diagnosis, diagnose

__all__ = [
    "CacheFolder",
    "Check",
    "Diagnosis",
    "State",
    "cache_folders",
    "clear_caches",
    "diagnose",
]
