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
from placewise.model.error import PATH_ERROR, PATH_ERROR_RERUN, Bin, ErrorBand, error_of
from placewise.model.latency import latency_model
from placewise.model.path import path_model
from placewise.model.timeline import timeline_model
from placewise.model.uncertainty import Ratio, relative, relative_times

__all__ = [
    "PATH_ERROR",
    "PATH_ERROR_RERUN",
    "Bin",
    "ErrorBand",
    "Evidence",
    "Model",
    "OfCounters",
    "PathTime",
    "Prediction",
    "Ratio",
    "Term",
    "TimeModel",
    "error_of",
    "latency_model",
    "path_model",
    "relative",
    "relative_times",
    "timeline_model",
]
