"""Writes a sweep to files for autotuners."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from placewise.kernel.cases.case_text import read_model
from placewise.output_file import write_whole
from placewise.report.formats import json_text
from placewise.sweep.store import Row
from placewise.sweep.tuner_files import (
    cache_document,
    cache_text,
    predictions_of,
    t4_document,
)


def write_tuner_files(rows: Sequence[Row], cache: Path | None, t4: Path | None) -> tuple[Path, ...]:
    """Write the predictions as Kernel Tuner's cache file, as T4 results, or both.

    Returns the files. Raises CaseError where the sweep is not of one kernel with parameters on one
    machine, and PlacewiseError where a file cannot be written."""
    if cache is None and t4 is None:
        return ()
    predictions, task = predictions_of(rows), rows[0].task
    written = []
    if cache is not None:
        kernel = read_model(task.path).kernel
        document = cache_document(predictions, kernel=kernel, machine=task.machine_name)
        write_whole(cache, cache_text(document))
        written.append(cache)
    if t4 is not None:
        results = t4_document(predictions, machine=task.machine_name)
        write_whole(t4, json_text(results) + "\n")
        written.append(t4)
    return tuple(written)
