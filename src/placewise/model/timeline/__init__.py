"""Placewise's own time model: the warps of one SM on a timeline, from executed machine code."""

from placewise.model.timeline.model import TimelineModel, timeline_model

__all__ = ["TimelineModel", "timeline_model"]
