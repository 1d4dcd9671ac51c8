"""Results of a validation as a table."""

from pathlib import Path

import numpy as np

from placewise import load_machine
from placewise.recorded.time_tables import MeasuredTime, TimeTable
from placewise.validate.validate import ModelResult, TableResult


def test_each_model_has_a_row_for_what_it_answers():
    times = tuple(MeasuredTime((("TILE", n), ("KIND", "a")), 100.0 * n) for n in (1, 2, 3))
    table = TimeTable(Path("times.csv"), None, times, 0)

    def model(name, rows):
        value = np.array([10.0 * n for n in rows])
        return ModelResult(name, rows, value, value - 1, value + 1, True, (), None, ())

    models = (model("one", (0, 2)), model("two", (1,)))
    frame = TableResult(table, load_machine("A100"), times, models).to_dataframe()
    columns = ["TILE", "KIND", "model", "measured_ns", "predicted", "low", "high"]
    assert list(frame.columns) == columns
    assert frame.to_numpy().tolist() == [
        [1, "a", "one", 100.0, 0.0, -1.0, 1.0],
        [3, "a", "one", 300.0, 20.0, 19.0, 21.0],
        [2, "a", "two", 200.0, 10.0, 9.0, 11.0],
    ]
