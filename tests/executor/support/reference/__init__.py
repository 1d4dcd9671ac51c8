"""A plain interpreter of PTX, one thread at a time: the oracle that the executor is judged by.

Integers are Python's, floating point is computed exactly and rounded once, memory is bytes. It is
slow on purpose: every rule is written as the PTX ISA words it, with no vectors, masks or compiler
in between.
"""

from reference.block import Result, interpret
from reference.memory import Access, KernelError

__all__ = ["Access", "KernelError", "Result", "interpret"]
