"""The checker: memory errors, uninitialised reads, races and barrier mistakes of a run."""

from placewise.execute.check.checker import BAD_LIMIT, Checker
from placewise.execute.check.finding import RULES, Finding, Kind, Place, Severity, Thread

__all__ = ["BAD_LIMIT", "RULES", "Checker", "Finding", "Kind", "Place", "Severity", "Thread"]
