"""CUDA C++ kernels, each around one thing that the language or the hardware offers.

Each is ``(source, launch, arguments, constants)``. Those in ``SCHEDULED`` compute one result
whatever the schedule, but how often they access memory until then depends on it.
"""

import constructs_of_control  # noqa: F401
import constructs_of_memory  # noqa: F401
import constructs_of_values  # noqa: F401
from construct_table import CONSTRUCTS

__all__ = ["CONSTRUCTS", "SCHEDULED"]

SCHEDULED = {"lock_per_warp", "compare_and_swap_16"}
