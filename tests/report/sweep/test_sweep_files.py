"""Sweeps as tables, figures and text."""

import csv
import sys

import pytest
from rich.console import Console
from swept import invented, plan_of, written_case

from placewise.report.sweep.plot import draw_sweep
from placewise.report.sweep.table_file import table_suffix, write_table
from placewise.report.sweep.text import render_sweep
from placewise.sweep import sweep
from placewise.sweep.store import Outcome


def partly(task):
    return Outcome(error="no clock") if task.machine == "H100" else invented(task)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    return sweep(plan_of(written_case(folder)), folder / "s", workers=1, predict=partly)


def test_csv_and_parquet_hold_the_same_rows(result, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    records = result.records()
    write_table(records, tmp_path / "a.parquet")
    write_table(records, tmp_path / "a.csv")
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == records
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert [row["key"] for row in rows] == [record["key"] for record in records]
    for row, record in zip(rows, records, strict=True):
        ms = record["milliseconds"]
        assert (float(row["milliseconds"]) if row["milliseconds"] else None) == ms


def test_columns_of_several_types_become_words(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [{"a": 1, "b": 2}, {"a": "x", "b": 0.5}, {"a": None, "b": None}]
    write_table(records, tmp_path / "a.parquet")
    found = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert found == [{"a": "1", "b": 2.0}, {"a": "x", "b": 0.5}, {"a": None, "b": None}]


def test_without_pyarrow_the_table_is_csv(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("placewise.report.sweep.table_file.find_spec", lambda name: None)
    assert table_suffix() == ".csv"


def test_the_figure_has_a_line_for_each_machine_with_times(result, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "placewise.report.sweep.plot.write_drawing", lambda figure, path: drawn.append(figure)
    )
    draw_sweep(result, tmp_path / "times.svg")
    (axes,) = drawn[0].axes
    assert axes.get_xlabel() == "n"
    (line,) = axes.lines
    assert line.get_label() == "A100"
    # The fastest of each n has the largest block and the least unrolling.
    assert [list(p) for p in line.get_xydata()] == [
        [n, n / 256 + 1 + 4] for n in (1024, 2048, 4096)
    ]


def test_the_text_names_the_fastest_and_each_error_once(result):
    console = Console(width=140, record=True, file=None, quiet=False)
    with console.capture() as shown:
        console.print(render_sweep(result))
    text = shown.get()
    assert text.count("block=256, unroll=1") == 3
    assert text.count("24 failed: no clock") == 1
    assert "48 predictions: 48 made now, 0 stored before, 24 failed" in text
