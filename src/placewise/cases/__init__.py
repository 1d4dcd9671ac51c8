"""Bundled cases, in the plain form a user would have written."""

from placewise.cases.library import (
    GROUPS,
    BundledCase,
    CaseLike,
    bundled_cases,
    case_names,
    case_path,
    load_case,
)

__all__ = [
    "GROUPS",
    "BundledCase",
    "CaseLike",
    "bundled_cases",
    "case_names",
    "case_path",
    "load_case",
]
