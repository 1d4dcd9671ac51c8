"""The table of measured and predicted counters, a row for each configuration.

It is written after every row, so that a run that was cut short goes on where it ended.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_FIXED = ("kernel", "row", "registers", "predicted_registers")
_PREDICTED = " predicted"


@dataclass(frozen=True)
class Compared:
    """One configuration."""

    kernel: str
    number: int
    """Row in the file of recorded counters, from 0."""
    registers: tuple[int, int]
    """Measured, predicted."""
    counters: Mapping[str, tuple[float, float]]
    """(measured, predicted) by metric name."""

    def has(self, counter: str) -> bool:
        """Whether it was measured to be more than nothing."""
        return self.counters[counter][0] > 0


def read_table(path: Path) -> list[Compared]:
    """Rows of a table that :func:`write_table` wrote; none where there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return [_row(record) for record in csv.DictReader(file)]


def _row(record: Mapping[str, str]) -> Compared:
    names = [n for n in record if n not in _FIXED and not n.endswith(_PREDICTED)]
    return Compared(
        record["kernel"],
        int(record["row"]),
        (int(record["registers"]), int(record["predicted_registers"])),
        {n: (float(record[n]), float(record[n + _PREDICTED])) for n in names},
    )


def write_table(path: Path, rows: Iterable[Compared], counters: Sequence[str]) -> None:
    """Write all rows, in order; the file is whole at any time."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*_FIXED, *(f"{c}{s}" for c in counters for s in ("", _PREDICTED))])
        for row in sorted(rows, key=lambda r: (r.kernel, r.number)):
            values = (f"{v:.10g}" for c in counters for v in row.counters[c])
            writer.writerow([row.kernel, row.number, *row.registers, *values])
    part.replace(path)
