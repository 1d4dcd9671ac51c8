"""How a front end turns one argument of the user's into several parameters of the kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NumbaArray:
    """An array, which Numba passes as two null pointers (the object that owns the memory, and its
    parent), elements, bytes per element, the address, and extents and strides (in bytes) of all
    dimensions, 64 bits each."""

    dtype: str
    dimensions: int


@dataclass(frozen=True)
class NumbaScalar:
    """A number, converted to ``dtype``; complex ones are passed as two."""

    dtype: str


Passing = NumbaArray | NumbaScalar
