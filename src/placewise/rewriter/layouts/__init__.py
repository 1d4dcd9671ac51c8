"""Kernels rewritten to another layout of their arrays of structs, with the host's conversions."""

from placewise.rewriter.layouts.host_conversion import cpp_conversion, numpy_conversion
from placewise.rewriter.layouts.rewrite_layout import Relaid, original_arrays, rewrite_layout

__all__ = [
    "Relaid",
    "cpp_conversion",
    "numpy_conversion",
    "original_arrays",
    "rewrite_layout",
]
