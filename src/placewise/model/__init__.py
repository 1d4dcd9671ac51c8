"""Models: counters in, a prediction with named parts out."""

from placewise.model.base import Model, PathTime, Prediction, Term
from placewise.model.latency import latency_model
from placewise.model.path import path_model
from placewise.model.uncertainty import Ratio, relative

__all__ = [
    "Model",
    "PathTime",
    "Prediction",
    "Ratio",
    "Term",
    "latency_model",
    "path_model",
    "relative",
]
