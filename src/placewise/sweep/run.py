"""Runs a sweep: stored results are read, missing ones are predicted and stored."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placewise.dataframe import dataframe
from placewise.progress import Progress, silent
from placewise.sweep.dask_workers import outcomes_by_dask
from placewise.sweep.local_workers import outcomes_here
from placewise.sweep.plan import Task, shard_of, tasks_of
from placewise.sweep.plan_file import SweepPlan
from placewise.sweep.predict import predict_task
from placewise.sweep.store import Outcome, Row, opened

if TYPE_CHECKING:
    from pandas import DataFrame

_COLUMNS = frozenset(
    {"case", "machine", "milliseconds", "low_ms", "high_ms", "limited_by", "registers",
     "warps_per_sm", "error", "seconds", "key"}
)  # fmt: skip
"""Columns that every table has; a size or parameter of the same name gets an underscore."""


@dataclass(frozen=True, eq=False)
class SweepResult:
    """All rows of a sweep, or of one part of it."""

    rows: tuple[Row, ...]
    """In the plan's order."""
    computed: int
    """Number of predictions that this run made; the others were stored before."""
    folder: Path
    """Folder of the store."""
    shard: tuple[int, int] | None
    """(part, number of parts) if this is one part of the sweep; None for the whole sweep."""

    @property
    def failed(self) -> tuple[Row, ...]:
        """Rows without a predicted time."""
        return tuple(row for row in self.rows if row.outcome.error is not None)

    def records(self) -> list[dict[str, Any]]:
        """One mapping from column to value for each row. There is a column for every size and
        parameter that is swept for any case; it is None in rows without it."""
        swept = dict.fromkeys(
            name for r in self.rows for name, _ in (*r.task.sizes, *r.task.parameters)
        )
        found = []
        for task, outcome in ((r.task, r.outcome) for r in self.rows):
            values = {**dict.fromkeys(swept), **dict(task.sizes), **dict(task.parameters)}
            low, high = outcome.range_ms or (None, None)
            found.append(
                {
                    "case": task.case,
                    "machine": task.machine_name,
                    **{f"{n}_" if n in _COLUMNS else n: value for n, value in values.items()},
                    "milliseconds": outcome.milliseconds,
                    "low_ms": low,
                    "high_ms": high,
                    "limited_by": outcome.limited_by,
                    "registers": outcome.registers,
                    "warps_per_sm": outcome.warps_per_sm,
                    "error": outcome.error,
                    "seconds": outcome.seconds,
                    "key": task.key,
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise sweep --json`` prints."""
        return {
            "schema": "placewise-sweep",
            "schema_version": 1,
            "folder": str(self.folder),
            "shard": None if self.shard is None else list(self.shard),
            "computed": self.computed,
            "failed": len(self.failed),
            "rows": [_document(row) for row in self.rows],
        }

    def to_dataframe(self) -> DataFrame:
        """The rows of :meth:`records` as a data frame; needs pandas."""
        return dataframe(self.records())


# Keyword options of the command, one parameter each.
def sweep(
    plan: SweepPlan,
    folder: Path,
    *,
    shard: tuple[int, int] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    retry_failed: bool = False,
    predict: Callable[[Task], Outcome] = predict_task,
    progress: Progress = silent,
) -> SweepResult:
    """Predict everything in ``plan`` that the store in ``folder`` does not have yet.

    ``shard`` is (part, number of parts), counted from 1: only that part of the tasks is done, and
    its results go to a separate file. ``workers`` processes of this computer predict (None: as many
    as it has processors), or with ``dask`` the cluster whose scheduler is at that address. A task
    that takes more than ``time_limit`` seconds fails (not on a cluster). Failed tasks are stored
    with their error, and tried again only with ``retry_failed``. ``predict`` does one task. Raises
    CaseError and MachineError for an invalid plan, PlacewiseError for a store that cannot be used.
    """
    tasks = tasks_of(plan)
    name = "results"
    if shard is not None:
        tasks = shard_of(tasks, shard)
        name = f"results-{shard[0]}-of-{shard[1]}"
    with opened(folder, name) as store:
        known = store.outcomes(task.key for task in tasks)
        if retry_failed:
            known = {key: outcome for key, outcome in known.items() if outcome.error is None}
        todo = [task for task in tasks if task.key not in known]
        count = workers or len(os.sched_getaffinity(0))
        made = (
            outcomes_here(todo, predict, workers=count, time_limit=time_limit)
            if dask is None or not todo
            else outcomes_by_dask(todo, predict, address=dask)
        )
        before = len(tasks) - len(todo)
        progress("predicting", before, len(tasks))
        for done, (task, outcome) in enumerate(made, start=1):
            store.record(task, outcome)
            known[task.key] = outcome
            progress("predicting", before + done, len(tasks))
    rows = tuple(Row(task, known[task.key]) for task in tasks)
    return SweepResult(rows, len(todo), folder, shard)


def _document(row: Row) -> dict[str, Any]:
    task, outcome = row.task, row.outcome
    return {
        "key": task.key,
        "case": task.case,
        "machine": task.machine_name,
        "sizes": dict(task.sizes),
        "parameters": dict(task.parameters),
        "milliseconds": outcome.milliseconds,
        "range_ms": None if outcome.range_ms is None else list(outcome.range_ms),
        "limited_by": outcome.limited_by,
        "nearly_limited_by": list(outcome.nearly_limited_by),
        "registers": outcome.registers,
        "warps_per_sm": outcome.warps_per_sm,
        "error": outcome.error,
        "seconds": outcome.seconds,
    }
