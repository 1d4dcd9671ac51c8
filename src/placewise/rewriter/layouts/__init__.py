"""Rewrites kernels for other layouts of their arrays, with host code that converts the arrays."""

from placewise.rewriter.layouts.host_conversion import cpp_conversion, numpy_conversion
from placewise.rewriter.layouts.matrix_conversion import (
    cpp_matrix_conversion,
    numpy_matrix_conversion,
)
from placewise.rewriter.layouts.rewrite_layout import (
    KernelArrays,
    Relaid,
    original_arrays,
    rewrite_layout,
    rewrite_together,
)
from placewise.rewriter.layouts.rewrite_matrices import (
    Reordered,
    original_matrices,
    rewrite_matrices,
)

__all__ = [
    "KernelArrays",
    "Relaid",
    "Reordered",
    "cpp_conversion",
    "cpp_matrix_conversion",
    "numpy_conversion",
    "numpy_matrix_conversion",
    "original_arrays",
    "original_matrices",
    "rewrite_layout",
    "rewrite_matrices",
    "rewrite_together",
]
