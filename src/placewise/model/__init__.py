"""Models: counters in, a prediction with named parts out."""

from placewise.model.base import (
    Evidence,
    Model,
    OfCounters,
    PathTime,
    Prediction,
    Term,
    TimeModel,
)
from placewise.model.error import ErrorBand
from placewise.model.latency import latency_model
from placewise.model.pair_error import PairError
from placewise.model.path import path_model
from placewise.model.timeline import timeline_model
from placewise.model.uncertainty import SAME, Ratio, moved_atomics, relative, relative_times

__all__ = [
    "SAME",
    "ErrorBand",
    "Evidence",
    "Model",
    "OfCounters",
    "PairError",
    "PathTime",
    "Prediction",
    "Ratio",
    "Term",
    "TimeModel",
    "latency_model",
    "moved_atomics",
    "path_model",
    "relative",
    "relative_times",
    "timeline_model",
]
