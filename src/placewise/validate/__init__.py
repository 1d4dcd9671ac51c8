"""Compares predictions with measured times, to show how far each model can be trusted."""

from placewise.recorded.time_tables import MeasuredTime, TimeTable, read_times
from placewise.validate.figures import Accuracy, PlacementError
from placewise.validate.validate import ModelResult, TableResult, validate

__all__ = [
    "Accuracy",
    "MeasuredTime",
    "ModelResult",
    "PlacementError",
    "TableResult",
    "TimeTable",
    "read_times",
    "validate",
]
