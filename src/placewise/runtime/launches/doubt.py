"""Why a launch is left to the original kernel."""

from __future__ import annotations


class DoubtError(Exception):
    """The original kernel must be launched, since it is not certain that another version may be. It
    is raised and caught inside the runtime; users see the reason in the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
