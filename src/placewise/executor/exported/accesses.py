"""The accesses of a launch as a table: one row for each access of a warp."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor.exported.warp_trace import BlockTrace
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.kernel import Kernel

_ROWS = 50_000
"""Rows written at a time."""


def write_accesses(path: Path, kernel: Kernel, traces: Iterable[BlockTrace]) -> int:
    """Write the accesses in ``traces`` to the Parquet file ``path``; returns the number of rows.

    Columns: ``block`` (linear number), ``warp``, ``at`` (position among the warp's instructions),
    ``phase`` (barriers passed), ``offset`` and ``opcode`` of the instruction, ``file``, ``line``,
    ``space``, ``kind``, ``array`` (null for shared and local memory), ``lane_bytes``, ``lanes`` (a
    bit for each active lane) and ``addresses`` (of the active lanes). Raises UnsupportedError where
    pyarrow is not installed, PlacewiseError where the file cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UnsupportedError(
            "Parquet files need pyarrow, which is not installed",
            hint="pip install 'placewise[parquet]'",
        ) from None
    types: Mapping[str, Any] = {
        "block": pa.int64(), "warp": pa.int32(), "at": pa.int64(), "phase": pa.int32(),
        "offset": pa.int64(), "opcode": pa.dictionary(pa.int32(), pa.string()),
        "file": pa.dictionary(pa.int32(), pa.string()), "line": pa.int32(),
        "space": pa.dictionary(pa.int32(), pa.string()),
        "kind": pa.dictionary(pa.int32(), pa.string()),
        "array": pa.dictionary(pa.int32(), pa.string()), "lane_bytes": pa.int32(),
        "lanes": pa.uint32(), "addresses": pa.list_(pa.int64()),
    }  # fmt: skip
    schema = pa.schema(list(types.items()))
    code = {i.offset: i for i in machine_code(kernel).instructions}
    count = 0
    rows: list[dict[str, Any]] = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".placewise-") as staging:
            made = Path(staging) / path.name
            with parquet.ParquetWriter(made, schema) as writer:
                for trace in traces:
                    rows += _rows(trace, code)
                    if len(rows) >= _ROWS:
                        writer.write_table(pa.Table.from_pylist(rows, schema))
                        count, rows = count + len(rows), []
                writer.write_table(pa.Table.from_pylist(rows, schema))
            made.replace(path)
    except OSError as error:
        raise PlacewiseError(
            f"cannot be written: {error.strerror or error}", where=str(path)
        ) from error
    return count + len(rows)


def _rows(trace: BlockTrace, code: Mapping[int, Any]) -> list[dict[str, Any]]:
    found = []
    for warp, instructions in enumerate(trace.warps):
        for at, executed in enumerate(instructions):
            touched = executed.touched
            if touched is None:
                continue
            instruction = code[executed.offset]
            file, line = instruction.place or (None, None)
            found.append(
                {
                    "block": trace.number,
                    "warp": warp,
                    "at": at,
                    "phase": touched.phase,
                    "offset": executed.offset,
                    "opcode": instruction.opcode,
                    "file": file,
                    "line": line,
                    "space": touched.space,
                    "kind": touched.kind,
                    "array": touched.array,
                    "lane_bytes": touched.lane_bytes,
                    "lanes": touched.lanes,
                    "addresses": touched.addresses,
                }
            )
    return found
