"""Interprets a program slice: the path of every warp and every address of a few blocks of a launch.

Instructions that decide neither a path nor an address are left out, which is most of a kernel's
arithmetic. Nothing is compiled, so this takes a fraction of the time of compiling the kernel.
"""

from placewise.executor.slice_interpreter.backward_slice import PathTooLongError
from placewise.executor.slice_interpreter.kept_accesses import Accesses
from placewise.executor.slice_interpreter.run import WORK, SlicedTrace, slice_launch

__all__ = ["WORK", "Accesses", "PathTooLongError", "SlicedTrace", "slice_launch"]
