"""A finite-element matrix from a distorted mesh of hexahedra, the same on every machine."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""(8, 3) corners of the reference cube, x slowest."""
_GAUSS = _CORNERS / np.sqrt(3.0)
"""(8, 3) points of the two-point Gauss rule in each direction; every weight is 1."""


def hexahedra(nodes: tuple[int, int, int], distortion: float, seed: int) -> csr_array:
    """Matrix of −Δu + u on the unit cube, trilinear elements, ``nodes`` grid points each way.

    Inner points are moved by up to ``distortion`` half mesh widths at random, so that no entry
    is zero by symmetry. Up to 27 non-zeros in each of the nodes[0]·nodes[1]·nodes[2] rows;
    float64, indices sorted. Standard isoparametric assembly with 2×2×2 Gauss points.
    """
    from scipy.sparse import coo_array

    points = mesh_points(nodes, distortion, seed)
    elements = mesh_elements(nodes)
    shape = np.prod(1 + _GAUSS[:, None] * _CORNERS, axis=2) / 8
    slopes = np.stack([_slopes(axis) for axis in range(3)], axis=2)
    corners = points[elements]
    jacobian = np.einsum("qai,eaj->eqij", slopes, corners)
    volume = np.abs(np.linalg.det(jacobian))
    gradients = np.linalg.inv(jacobian) @ slopes.swapaxes(1, 2)
    scaled = (gradients * np.sqrt(volume)[:, :, None, None]).reshape(len(elements), -1, 8)
    local = scaled.swapaxes(1, 2) @ scaled
    local += np.einsum("qa,qb,eq->eab", shape, shape, volume, optimize=True)
    rows = np.repeat(elements, 8, axis=1).ravel()
    columns = np.tile(elements, (1, 8)).ravel()
    count = points.shape[0]
    matrix = coo_array((local.ravel(), (rows, columns)), shape=(count, count)).tocsr()
    matrix.sort_indices()
    return matrix


def _slopes(axis: int) -> NDArray[np.float64]:
    """(8 points, 8 corners) derivative of each corner's shape function along ``axis``."""
    factors = 1 + _GAUSS[:, None] * _CORNERS
    factors[:, :, axis] = _CORNERS[:, axis]
    slopes: NDArray[np.float64] = np.prod(factors, axis=2) / 8
    return slopes


def mesh_points(nodes: tuple[int, int, int], distortion: float, seed: int) -> NDArray[np.float64]:
    """(points, 3) coordinates, x slowest; points on the cube's surface stay where they are."""
    axes = [np.linspace(0.0, 1.0, n) for n in nodes]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    half_width = 0.5 / (np.array(nodes) - 1)
    moves = np.random.default_rng(seed).uniform(-1.0, 1.0, grid.shape) * half_width * distortion
    grid[1:-1, 1:-1, 1:-1] += moves[1:-1, 1:-1, 1:-1]
    return grid.reshape(-1, 3)


def mesh_elements(nodes: tuple[int, int, int]) -> NDArray[np.int64]:
    """(elements, 8) point numbers of each hexahedron, in the order of the corners."""
    numbers = np.arange(int(np.prod(nodes))).reshape(nodes)
    slices = (slice(None, -1), slice(1, None))
    return np.stack([numbers[at].ravel() for at in product(slices, repeat=3)], axis=1)
