"""The leaderboard of models as text and as data."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placewise.report.formats import finite_number
from placewise.report.tables import plain_table

if TYPE_CHECKING:
    from placewise.validate import ModelResult, TableResult

VALIDATION_SCHEMA_VERSION = 1
_SHOWN = 5
"""Number of configurations found by a search that the text shows."""
_NOTES = 3
"""Most kinds of notes that are shown for each model."""
_COLUMNS = (
    ("error", "mean of |predicted − measured| / measured"),
    ("median", "its median"),
    ("scaled", "mean error after scaling all times of the table by one factor"),
    ("factor", "that factor"),
    ("rank", "Spearman's rank correlation"),
    ("regret", "time of the model's first choice over the best, less 1"),
    ("of 20", "time of the best of the model's first twenty choices over the best, less 1"),
    ("inside", "share of measured times in the predicted interval"),
)


def render_validation(results: Sequence[TableResult]) -> RenderableType:
    """All tables for a rich console."""
    parts: list[RenderableType] = []
    for result in results:
        if parts:
            parts.append(Text())
        parts += [_heading(result), Text(), _leaderboard(result)]
        if result.search is not None:
            parts += [Text(), _first(result)]
        placements = _placements(result)
        if placements is not None:
            parts += [Text(), placements]
        parts += _refusals(result)
        parts += _notes(result)
    legend = "; ".join(f"{name}: {meaning}" for name, meaning in _COLUMNS)
    parts += [Text(), Text(f"{legend}. –: the model gives ratios, no times.", style="dim")]
    return Group(*parts)


def validation_document(results: Sequence[TableResult]) -> dict[str, Any]:
    """The document that ``placewise validate --json`` prints, with every prediction."""
    return {
        "schema": "placewise-validation",
        "schema_version": VALIDATION_SCHEMA_VERSION,
        "tables": [_table_document(result) for result in results],
    }


def _heading(result: TableResult) -> RenderableType:
    of = f"{len(result.chosen)} of {len(result.table.rows)} configurations"
    failed = f", {result.table.failed} others without a time" if result.table.failed else ""
    if result.search is not None:
        how = "to the end" if result.search.finished else "until the given number was reached"
        of += f", {result.search.sampled} at random, then the most promising {how}"
    return Group(
        Text.assemble(
            (result.table.path.name, "bold"), " on ", (result.machine.name, "bold"),
            f" ({result.machine.title})",
        ),
        Text(f"{of}{failed}", style="dim"),
    )  # fmt: skip


def _leaderboard(result: TableResult) -> Table:
    table = plain_table()
    table.add_column("model")
    table.add_column("answers", justify="right")
    for name, _ in _COLUMNS:
        table.add_column(name, justify="right")
    for model in result.models:
        found = model.accuracy
        if found is None:
            table.add_row(model.model, "0", *[""] * len(_COLUMNS))
            continue
        table.add_row(
            model.model,
            str(found.configurations),
            _percent(found.mean_error),
            _percent(found.median_error),
            _percent(found.scaled_mean_error),
            f"{found.factor:.3g}" if model.absolute else "–",
            "–" if math.isnan(found.spearman) else f"{found.spearman:.3f}",
            _percent(found.regret),
            _percent(found.regret_of_20),
            _percent(found.coverage),
        )
    return table


def _first(result: TableResult) -> Table:
    """The configurations that the model that led a search ranks first, beside their measured
    times."""
    model = result.models[0]
    measured = result.measured(model)
    optimum = min(row.nanoseconds for row in result.table.rows)
    table = plain_table()
    table.add_column(f"{model.model} puts first", overflow="fold")
    for name in ("predicted", "measured", "over the best"):
        table.add_column(name, justify="right")
    for at in np.argsort(model.predicted, kind="stable")[:_SHOWN].tolist():
        configuration = result.chosen[model.rows[at]].configuration
        table.add_row(
            ", ".join(f"{name} {value}" for name, value in configuration),
            f"{model.predicted[at] / 1e3:.1f} µs" if model.absolute else "–",
            f"{measured[at] / 1e3:.1f} µs",
            _percent(float(measured[at] / optimum - 1.0)),
        )
    return table


def _placements(result: TableResult) -> Table | None:
    """Error of predicted ratios, a row per placement parameter."""
    if not any(model.placements for model in result.models):
        return None
    table = plain_table()
    table.add_column("ratio of two placements, mean error", overflow="fold")
    table.add_column("pairs", justify="right")
    for model in result.models:
        if model.placements:
            table.add_column(model.model, justify="right")
    table.add_column("'no change'", justify="right")
    shown = [{p.parameter: p for p in m.placements} for m in result.models if m.placements]
    for name, error in shown[0].items():
        cells = [_percent(errors[name].error) if name in errors else "" for errors in shown]
        table.add_row(name, str(error.pairs), *cells, _percent(error.no_change))
    return table


def _refusals(result: TableResult) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for model in result.models:
        for why, count in model.refused[:3]:
            text = f"note: {model.model} gives no answer for {count}: {why}"
            lines.append(Text(text, style="dim"))
    return [Text(), *lines] if lines else []


def _notes(result: TableResult) -> list[RenderableType]:
    """Notes of the models on their answers. Notes that differ only in numbers are shown once, by
    the first of them."""
    lines: list[RenderableType] = []
    for model in result.models:
        alike: dict[str, list[str]] = {}
        for note in (note for notes in model.notes for note in notes):
            alike.setdefault(re.sub(r"\d+", "#", note), []).append(note)
        for found in sorted(alike.values(), key=len, reverse=True)[:_NOTES]:
            like = ", for example" if len(set(found)) > 1 else ""
            text = f"note: {model.model}, {len(found)} predictions{like}: {found[0]}"
            lines.append(Text(text, style="dim"))
    return [Text(), *lines] if lines else []


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100.0 * value:.1f} %"


def _table_document(result: TableResult) -> dict[str, Any]:
    return {
        "file": str(result.table.path),
        "device": result.table.device,
        "machine": result.machine.name,
        "configurations": len(result.table.rows),
        "without_time": result.table.failed,
        "search": result.search
        and {"sampled": result.search.sampled, "finished": result.search.finished},
        "chosen": [
            {"configuration": dict(row.configuration), "measured_ns": row.nanoseconds}
            for row in result.chosen
        ],
        "models": [_model_document(model) for model in result.models],
    }


def _model_document(model: ModelResult) -> dict[str, Any]:
    accuracy = None if model.accuracy is None else asdict(model.accuracy)
    unit = "ns" if model.absolute else None
    return {
        "model": model.model,
        "unit": unit,
        "accuracy": accuracy and {k: finite_number(v) for k, v in accuracy.items()},
        "placements": [asdict(p) for p in model.placements],
        "refused": [{"why": why, "configurations": count} for why, count in model.refused],
        "predictions": [
            {"row": row, "predicted": p, "low": low, "high": high, "notes": list(notes)}
            for row, notes, p, low, high in zip(
                model.rows,
                model.notes,
                *(np.asarray(a).tolist() for a in _arrays(model)),
                strict=True,
            )
        ],
    }


def _arrays(model: ModelResult) -> tuple[Any, Any, Any]:
    return model.predicted, model.low, model.high
