"""Cases as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placewise.kernel.cases.case import Case

CASES_SCHEMA_VERSION = 1


def cases_document(cases: Mapping[str, Case]) -> dict[str, Any]:
    """Cases by the name they are asked for with, and what each launches."""
    return {
        "schema": "placewise-cases",
        "schema_version": CASES_SCHEMA_VERSION,
        "cases": [
            {
                "name": name,
                "kernel": case.kernel,
                "description": case.description,
                "grid": list(case.launch.grid),
                "block": list(case.launch.block),
            }
            for name, case in cases.items()
        ],
    }
