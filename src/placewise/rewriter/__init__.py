"""Writes placements as CUDA C++ or PTX."""

from placewise.rewriter.chunked_loops import ASYNC_COPIES
from placewise.rewriter.rewrite import rewrite
from placewise.rewriter.rewritten import Rewritten

__all__ = ["ASYNC_COPIES", "Rewritten", "rewrite"]
