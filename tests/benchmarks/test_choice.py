"""The benchmark of choices keeps what it does not make anew."""

import json
from dataclasses import asdict

from benchmarks import choice
from benchmarks.results import Figure


def test_tables_that_are_not_searched_keep_predictions_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "RESULTS", tmp_path)
    monkeypatch.setattr(choice, "ROWS", tmp_path / "choice_rows.csv")
    first, second = choice.NAMES
    lines = [",".join(choice._HEADER), f"{first},1 2,30,40", f"{second},3 4,50,60"]
    choice.ROWS.write_text("\n".join(lines) + "\n")
    choice.forget([second])
    assert choice.ROWS.read_text().splitlines() == lines[:2]

    figures = [
        Figure(f"{first}: refused", 0, "configurations", "0", True),
        Figure(f"{first}, 9 rows of known clock: Spearman", 0.9, "", "", True),
        Figure(f"{second}: refused", 1, "configurations", "0", False),
    ]
    (tmp_path / "choice.json").write_text(json.dumps([asdict(f) for f in figures]))
    assert choice.finished(first) == figures[:2]


def test_without_earlier_results_there_is_nothing_to_keep(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "RESULTS", tmp_path)
    monkeypatch.setattr(choice, "ROWS", tmp_path / "choice_rows.csv")
    choice.forget(choice.NAMES)
    assert choice.ROWS.read_text() == ",".join(choice._HEADER) + "\n"
    assert choice.finished(choice.NAMES[0]) == []
