"""Measured times of a kernel's configurations, from the files that autotuners write.

Read are Kernel Tuner's cache files (also of a run that was interrupted), KTT's own results, results
in the T4 format of the autotuning community (Kernel Tuner and KTT write it), and CSV with a row per
configuration; each may be gzipped.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.errors import CaseError, reading
from placewise.kernel.cases.strict_model import Parameter
from placewise.recorded.recorded_counters import decoded, read_recorded

UNITS_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
"""Nanoseconds in each unit of time; ``us`` also where a file writes µs."""
TIME_COLUMNS = ("median_ms", "time_ms", "time", "min_ms", "mean_ms", "duration_us", "time_us",
                "time_ns", "Duration")  # fmt: skip
"""Columns that are taken for the time, the first that a table has; without a unit in the name they
are in milliseconds, as Kernel Tuner's are."""
_DEFAULT_UNIT = "ms"
_UNIT_WORDS = {
    "seconds": "s", "milliseconds": "ms", "miliseconds": "ms", "microseconds": "us",
    "nanoseconds": "ns",
}  # fmt: skip
"""Units as KTT and the T4 format's metadata write them."""


@dataclass(frozen=True)
class MeasuredTime:
    """One configuration that ran correctly."""

    configuration: tuple[tuple[str, Parameter], ...]
    """(parameter, value), in the file's order."""
    nanoseconds: float


@dataclass(frozen=True)
class TimeTable:
    """Times of one kernel on one device."""

    path: Path
    device: str | None
    """Name in the file, where it has one."""
    rows: tuple[MeasuredTime, ...]
    failed: int
    """Configurations without a time: they did not compile, run or compute what they should."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(name for name, _ in self.rows[0].configuration)


def read_times(
    path: Path, parameters: Iterable[str], *, time_column: str | None = None
) -> TimeTable:
    """Times in ``path`` over the configurations of ``parameters``.

    ``time_column`` names a CSV's column or a result's measurement; by default the first of
    :data:`TIME_COLUMNS`. Of several rows of one configuration the fastest counts. Raises CaseError
    for a file that cannot be read, is of no known form, lacks a parameter or holds no time. A
    parameter that the file writes with other capitals is taken for the same.
    """
    wanted = tuple(parameters)
    text = decoded(read_recorded(path, "times"), path, "times")
    if text.lstrip()[:1] in ("{", "["):
        device, found = _from_json(text, path, time_column)
    else:
        with reading("table of times", path, CaseError):
            device, found = None, _from_csv(text, path, time_column)
    best: dict[tuple[tuple[str, Parameter], ...], float] = {}
    failed = 0
    for at, (own, nanoseconds) in enumerate(found):
        values = _with_names(own, wanted)
        missing = [name for name in wanted if name not in values]
        if missing:
            raise CaseError(
                f"configuration {at} has no parameter '{missing[0]}'",
                where=str(path),
                hint=f"it has {', '.join(values)}",
            )
        if nanoseconds is None:
            failed += 1
            continue
        key = tuple((name, values[name]) for name in wanted)
        if not all(isinstance(value, str | int | float) for _, value in key):
            raise CaseError(
                f"configuration {at} has parameters that are neither numbers nor text",
                where=str(path),
            )
        best[key] = min(nanoseconds, best.get(key, math.inf))
    if not best:
        raise CaseError("no configuration has a time", where=str(path))
    rows = tuple(MeasuredTime(key, ns) for key, ns in best.items())
    return TimeTable(path, device, rows, failed)


def _with_names(values: dict[str, Parameter], wanted: tuple[str, ...]) -> dict[str, Parameter]:
    """``values`` under the wanted names too, where only capitals differ."""
    by_lower = {name.lower(): value for name, value in values.items()}
    others = {name: by_lower[name.lower()] for name in wanted if name.lower() in by_lower}
    return {**others, **values}


Found = list[tuple[dict[str, Parameter], float | None]]


def _from_csv(text: str, path: Path, column: str | None) -> Found:
    reader = csv.DictReader(io.StringIO(text))
    names = list(reader.fieldnames or ())
    chosen = column or next((c for c in TIME_COLUMNS if c in names), None)
    if chosen is None or chosen not in names:
        what = f"no column '{column}'" if column else "no column of times"
        raise CaseError(what, where=str(path), hint=f"it has {', '.join(names) or 'no columns'}")
    scale = _scale(chosen)
    found: Found = []
    for number, row in enumerate(reader, start=2):
        if None in row or None in row.values():
            raise CaseError(
                "a row is longer or shorter than the header", where=f"{path}: line {number}"
            )
        found.append(
            (
                {k: _parameter(v) for k, v in row.items() if k != chosen},
                _time(_parameter(row[chosen]), scale),
            )
        )
    return found


def _from_json(text: str, path: Path, column: str | None) -> tuple[str | None, Found]:
    with reading("JSON file", path, CaseError):
        data = _parsed(text)
    with reading("table of times", path, CaseError):
        if isinstance(data, dict) and isinstance(data.get("cache"), dict):
            return _from_cache(data, column)
        if isinstance(data, dict) and isinstance(data.get("results"), list):
            unit = _stated_unit(data)
            return _device(data), [_result(r, column, unit) for r in data["results"]]
        if isinstance(data, dict) and isinstance(data.get("Results"), list):
            return _from_ktt(data)
    raise CaseError(
        "neither a cache of Kernel Tuner, nor results of KTT or in the T4 format",
        where=str(path),
        hint="a cache has the key 'cache', T4 results have 'results', KTT's own 'Results'",
    )


def _parsed(text: str) -> Any:
    """JSON; a cache that Kernel Tuner has not closed yet ends in a comma, and is closed here."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if '"cache"' in text and text.rstrip().endswith(("},", '"cache": {')):
            return json.loads(text.rstrip().removesuffix(",") + "}}")
        raise


def _from_ktt(data: Mapping[str, Any]) -> tuple[str | None, Found]:
    """KTT's own results: the time of a configuration is that of all its kernels."""
    metadata = data.get("Metadata", {})
    scale = UNITS_NS[_UNIT_WORDS[str(metadata.get("TimeUnit", "Microseconds")).lower()]]
    found: Found = []
    for result in data["Results"]:
        values = {one["Name"]: one["Value"] for one in result["Configuration"]}
        is_good = result.get("Status", "Ok") == "Ok"
        found.append((values, _time(result.get("TotalDuration"), scale) if is_good else None))
    device = metadata.get("Device")
    return device if isinstance(device, str) else None, found


def _stated_unit(data: Mapping[str, Any]) -> str:
    """Unit of the times in the T4 format whose measurements state none."""
    metadata = data.get("metadata")
    stated = metadata.get("timeunit", "") if isinstance(metadata, dict) else ""
    return _UNIT_WORDS.get(str(stated).lower(), _DEFAULT_UNIT)


def _from_cache(data: Mapping[str, Any], column: str | None) -> tuple[str | None, Found]:
    names = list(data["tune_params_keys"])
    chosen = column or "time"
    found: Found = []
    for entry in data["cache"].values():
        values = {name: entry[name] for name in names}
        found.append((values, _time(entry.get(chosen), _scale(chosen))))
    return data.get("device_name"), found


def _result(
    result: Mapping[str, Any], column: str | None, default_unit: str
) -> tuple[dict[str, Parameter], float | None]:
    values = dict(result["configuration"])
    if result.get("invalidity", "correct") != "correct":
        return values, None
    objectives = result.get("objectives") or ["time"]
    wanted = column or objectives[0]
    for measurement in result["measurements"]:
        if measurement["name"] == wanted:
            unit = str(measurement.get("unit") or default_unit).replace("µ", "u")
            if unit not in UNITS_NS:
                raise ValueError(f"'{wanted}' is in '{unit}', which is no unit of time")
            return values, _time(measurement["value"], UNITS_NS[unit])
    return values, None


def _device(data: Mapping[str, Any]) -> str | None:
    """The GPU's name, as those who write the T4 format put it into its free metadata."""
    for holder in (data, data.get("metadata")):
        if isinstance(holder, dict):
            for key in ("device_name", "device", "gpu"):
                if isinstance(holder.get(key), str):
                    return str(holder[key])
    return None


def _scale(column: str) -> float:
    """Nanoseconds in a column's unit."""
    return UNITS_NS.get(column.rpartition("_")[2], UNITS_NS[_DEFAULT_UNIT])


def _time(value: object, scale: float) -> float | None:
    """Nanoseconds; None for what is no time, such as the word that a cache has for a failure."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Kernel Tuner writes 1e20 where a configuration failed; what is next to nothing is no time.
    return value * scale if 1e-12 < value < 1e19 else None


def _parameter(text: str) -> Parameter:
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if math.isfinite(value):
            return value
    return text
