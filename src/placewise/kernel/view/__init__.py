"""The user's source as libclang sees it: accesses, obstacles and per-block tiles."""

from placewise.kernel.view.analyse import analyse_source, bound_case, parameters_of
from placewise.kernel.view.kernel_constants import constants_of
from placewise.kernel.view.matrices import find_matrices
from placewise.kernel.view.struct_uses import find_struct_arrays
from placewise.kernel.view.tree.included_kernel import IncludedKernelError, inline_kernel_file

__all__ = [
    "IncludedKernelError",
    "analyse_source",
    "bound_case",
    "constants_of",
    "find_matrices",
    "find_struct_arrays",
    "inline_kernel_file",
    "parameters_of",
]
