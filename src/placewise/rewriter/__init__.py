"""Writes placements as CUDA C++ or PTX."""

from placewise.rewriter.rewrite import rewrite
from placewise.rewriter.rewritten import Rewritten

__all__ = ["Rewritten", "rewrite"]
