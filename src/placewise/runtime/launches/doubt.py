"""Why a launch is left to the original kernel."""

from __future__ import annotations


class DoubtError(Exception):
    """The original kernel is to be launched. Raised and caught inside the runtime: users read the
    reason in the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
