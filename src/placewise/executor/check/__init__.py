"""The checker: memory errors, uninitialised reads, races and barrier mistakes of a run."""

from placewise.executor.check.checker import BAD_LIMIT, Checker
from placewise.executor.check.finding import RULES, Finding, Kind, Place, Severity, Thread

__all__ = ["BAD_LIMIT", "RULES", "Checker", "Finding", "Kind", "Place", "Severity", "Thread"]
