"""A run and the checker's findings as JSON-able data."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from placewise.executor.check import Checker

if TYPE_CHECKING:
    from placewise.executor.run_case import CaseRun

RUN_SCHEMA_VERSION = 1


def run_document(run: CaseRun) -> dict[str, Any]:
    """Everything the text report says, and what it shortens; only JSON types."""
    case, execution = run.case, run.execution
    return {
        "schema": "placewise-run",
        "schema_version": RUN_SCHEMA_VERSION,
        "case": {
            "name": case.name,
            "source": case.filename,
            "kernel": run.kernel.name,
            "grid": list(case.launch.grid),
            "block": list(case.launch.block),
            "shared_bytes": case.launch.shared_bytes,
        },
        "arch": run.kernel.arch,
        "compile_seconds": run.compile_seconds,
        "seconds": execution.seconds,
        "warp_instructions": execution.warp_instructions,
        "thread_instructions": execution.thread_instructions,
        "arrays": [
            asdict(a) | {"shape": list(a.shape), "least": _finite(a.least), "most": _finite(a.most)}
            for a in run.arrays
        ],
        "lines": [asdict(c) | {"accesses": dict(c.accesses)} for c in run.lines],
        "printed": {"text": execution.printed.text, "dropped": execution.printed.dropped},
        "check": None if run.checker is None else check_document(run.checker),
        "notes": list(run.notes),
    }


def _finite(value: float | int | None) -> float | int | str | None:
    """JSON has no infinities."""
    return value if value is None or math.isfinite(value) else str(value)


def check_document(checker: Checker) -> dict[str, Any]:
    """The checker's findings; only JSON types."""
    return {
        "clean": checker.clean,
        "findings": [
            asdict(f)
            | {"index": None if f.index is None else list(f.index)}
            | {
                name: None if t is None else {"block": list(t.block), "thread": list(t.thread)}
                for name, t in (("thread", f.thread), ("other_thread", f.other_thread))
            }
            for f in checker.findings
        ],
        "not_checked": list(checker.remarks),
    }
