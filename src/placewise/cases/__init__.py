"""Bundled cases, in the plain form a user would have written."""

from placewise.cases.library import CaseLike, case_names, load_case

__all__ = ["CaseLike", "case_names", "load_case"]
