"""Counters that a profiler recorded, from the files that people have.

Read are reports of Nsight Compute (``.ncu-rep``), its CSV (``ncu --csv``: a row per metric; ``ncu
--csv --page raw``: a row per launch), CSV files with a row per configuration and metric names as
columns, and JSON of KTT and of Kernel Tuner (its cache files, and results in the format that both
write).
"""

from __future__ import annotations

import codecs
import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from placewise.errors import CaseError, reading
from placewise.recorded.counter_tables import launches_of
from placewise.recorded.ncu_report import MAGIC, read_report
from placewise.recorded.recorded_launch import (
    REGISTERS,
    Dimensions,
    Executed,
    MeasuredLaunch,
    base_name,
    differences,
    in_base_units,
    named_alike,
    notable,
)

_EXPORT = "export it: ncu --import FILE --csv --page raw > counters.csv"
_MOST_BYTES = 1 << 28
"""Most bytes of a file, unpacked."""
_LEAST, _MOST = 1e-30, 1e30
"""Between them, in base units, are all counters, times, rates and shares."""
_NAMED = 6
"""Most kernels that a message names."""
_TOLD = 3
"""Most differences that a message names."""
_SECTOR = 32
_OF_BYTES = {
    "dram__sectors_read.sum": "dram__bytes_read.sum",
    "dram__sectors_write.sum": "dram__bytes_write.sum",
}
"""Counters that follow from those of bytes, which are collected more often."""
_KERNEL = ("KernelFunction", "KernelName", "kernel_name")
_SETTINGS = ("Configuration", "configuration")


def read_recorded(path: Path, what: str) -> bytes:
    """A file of measured ``what``, unpacked where its name ends in .gz; raises CaseError."""
    try:
        with path.open("rb") as file:
            packed = path.suffix == ".gz"
            data = (gzip.GzipFile(fileobj=file) if packed else file).read(_MOST_BYTES + 1)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaseError(f"cannot read the measured {what}: {reason}", where=str(path)) from error
    if len(data) > _MOST_BYTES:
        raise CaseError(
            f"more than {_MOST_BYTES >> 20} MiB of measured {what}",
            where=str(path),
            hint="keep the rows and columns that are needed",
        )
    return data


def decoded(data: bytes, path: Path, what: str) -> str:
    """The text of a file's bytes; raises CaseError where they are none."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # a Windows shell's ">"
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(
            f"cannot read the measured {what}: {error}",
            where=str(path),
            hint="text is read as UTF-8, or as UTF-16 with a byte order mark",
        ) from error


def read_measured(path: Path) -> tuple[MeasuredLaunch, ...]:
    """All launches of a file, in its order.

    Raises CaseError for a file that cannot be read or has no counters.
    """
    data = read_recorded(path, "counters")
    if path.suffix == ".ncu-rep" or data[: len(MAGIC)] == MAGIC:
        return _from_report(data, path)
    text = decoded(data, path, "counters")
    if text.lstrip()[:1] in ("{", "["):
        found = _from_json(text, path)
    else:
        with reading("table of counters", path, CaseError):
            found = launches_of(text)
    if not found:
        raise CaseError(
            "no counters of any launch in this file",
            where=str(path),
            hint="metric names look like lts__t_sectors_op_read.sum; ncu --csv writes them with "
            "--page raw",
        )
    return tuple(_completed(_plausible(one, path)) for one in found)


def _plausible(launch: MeasuredLaunch, path: Path) -> MeasuredLaunch:
    """The launch; raises CaseError for a value that no profiler can have counted."""
    for name, value in launch.values.items():
        if value and not _LEAST < abs(value) < _MOST:
            raise CaseError(
                f"{name} is {value:g}, which no profiler counts",
                where=str(path),
                hint="correct or leave out this counter",
            )
    return launch


def _completed(launch: MeasuredLaunch) -> MeasuredLaunch:
    """The launch with the counters that follow from others."""
    values = dict(launch.values)
    for sectors, of_bytes in _OF_BYTES.items():
        if of_bytes in values:
            values.setdefault(sectors, values[of_bytes] / _SECTOR)
    return replace(launch, values=values)


def _from_report(data: bytes, path: Path) -> tuple[MeasuredLaunch, ...]:
    with reading("report of Nsight Compute", path, CaseError, hint=_EXPORT):
        launches = read_report(data)
    found = tuple(MeasuredLaunch(one.kernel, dict(one.metrics)) for one in launches if one.metrics)
    if not found:
        raise CaseError("a report without launches", where=str(path))
    return tuple(_completed(_plausible(one, path)) for one in found)


def choose_launch(
    launches: tuple[MeasuredLaunch, ...], executed: Executed, row: int | None, where: str
) -> MeasuredLaunch:
    """The launch to compare with: number ``row`` of the file, or the only one that can be of what
    is ``executed``.

    Raises CaseError where there is none such, or more than one.
    """
    if row is not None:
        if not 0 <= row < len(launches):
            last = len(launches) - 1
            raise CaseError(f"row {row}: the file has rows 0 to {last}", where=where)
        return launches[row]
    name = executed.kernel
    hint = "choose one by its row, from 0"
    named = [one for one in launches if named_alike(one.kernel, name)]
    if not named:
        others = dict.fromkeys(base_name(one.kernel) for one in launches if one.kernel)
        has = f"it has {', '.join(list(others)[:_NAMED])}"
        raise CaseError(f"no launch of '{name}' ({has})", where=where, hint=hint)
    differing = {id(one): differences(one, executed) for one in named}
    alike = [one for one in named if not differing[id(one)]]
    if len(alike) > 1:
        nameless = all(one.kernel is None for one in alike)
        what = (
            "launches, of which the file names no kernel" if nameless else f"launches of '{name}'"
        )
        raise CaseError(f"{len(alike)} {what}", where=where, hint=hint)
    if not alike:
        # Name the differences of the launch that differs least.
        told = min(differing.values(), key=len)
        which = "this is another launch" if len(named) == 1 else "all launches are others"
        raise CaseError(
            f"{which} of '{name}': {'; '.join(told[:_TOLD])}",
            where=where,
            hint="a row (from 0) is compared all the same",
        )
    return alike[0]


def launch_and_differences(
    launches: tuple[MeasuredLaunch, ...], executed: Executed, row: int | None, where: str
) -> tuple[MeasuredLaunch, tuple[str, ...]]:
    """The launch that :func:`choose_launch` chooses, and in words how it differs from what is
    ``executed``."""
    launch = choose_launch(launches, executed, row, where)
    return launch, (*differences(launch, executed), *notable(launch, executed))


def _from_json(text: str, path: Path) -> list[MeasuredLaunch]:
    with reading("JSON file", path, CaseError):
        return list(_launches(json.loads(text), MeasuredLaunch(None, {})))


def _launches(data: Any, around: MeasuredLaunch) -> Iterator[MeasuredLaunch]:
    """Wherever an object has counters, as members or as a list of names and values; ``around``
    says what the objects around it tell of the launch."""
    if isinstance(data, list):
        listed = _named_values(data)
        if listed:
            yield replace(around, values={**around.values, **listed})
            return
        for item in data:
            yield from _launches(item, around)
        return
    if not isinstance(data, dict):
        return
    around = replace(
        around,
        kernel=next((str(data[k]) for k in _KERNEL if data.get(k)), around.kernel),
        block=_dimensions(data.get("LocalSize")) or around.block,
        settings={**around.settings, **_settings(data)},
        values={**around.values, **_compiled(data.get("CompilationData"))},
    )
    own = {k: number for k, v in data.items() if (number := _finite(v)) is not None}
    if any("__" in k for k in own):
        members = {k: str(v) for k, v in data.items() if isinstance(v, int | float | str)}
        yield replace(
            around, values={**around.values, **own}, settings={**around.settings, **members}
        )
        return
    for item in data.values():
        yield from _launches(item, around)


def _dimensions(data: Any) -> Dimensions | None:
    """Grid or block dimensions as KTT writes them."""
    x, y, z = (data.get(axis) for axis in "XYZ") if isinstance(data, dict) else (None, None, None)
    if isinstance(x, int) and isinstance(y, int) and isinstance(z, int):
        return x, y, z
    return None


def _compiled(data: Any) -> dict[str, float]:
    """Registers and memory sizes that KTT takes from the compiler."""
    registers = data.get("RegistersCount") if isinstance(data, dict) else None
    return {REGISTERS: float(registers)} if isinstance(registers, int) and registers > 0 else {}


def _settings(data: Mapping[str, Any]) -> dict[str, str]:
    """A tuner's parameters: KTT lists names and values, Kernel Tuner has an object of them."""
    found: dict[str, str] = {}
    for key in _SETTINGS:
        one = data.get(key)
        if isinstance(one, dict):
            found |= {str(k): str(v) for k, v in one.items()}
        for item in one if isinstance(one, list) else ():
            if isinstance(item, dict) and "Name" in item and "Value" in item:
                found[str(item["Name"])] = str(item["Value"])
    return found


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
        number = _finite(value)
        if "__" in name and number is not None:
            found[name] = in_base_units(number, str(lower.get("unit", "")))
    return found


def _finite(value: Any) -> float | None:
    """A number of JSON that floating point has; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # JSON's integers have any length
        return None
