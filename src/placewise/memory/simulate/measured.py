"""Counters that a profiler recorded, from the files that people have.

Read are reports of Nsight Compute (``.ncu-rep``), its CSV (``ncu --csv``: a row per metric; ``ncu
--csv --page raw``: a row per launch), CSV files with a row per configuration and metric names as
columns, and JSON of KTT and of Kernel Tuner (its cache files, and results in the format that both
write).
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.errors import CaseError
from placewise.memory.simulate.ncu_report import MAGIC, read_report

_LONG = ("Metric Name", "Metric Value")
_PREFIX = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NANOSECONDS = {
    f"{prefix}{unit}": factor
    for prefix, factor in (("n", 1.0), ("u", 1e3), ("m", 1e6), ("", 1e9))
    for unit in ("s", "second")
}
_EXPORT = "export it: ncu --import FILE --csv --page raw > counters.csv"
_NAMED = 6
"""Kernels that a message names at most."""
_SECTOR = 32
_OF_BYTES = {
    "dram__sectors_read.sum": "dram__bytes_read.sum",
    "dram__sectors_write.sum": "dram__bytes_write.sum",
}
"""Counters that follow from those of bytes, which are collected more often."""
DURATION = "gpu__time_duration.sum"
"""In nanoseconds."""


@dataclass(frozen=True)
class MeasuredLaunch:
    """Counters of one recorded launch."""

    kernel: str | None
    """Name in the file, where it has one."""
    values: Mapping[str, float]
    """By metric name, in bytes and nanoseconds where they have such a unit; of a table of
    configurations, its other numbers too."""

    @property
    def microseconds(self) -> float | None:
        """How long the launch took, where the file says so."""
        recorded = self.values.get(DURATION)
        return self.values.get("duration_us") if recorded is None else recorded * 1e-3


def read_recorded(path: Path, what: str) -> bytes:
    """A file of measured ``what``, unpacked where its name ends in .gz; raises CaseError."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaseError(f"cannot read the measured {what}: {reason}", where=str(path)) from error


def decoded(data: bytes, path: Path, what: str) -> str:
    """Their text; raises CaseError for what is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(f"cannot read the measured {what}: {error}", where=str(path)) from error


def read_measured(path: Path) -> tuple[MeasuredLaunch, ...]:
    """All launches of a file, in its order.

    Raises CaseError for a file that cannot be read or has no counters.
    """
    data = read_recorded(path, "counters")
    if path.suffix == ".ncu-rep" or data[: len(MAGIC)] == MAGIC:
        return _from_report(data, path)
    text = decoded(data, path, "counters")
    found = _from_json(text, path) if text.lstrip()[:1] in ("{", "[") else _from_csv(text)
    if not found:
        raise CaseError(
            "no counters of any launch in this file",
            where=str(path),
            hint="metric names look like lts__t_sectors_op_read.sum",
        )
    return tuple(_completed(one) for one in found)


def _completed(launch: MeasuredLaunch) -> MeasuredLaunch:
    """With the counters that follow from others."""
    values = dict(launch.values)
    for sectors, of_bytes in _OF_BYTES.items():
        if of_bytes in values:
            values.setdefault(sectors, values[of_bytes] / _SECTOR)
    return MeasuredLaunch(launch.kernel, values)


def _from_report(data: bytes, path: Path) -> tuple[MeasuredLaunch, ...]:
    try:
        launches = read_report(data)
    except ValueError as error:
        raise CaseError(
            f"cannot read this report of Nsight Compute: {error}", where=str(path), hint=_EXPORT
        ) from error
    found = tuple(MeasuredLaunch(one.kernel, dict(one.metrics)) for one in launches if one.metrics)
    if not found:
        raise CaseError("a report without launches", where=str(path))
    return tuple(_completed(one) for one in found)


def choose_launch(
    launches: tuple[MeasuredLaunch, ...], kernel: str, row: int | None, where: str
) -> MeasuredLaunch:
    """The launch to compare with: number ``row`` of the file, or the only one of ``kernel``.

    Raises CaseError where there is none such, or more than one.
    """
    if row is not None:
        if not 0 <= row < len(launches):
            last = len(launches) - 1
            raise CaseError(f"row {row}: the file has rows 0 to {last}", where=where)
        return launches[row]
    named = [one for one in launches if one.kernel is None or _base(one.kernel) == _base(kernel)]
    if len(named) != 1:
        what = f"{len(named)} launches" if named else "no launch"
        others = dict.fromkeys(_base(one.kernel) for one in launches if one.kernel)
        has = "" if named or not others else f" (it has {', '.join(list(others)[:_NAMED])})"
        hint = "choose one by its row, from 0"
        raise CaseError(f"{what} of '{kernel}'{has}", where=where, hint=hint)
    return named[0]


def _base(name: str) -> str:
    """A kernel's name without return type, parameters and template arguments."""
    return name.split("(")[0].split("<")[0].split()[-1].split("::")[-1] if name.strip() else ""


def _from_csv(text: str) -> list[MeasuredLaunch]:
    # The profiler's own messages come before the table.
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    if set(_LONG) <= set(rows[0]):
        return _metric_rows(rows)
    units: dict[str, str] = {}
    first = {k: v for k, v in rows[0].items() if k and "__" in k}
    if first and all(_number(v) is None for v in first.values()):
        units = {k: v or "" for k, v in rows.pop(0).items() if k}
    found = []
    for row in rows:
        values = {k: _value(v, units.get(k, "")) for k, v in row.items() if k}
        known = {k: v for k, v in values.items() if v is not None}
        if any("__" in k for k in known):
            found.append(MeasuredLaunch(row.get("Kernel Name"), known))
    return found


def _metric_rows(rows: list[dict[str, str]]) -> list[MeasuredLaunch]:
    launches: dict[str, tuple[str | None, dict[str, float]]] = {}
    for row in rows:
        _, values = launches.setdefault(row.get("ID", ""), (row.get("Kernel Name"), {}))
        value = _value(row["Metric Value"], row.get("Metric Unit") or "")
        if value is not None:
            values[row["Metric Name"]] = value
    return [MeasuredLaunch(name, values) for name, values in launches.values() if values]


def _value(text: str | None, unit: str) -> float | None:
    number = _number(text)
    if number is None:
        return None
    if unit.endswith("byte"):
        return number * _PREFIX.get(unit[0], 1.0)
    return number * _NANOSECONDS.get(unit, 1.0)


def _number(text: str | None) -> float | None:
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _from_json(text: str, path: Path) -> list[MeasuredLaunch]:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CaseError(f"not valid JSON: {error}", where=str(path)) from error
    return [MeasuredLaunch(name, values) for name, values in _launches(data, None)]


def _launches(data: Any, kernel: str | None) -> Iterator[tuple[str | None, dict[str, float]]]:
    """Wherever an object has counters, as members or as a list of names and values."""
    if isinstance(data, list):
        listed = _named_values(data)
        if listed:
            yield kernel, listed
            return
        for item in data:
            yield from _launches(item, kernel)
        return
    if not isinstance(data, dict):
        return
    name = next(
        (data[k] for k in ("KernelFunction", "KernelName", "kernel_name") if k in data), kernel
    )
    own = {
        k: float(v)
        for k, v in data.items()
        if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)
    }
    if any("__" in k for k in own):
        yield name, own
        return
    for item in data.values():
        yield from _launches(item, name)


def _named_values(items: list[Any]) -> dict[str, float]:
    """``[{"name": …, "value": …}, …]``, in either way of writing the keys."""
    found: dict[str, float] = {}
    for item in items:
        if not isinstance(item, dict):
            return {}
        lower = {str(k).lower(): v for k, v in item.items()}
        name, value = lower.get("name"), lower.get("value")
        if not isinstance(name, str) or isinstance(value, bool):
            return {}
        if "__" in name and isinstance(value, int | float) and math.isfinite(value):
            found[name] = float(value)
    return found
