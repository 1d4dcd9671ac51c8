"""Predicted times beside those of an earlier state of the kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from placewise.advisor.predictions.predicted_time import TimePrediction, TimeReport
from placewise.errors import CaseError, reading

Baseline = Mapping[tuple[str, str], float]
"""Milliseconds by case and machine."""


def read_time_baseline(path: Path) -> Baseline:
    """Times of the ``placewise-times`` document ``path``, which ``placewise time --json`` printed.
    Raises CaseError for any other file."""
    hint = "`placewise time CASE -m GPU --json > FILE` makes one"
    with reading("baseline of times", path, CaseError, hint=hint):
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != "placewise-times":
            raise ValueError(f"it is a {document['schema']} document")
        found = {(str(t["case"]), str(t["machine"])): t["milliseconds"] for t in document["times"]}
        if not all(isinstance(ms, int | float) and ms > 0 for ms in found.values()):
            raise ValueError("its times are not positive numbers")
    return found


def with_baseline(report: TimeReport, baseline: Baseline, where: str) -> TimeReport:
    """``report`` with each machine's time from ``baseline`` added. Raises CaseError, located at
    ``where``, if ``baseline`` lacks the case on a machine."""
    found = []
    for p in report.predictions:
        known = baseline.get((p.case.name, p.machine.name))
        if known is None:
            raise CaseError(
                f"has no time of {p.case.name} on {p.machine.name}",
                where=where,
                hint="write the baseline again with all machines",
            )
        found.append(replace(p, baseline_ms=known))
    return replace(report, predictions=tuple(found))


def slower(report: TimeReport, tolerance: float) -> tuple[TimePrediction, ...]:
    """Predictions longer than their baseline by more than the share ``tolerance``."""
    return tuple(
        p
        for p in report.predictions
        if p.baseline_ms is not None and p.milliseconds > p.baseline_ms * (1.0 + tolerance)
    )
