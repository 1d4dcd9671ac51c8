"""How two arrays of results differ: bit for bit, and in units of the last place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class OutputCheck:
    """One output array beside what it should be."""

    array: str
    identical: bool
    """Whether all its bits are as they should be."""
    different: int
    """Elements that differ."""
    elements: int
    max_ulp: int | None
    """Largest difference in units of the last place; None where not floating-point, or where one
    side alone is not a number."""


def compare(name: str, expected: NDArray[np.generic], found: NDArray[np.generic]) -> OutputCheck:
    """Compare two arrays of the same dtype and shape."""
    expected, found = expected.ravel(), found.ravel()
    width = expected.dtype.itemsize
    unlike = np.any(
        expected.view(np.uint8).reshape(-1, width) != found.view(np.uint8).reshape(-1, width),
        axis=1,
    )
    different = int(unlike.sum())
    ulp = max_ulp(expected[unlike], found[unlike]) if different else 0
    return OutputCheck(name, different == 0, different, expected.size, ulp)


def max_ulp(a: NDArray[np.generic], b: NDArray[np.generic]) -> int | None:
    """Largest distance of two equally shaped arrays, counted in representable numbers.

    Two NaNs are no distance apart, and neither are the two zeros. None for arrays that are not
    float16, float32 or float64, and where only one side is NaN.
    """
    if a.dtype.kind != "f" or a.dtype.itemsize > 8:
        return None
    a_nan, b_nan = np.isnan(a), np.isnan(b)
    if not np.array_equal(a_nan, b_nan):
        return None
    numbers = ~a_nan
    steps = [_steps(x[numbers]) for x in (a, b)]
    if not steps[0].size:
        return 0
    # The difference of two 64-bit positions can exceed 64 bits signed, never unsigned.
    larger, smaller = np.maximum(*steps), np.minimum(*steps)
    return int((larger.view(np.uint64) - smaller.view(np.uint64)).max())


def _steps(x: NDArray[np.generic]) -> NDArray[np.int64]:
    """Position of each float on the line of representable numbers, zero at 0."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(np.iinfo(f"i{x.dtype.itemsize}").min)
    return np.where(bits < 0, lowest - bits, bits)
