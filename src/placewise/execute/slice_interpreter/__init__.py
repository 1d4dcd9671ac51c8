"""A few blocks of a launch in outline: the path of every warp and the addresses of every access.

What decides neither is left out, so that most kernels' arithmetic is never done; nothing is
compiled, and a first look at a kernel takes a fraction of the time that its translation would.
"""

from placewise.execute.slice_interpreter.backward_slice import PathTooLongError
from placewise.execute.slice_interpreter.run import WORK, Accesses, Sketch, sketch

__all__ = ["WORK", "Accesses", "PathTooLongError", "Sketch", "sketch"]
