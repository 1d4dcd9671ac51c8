"""Bundled cases, in the plain form a user would have written."""

from placewise.cases.library import case_names, load_case

__all__ = ["case_names", "load_case"]
