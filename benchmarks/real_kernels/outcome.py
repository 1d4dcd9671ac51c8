"""What a driver hands back: results of a device beside what they should be, and how near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Check:
    """One result array beside its reference."""

    name: str
    found: NDArray[np.generic]
    expected: NDArray[np.generic]
    """Same shape as ``found``; for floating point computed in a wider format or exactly."""
    allowed: NDArray[np.float64] | float
    """Largest allowed absolute difference, per element or for all; 0 where results are exact."""
    reason: str
    """Where ``allowed`` comes from."""

    @property
    def worst(self) -> float:
        """Largest difference as a share of what is allowed; at most 1 where the check holds."""
        if self.found.shape != self.expected.shape:
            return float("inf")
        if isinstance(self.allowed, float) and self.allowed == 0:
            return 0.0 if np.array_equal(self.found, self.expected) else float("inf")
        difference = np.abs(self.found.astype(np.float64) - self.expected.astype(np.float64))
        share = np.where(difference == 0, 0, difference / np.maximum(self.allowed, 1e-300))
        return float("inf") if np.isnan(share).any() else float(share.max(initial=0))


def exact(name: str, found: ArrayLike, expected: ArrayLike) -> Check:
    """Bit for bit the same values: integers, copies, and sums of small whole numbers."""
    values = np.asarray(found)
    return Check(name, values, np.asarray(expected).reshape(values.shape), 0.0, "exact")


def rounded(
    name: str,
    found: NDArray[np.floating],
    expected: ArrayLike,
    roundings: float,
    scale: ArrayLike | None = None,
    why: str = "",
) -> Check:
    """Results of at most ``roundings`` rounded operations one after another.

    Each of them errs by half a unit of the last place of ``scale`` (the magnitude of the terms,
    by default of the result): |found - expected| <= roundings * eps / 2 * scale, to first order
    (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). Twice that is
    allowed, for the operations that the compiler approximates to one unit of the last place.
    """
    reference = np.asarray(expected, np.float64).reshape(found.shape)
    size = np.abs(reference) if scale is None else np.broadcast_to(scale, found.shape)
    eps = float(np.finfo(found.dtype).eps)
    allowed = roundings * eps * size.astype(np.float64) + float(np.finfo(found.dtype).tiny)
    return Check(name, found, reference, allowed, f"{roundings:g} roundings{why and ': ' + why}")


def near(
    name: str, found: NDArray[np.generic], expected: ArrayLike, allowed: float, why: str
) -> Check:
    """Within an absolute difference that ``why`` explains."""
    return Check(name, found, np.asarray(expected).reshape(found.shape), allowed, why)
