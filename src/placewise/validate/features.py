"""Features of a configuration that are known before its kernel is compiled: its parameters and its
launch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case_file import CaseFamily
from placewise.kernel.cases.strict_model import Parameter
from placewise.memory.occupancy import WARP_SIZE

Configuration = tuple[tuple[str, Parameter], ...]
"""(parameter, value) of each parameter of a kernel."""
_WIDE = 4.0
"""Positive numbers are taken by their logarithm if the largest is at least this many times the
least."""


def parameter_features(configurations: Sequence[Configuration]) -> NDArray[np.float64]:
    """(n, features) from the parameters alone: one feature for a number, and for a choice among
    names one feature for each name."""
    columns: list[NDArray[np.float64]] = []
    for name, first in configurations[0]:
        values = [dict(configuration)[name] for configuration in configurations]
        if isinstance(first, str):
            columns += [np.array([v == one for v in values], np.float64) for one in sorted(
                {str(v) for v in values})]  # fmt: skip
            continue
        numbers = np.array(values, np.float64)
        if numbers.min() > 0 and numbers.max() >= _WIDE * numbers.min():
            numbers = np.log2(numbers)
        columns.append(numbers)
    return normalized(np.stack(columns, axis=1))


def launch_features(
    family: CaseFamily, configurations: Sequence[Configuration]
) -> NDArray[np.float64]:
    """(n, features) from the parameters and from the launches that a case file makes of them:
    blocks, threads, how full warps are, whether the grid goes beyond the problem, and how far.
    Whether it does matters most, since otherwise kernels need no tests at their edges."""
    found = []
    for configuration in configurations:
        shape = family.shape(dict(configuration))
        blocks, threads = math.prod(shape.grid), math.prod(shape.block)
        warps = -(-threads // WARP_SIZE)
        found.append(
            (
                math.log2(blocks),
                math.log2(threads),
                math.log2(blocks * threads),
                threads / (warps * WARP_SIZE),
                shape.covered,
                float(shape.covered > 1.0),
            )
        )
    return np.concatenate([parameter_features(configurations), normalized(np.array(found))], axis=1)


def normalized(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """``features`` with columns scaled to mean 0 and standard deviation 1; constant columns are
    left out."""
    spread = features.std(axis=0)
    kept = spread > 1e-12
    centred = features[:, kept] - features[:, kept].mean(axis=0)
    found: NDArray[np.float64] = centred / spread[kept]
    return found
