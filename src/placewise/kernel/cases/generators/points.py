"""Points in a square or cube: atoms with their neighbours, points with their distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_JITTER = 0.3
"""How far a point may be from its place in the lattice along each axis."""


def points(
    count: int, dimensions: int, neighbours: int, distances: bool, seed: int
) -> Mapping[str, NDArray[Any]]:
    """``count`` points near the places of a square or cubic lattice of width 1, at least 0.4
    apart, in random order.

    ``positions`` (count, 4) are their coordinates, filled up with zeros; ``neighbours``
    (neighbours, count) the numbers of each point's nearest others, nearest first, and
    ``distances`` (count, count) all distances, each only where asked for. Raises ValueError for
    fewer points than neighbours.
    """
    if neighbours >= count:
        raise ValueError(f"{count} points do not have {neighbours} neighbours each")
    random = np.random.default_rng(seed)
    side = 1
    while side**dimensions < count:
        side += 1
    sites = random.permutation(side**dimensions)[:count]
    places = np.stack(np.unravel_index(sites, (side,) * dimensions), axis=1).astype(float)
    places += random.uniform(-_JITTER, _JITTER, places.shape)

    made: dict[str, NDArray[Any]] = {"positions": np.zeros((count, 4))}
    made["positions"][:, :dimensions] = places
    if neighbours:
        from scipy.spatial import KDTree

        nearest = np.asarray(KDTree(places).query(places, k=neighbours + 1)[1])
        made["neighbours"] = np.ascontiguousarray(nearest[:, 1:].T)
    if distances:
        from scipy.spatial.distance import cdist

        made["distances"] = cdist(places, places)
    return made
