"""Rows of a sweep as a file for other programs: Parquet, or CSV."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from placewise.errors import PlacewiseError
from placewise.output_file import write_whole


def table_suffix() -> str:
    """``.parquet`` where pyarrow is installed, else ``.csv``."""
    return ".parquet" if find_spec("pyarrow") is not None else ".csv"


def write_table(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write one row for each of ``records``, which have the same keys. The format follows from the
    path's suffix. Raises PlacewiseError where the file cannot be written."""
    if path.suffix != ".parquet":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        write_whole(path, text.getvalue())
        return
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: _column([record[name] for record in records]) for name in records[0]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".placewise-") as staging:
            made = Path(staging) / path.name
            parquet.write_table(pa.table(columns), made)
            made.replace(path)
    except OSError as error:
        raise PlacewiseError(f"cannot be written: {error}", where=str(path)) from error


def _column(values: list[Any]) -> list[Any]:
    """``values`` with one type: if a column has both numbers and words, all become words."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds == {int, float}:
        return [float(v) if kinds == {int, float} and v is not None else v for v in values]
    return [None if value is None else str(value) for value in values]
