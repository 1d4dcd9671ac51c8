"""Remarks of the lint as JSON-able data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from placewise.advisor.lint import Remark
from placewise.advisor.predictions.predicted_counters import CounterReport

LINT_SCHEMA_VERSION = 1


def lint_document(report: CounterReport, remarks: Sequence[Remark]) -> dict[str, Any]:
    """The document that ``placewise lint --json`` prints: every remark on the launch of
    ``report``."""
    return {
        "schema": "placewise-lint",
        "schema_version": LINT_SCHEMA_VERSION,
        "case": report.case.name,
        "kernel": report.run.kernel.name,
        "machine": report.run.machine.name,
        "remarks": [
            {
                "rule": remark.rule,
                "level": "warning" if remark.warning else "note",
                "message": remark.message,
                "file": remark.line.file if remark.line else None,
                "line": remark.line.line if remark.line else None,
                "array": remark.array,
                "times_what_would_do": remark.times if math.isfinite(remark.times) else None,
                "share": remark.share,
            }
            for remark in remarks
        ],
    }
