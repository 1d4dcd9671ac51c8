"""Placements written out as CUDA C++."""

from placewise.rewrite.rewrite import rewrite
from placewise.rewrite.rewritten import Rewritten

__all__ = ["Rewritten", "rewrite"]
