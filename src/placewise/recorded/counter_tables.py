"""Tables of counters as text: Nsight Compute's CSV in either form, and tables of configurations.

What a profiler writes is seldom the table alone: its own messages (``==PROF==``) and the output of
the profiled program stand before and between the rows, and numbers are written as the locale has
them.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from placewise.recorded.recorded_launch import Dimensions, MeasuredLaunch, in_base_units

_NAME, _VALUE, _UNIT = "Metric Name", "Metric Value", "Metric Unit"
_LABELS = {
    "Duration": "gpu__time_duration.sum",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Registers Per Thread": "launch__registers_per_thread",
    "Block Size": "launch__block_size",
    "Grid Size": "launch__grid_size",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
"""What the profiler's pages call counters where it is not told to write their names."""
_COMMA = re.compile(r"-?(\d{1,3}(\.\d{3})+,\d+|\d+,(\d{1,2}|\d{4,})|\d{1,3}(\.\d{3}){2,})")
"""Numbers that have a decimal comma, or points between thousands; ``1.234`` may be either."""
_POINT = re.compile(r"-?(\d{1,3}(,\d{3})+\.\d+|\d+\.(\d{1,2}|\d{4,})|\d{1,3}(,\d{3}){2,})")
"""Numbers that have a decimal point, or commas between thousands."""
_SPACES = str.maketrans("", "", " '\u2019\u00a0\u202f")
"""Characters, beside comma and point, that some locales write between thousands."""
Row = Mapping[str, str]


def launches_of(text: str) -> list[MeasuredLaunch]:
    """All launches of a table in their order; none where ``text`` has no table of counters."""
    header, rows = _table(text.splitlines())
    if {_NAME, _VALUE} <= set(header):
        return _row_per_metric(rows)
    counters = [column for column in header if "__" in column]
    units: Row = {}
    if rows and all(_number(rows[0][c], comma=False) is None for c in counters):
        units, rows = rows[0], rows[1:]
    comma = _decimal_comma(row[c] for row in rows for c in counters)
    found = []
    for row in rows:
        values = {k: _value(v, units.get(k, ""), comma=comma) for k, v in row.items()}
        known = {k: v for k, v in values.items() if v is not None}
        if any("__" in k for k in known):
            found.append(_launch(row, known))
    return found


def _table(lines: Iterable[str]) -> tuple[list[str], list[Row]]:
    """Columns and rows, without what is no part of the table."""
    header: list[str] = []
    rows: list[Row] = []
    delimiter = ","
    for line in lines:
        if not header:
            delimiter = ";" if line.count(";") > line.count(",") else ","
        try:
            cells = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:  # output of the profiled program: a cell of more than 128 KB
            continue
        if not header:
            header = cells if _is_header(cells) else []
        elif _is_row(cells, header):
            rows.append(dict(zip(header, cells, strict=False)))
    return header, rows


def _is_header(cells: Sequence[str]) -> bool:
    return {_NAME, _VALUE} <= set(cells) or (
        len(cells) > 1 and any("__" in c and _number(c, comma=False) is None for c in cells)
    )


def _is_row(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Whether cells are a row of the table. Nsight Compute's rows have the number of a launch, but
    for its row of units, and may lack the last columns; rows of other tables have all columns."""
    if "ID" not in header:
        return len(cells) == len(header)
    last = header.index(_VALUE) if _VALUE in header else len(header) - 1
    number = header.index("ID")
    return len(cells) > max(last, number) and (not cells[number] or cells[number].isdecimal())


def _row_per_metric(rows: Sequence[Row]) -> list[MeasuredLaunch]:
    comma = _decimal_comma(row[_VALUE] for row in rows)
    launches: dict[str, tuple[Row, dict[str, float]]] = {}
    for row in rows:
        _, values = launches.setdefault(row.get("ID", ""), (row, {}))
        name = _LABELS.get(row[_NAME], row[_NAME])
        value = _value(row[_VALUE], row.get(_UNIT, ""), comma=comma)
        if value is not None and "__" in name:
            values[name] = value
    return [_launch(row, values) for row, values in launches.values() if values]


def _launch(row: Row, values: Mapping[str, float]) -> MeasuredLaunch:
    return MeasuredLaunch(
        row.get("Kernel Name"),
        values,
        grid=_dimensions(row.get("Grid Size", "")),
        block=_dimensions(row.get("Block Size", "")),
        capability=_capability(row.get("CC", "")),
        settings={k: v for k, v in row.items() if "__" not in k},
    )


def _dimensions(text: str) -> Dimensions | None:
    """Dimensions from text like ``(256, 1, 1)``."""
    numbers = re.findall(r"\d+", text)
    return (int(numbers[0]), int(numbers[1]), int(numbers[2])) if len(numbers) == 3 else None


def _capability(text: str) -> tuple[int, int] | None:
    major, point, minor = text.partition(".")
    known = point and major.isdecimal() and minor.isdecimal()
    return (int(major), int(minor)) if known else None


def _value(text: str, unit: str, *, comma: bool) -> float | None:
    number = _number(text, comma=comma)
    return None if number is None else in_base_units(number, unit)


def _decimal_comma(cells: Iterable[str]) -> bool:
    """Whether the numbers of a table have a decimal comma; a point where they leave it open."""
    plain = [cell.translate(_SPACES) for cell in cells]
    return any(map(_COMMA.fullmatch, plain)) and not any(map(_POINT.fullmatch, plain))


def _number(text: str, *, comma: bool) -> float | None:
    # Values of single instances may follow that of all: 12 (4; 8).
    plain = text.partition(" (")[0].translate(_SPACES)
    thousands, decimal = (".", ",") if comma else (",", ".")
    try:
        value = float(plain.replace(thousands, "").replace(decimal, "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
