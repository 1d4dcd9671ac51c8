"""What is known of a configuration before its kernel is compiled: its parameters and its launch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case_file import CaseFamily
from placewise.kernel.cases.strict_model import Parameter

Configuration = tuple[tuple[str, Parameter], ...]
_WIDE = 4.0
"""Numbers whose greatest is so many times the least count by their logarithm."""
_WARP = 32


def parameter_features(configurations: Sequence[Configuration]) -> NDArray[np.float64]:
    """(n, features) of the parameters alone: a number each, and one for every name of a choice."""
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
    """(n, features) of the parameters and of the launches that a case file makes of them: blocks,
    threads, how full warps are, and how far the grid goes beyond the problem (whether at all
    matters most: where it does not, kernels need no tests at their edges)."""
    found = []
    for configuration in configurations:
        shape = family.shape(dict(configuration))
        blocks, threads = math.prod(shape.grid), math.prod(shape.block)
        warps = -(-threads // _WARP)
        found.append(
            (
                math.log2(blocks),
                math.log2(threads),
                math.log2(blocks * threads),
                threads / (warps * _WARP),
                shape.covered,
                float(shape.covered > 1.0),
            )
        )
    return np.concatenate([parameter_features(configurations), normalized(np.array(found))], axis=1)


def normalized(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns with mean 0 and standard deviation 1; those that never change are left out."""
    spread = features.std(axis=0)
    kept = spread > 1e-12
    centred = features[:, kept] - features[:, kept].mean(axis=0)
    found: NDArray[np.float64] = centred / spread[kept]
    return found
