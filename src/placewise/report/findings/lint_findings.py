"""Findings of lint: their JSON document, their fingerprints, and comparison with a baseline."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.advisor.lint import Remark
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.errors import CaseError, reading
from placewise.report.findings.fingerprint import fingerprint
from placewise.report.source_lines import SourceLines


@dataclass(frozen=True)
class Found:
    """A remark with its fingerprint."""

    remark: Remark
    fingerprint: str
    known: bool = False
    """Whether the baseline has it."""


def with_fingerprints(report: CounterReport, remarks: Sequence[Remark]) -> tuple[Found, ...]:
    """``remarks`` with their fingerprints."""
    source = SourceLines(report.case)
    found = []
    for remark in remarks:
        line = remark.line
        text = source.text(*line) if line is not None else ""
        file = line.file if line is not None else report.case.filename
        name = fingerprint(remark.rule, report.run.kernel.name, file, text or remark.message)
        found.append(Found(remark, name))
    return tuple(found)


def compared(found: Sequence[Found], baseline: Sequence[str]) -> tuple[Found, ...]:
    """``found`` with those marked as known whose fingerprint is in ``baseline``. A fingerprint that
    is there n times marks at most n findings."""
    left = Counter(baseline)
    marked = []
    for one in found:
        known = left[one.fingerprint] > 0
        left[one.fingerprint] -= known
        marked.append(Found(one.remark, one.fingerprint, known))
    return tuple(marked)


def first_remark(remarks: Sequence[Remark]) -> str:
    """The first of the remarks in a sentence, with its line."""
    if not remarks:
        return "No access wastes bandwidth."
    first = remarks[0]
    where = "" if first.line is None else f"Line {first.line.line}: "
    return f"{where}{first.message}."


def remarks_in_short(remarks: Sequence[Remark]) -> str:
    """In two sentences, how many remarks there are, and the first of them."""
    warnings = sum(remark.warning for remark in remarks)
    notes = len(remarks) - warnings
    counts = f"{warnings} warning{'s' * (warnings != 1)}, {notes} note{'s' * (notes != 1)}"
    return f"{counts}. {first_remark(remarks)}"


def lint_document(report: CounterReport, found: Sequence[Found]) -> dict[str, Any]:
    """The document that ``placewise lint --json`` prints: all findings on the launch of
    ``report``."""
    return {
        "schema": "placewise-lint",
        "schema_version": 1,
        "case": report.case.name,
        "kernel": report.run.kernel.name,
        "machine": report.run.machine.name,
        "remarks": [_document(one) for one in found],
    }


def _document(found: Found) -> dict[str, Any]:
    remark = found.remark
    return {
        "rule": remark.rule,
        "level": "warning" if remark.warning else "note",
        "message": remark.message,
        "file": remark.line.file if remark.line else None,
        "line": remark.line.line if remark.line else None,
        "array": remark.array,
        "times_what_would_do": remark.times if math.isfinite(remark.times) else None,
        "share": remark.share,
        "share_of_time_saved": remark.saving,
        "fingerprint": found.fingerprint,
        "known": found.known,
    }


def read_baseline(path: Path) -> list[str]:
    """Fingerprints in the lint document ``path``. Raises CaseError for any other file."""
    with reading("lint baseline", path, CaseError, hint="--write-baseline makes one"):
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != "placewise-lint":
            raise ValueError(f"it is a {document['schema']} document")
        return [str(remark["fingerprint"]) for remark in document["remarks"]]
