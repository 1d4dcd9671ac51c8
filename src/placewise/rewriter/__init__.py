"""Placements written out as CUDA C++."""

from placewise.rewriter.rewrite import rewrite
from placewise.rewriter.rewritten import Rewritten

__all__ = ["Rewritten", "rewrite"]
