"""The leaderboard: each model's predictions for measured configurations, and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from placewise.dataframe import dataframe
from placewise.errors import CaseError
from placewise.kernel.cases.case_file import read_case_family
from placewise.machine import Machine, load_machine
from placewise.machine.device_machine import machine_named
from placewise.model.registry import MODELS, known_model
from placewise.progress import Progress, silent
from placewise.recorded.time_tables import MeasuredTime, TimeTable, read_times
from placewise.validate.features import launch_features
from placewise.validate.figures import (
    Accuracy,
    PlacementError,
    accuracy,
    placement_errors,
)
from placewise.validate.predict import Answer, Answers, Predictor, Task
from placewise.validate.sample import choose_rows
from placewise.validate.search import Search, search

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model on one table."""

    model: str
    rows: tuple[int, ...]
    """Positions of the chosen configurations that the model has predictions for."""
    predicted: NDArray[np.float64]
    """(rows,) nanoseconds, or the model's own measure."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """(rows,) each: ends of the interval of ``predicted``."""
    absolute: bool
    """Whether ``predicted`` are times."""
    refused: tuple[tuple[str, int], ...]
    """(why it gave no answer, for how many configurations), the most frequent first."""
    accuracy: Accuracy | None
    """None where it answered for no configuration."""
    placements: tuple[PlacementError, ...]
    notes: tuple[tuple[str, ...], ...] = ()
    """The model's notes on each prediction."""


@dataclass(frozen=True, eq=False)
class TableResult:
    """All models on one table."""

    table: TimeTable
    machine: Machine
    chosen: tuple[MeasuredTime, ...]
    models: tuple[ModelResult, ...]
    search: Search | None = None
    """The search that found ``chosen``; None where they were drawn at random."""

    def measured(self, result: ModelResult) -> NDArray[np.float64]:
        """(rows,) measured nanoseconds of the rows of ``result.predicted``."""
        return np.array([self.chosen[at].nanoseconds for at in result.rows])

    def to_dataframe(self) -> DataFrame:
        """A row for each measured configuration and each model that answers for it: the parameters
        of the configuration, ``model``, ``measured_ns``, ``predicted`` (nanoseconds, or the model's
        own measure) with ``low`` and ``high``. Raises UnsupportedError where pandas is not
        installed."""
        rows = [
            {
                **dict(self.chosen[at].configuration),
                "model": one.model,
                "measured_ns": self.chosen[at].nanoseconds,
                "predicted": float(one.predicted[n]),
                "low": float(one.low[n]),
                "high": float(one.high[n]),
            }
            for one in self.models
            for n, at in enumerate(one.rows)
        ]
        return dataframe(rows)


# Keyword options of the command, one parameter each.
def validate(
    files: Sequence[Path],
    case: Path,
    machines: Sequence[str],
    *,
    models: Sequence[str] = (),
    nvrtc: str | None = None,
    clock_mhz: float | None = None,
    time_column: str | None = None,
    configurations: int | None = None,
    seed: int = 0,
    best: bool = False,
    workers: int | None = None,
    limit_s: float | None = None,
    progress: Progress = silent,
) -> tuple[TableResult, ...]:
    """Predict measured configurations of ``case`` and compare.

    ``machines`` is one name for all ``files``, one for each, or empty where the files name their
    device. ``clock_mhz`` is the clock that the SMs ran at, where it was not the machine's own.
    About ``configurations`` of every file are predicted (None: all), drawn with ``seed`` in groups
    that differ only in placement; with ``best``, those that the first model ranks first are
    searched instead (:mod:`.search`). ``models`` are names of the registry, all of them where
    empty. ``workers`` is the number of processes (None: one a core), ``limit_s`` the seconds after
    which a configuration is given up, which counts among the refused ones. Raises CaseError and
    MachineError for input that does not fit.
    """
    names = _models(models)
    family = read_case_family(case)
    if not family.parameters:
        raise CaseError(
            "the case has no [parameters] that a table of configurations could set",
            where=str(case),
            hint="see docs/how-to/validate.md",
        )
    tables = [read_times(path, family.parameters, time_column=time_column) for path in files]
    machine_names = _machines(tables, machines)
    loaded = [load_machine(name) for name in machine_names]
    found = []
    for table, machine, machine_name in zip(tables, loaded, machine_names, strict=True):
        task = Task(
            case,
            machine_name,
            names,
            nvrtc,
            clock_mhz,
            any(known_model(model).needs_counters for model in names),
            limit_s,
        )
        with Predictor(task, workers=workers) as predictor:
            if best:
                known = launch_features(family, [row.configuration for row in table.rows])
                searched = _best(table, predictor, names[0], configurations, seed, progress, known)
                chosen, answers, search_ = searched
            else:
                chosen = choose_rows(table.rows, family.placement_parameters, configurations, seed)
                answers = predictor.predict(chosen, _teller(table, 0, len(chosen), progress))
                search_ = None
        optimum = min(row.nanoseconds for row in table.rows) if best else None
        results = tuple(
            _result(name, chosen, answers, family.placement_parameters, optimum) for name in names
        )
        found.append(TableResult(table, machine, chosen, results, search_))
    return tuple(found)


def _teller(
    table: TimeTable, before: int, total: int, progress: Progress
) -> Callable[[int, int], None]:
    """A callback that reports progress; ``before`` rows were done earlier."""
    what = f"predicting {table.path.name}"
    progress(what, before, total)
    return lambda done, _: progress(what, before + done, total)


def _best(
    table: TimeTable,
    predictor: Predictor,
    model: str,
    configurations: int | None,
    seed: int,
    progress: Progress,
    features: NDArray[np.float64],
) -> tuple[tuple[MeasuredTime, ...], tuple[Answers, ...], Search]:
    """The rows that a search for the least predicted times predicts, their answers, and the
    search."""
    budget = min(configurations or len(table.rows), len(table.rows))
    answers: dict[int, Answers] = {}

    def predict(rows: Sequence[int]) -> list[float]:
        tell = _teller(table, len(answers), budget, progress)
        given = predictor.predict([table.rows[row] for row in rows], tell)
        answers.update(zip(rows, given, strict=True))
        totals = (dict(one.by_model)[model] for one in given)
        return [t.total if isinstance(t, Answer) else math.inf for t in totals]

    space = [row.configuration for row in table.rows]
    result = search(space, predict, budget=budget, seed=seed, features=features)
    order = sorted(answers)
    numbered = tuple(replace(answers[row], row=at) for at, row in enumerate(order))
    return tuple(table.rows[row] for row in order), numbered, result


def _models(asked: Sequence[str]) -> tuple[str, ...]:
    for name in asked:
        known_model(name)
    return tuple(asked or MODELS)


def _machines(tables: Sequence[TimeTable], given: Sequence[str]) -> list[str]:
    """The name of the machine for each table."""
    if len(given) == 1:
        return [given[0]] * len(tables)
    if given and len(given) != len(tables):
        raise CaseError(
            f"{len(given)} machines for {len(tables)} files of measurements",
            hint="give --machine once for all, or once for each in the same order",
        )
    if given:
        return list(given)
    names = []
    for table in tables:
        found = machine_named(table.device) if table.device else None
        if found is None:
            device = f"its device is '{table.device}'" if table.device else "it names no device"
            raise CaseError(
                f"which machine was this measured on? {device}",
                where=str(table.path),
                hint="name it with --machine",
            )
        names.append(found)
    return names


def _result(
    model: str,
    chosen: Sequence[MeasuredTime],
    answers: Sequence[Answers],
    placement: Sequence[str],
    optimum: float | None,
) -> ModelResult:
    given = [(a.row, dict(a.by_model)[model]) for a in answers]
    good = [(row, answer) for row, answer in given if isinstance(answer, Answer)]
    reasons: dict[str, int] = {}
    for _, answer in given:
        if isinstance(answer, str):
            reasons[answer] = reasons.get(answer, 0) + 1
    refused = tuple(sorted(reasons.items(), key=lambda item: -item[1]))
    rows = tuple(row for row, _ in good)
    predicted, low, high = (
        np.array([getattr(answer, name) for _, answer in good], dtype=np.float64)
        for name in ("total", "low", "high")
    )
    notes = tuple(answer.notes for _, answer in good)
    absolute = bool(good) and all(answer.absolute for _, answer in good)
    if not good:
        return ModelResult(model, rows, predicted, low, high, absolute, refused, None, ())
    measured = np.array([chosen[row].nanoseconds for row in rows])
    configurations = [chosen[row].configuration for row in rows]
    return ModelResult(
        model,
        rows,
        predicted,
        low,
        high,
        absolute,
        refused,
        accuracy(predicted, measured, absolute=absolute, intervals=(low, high), optimum=optimum),
        placement_errors(configurations, predicted, measured, placement),
        notes,
    )
