"""Meshes of the unit cube: hexahedra with their corners, tetrahedra with their neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.generators.finite_element import mesh_elements, mesh_points

WALL, FAR_FIELD = -1, -2
"""What is behind a face without a neighbour."""


def hexahedral_mesh(
    nodes: tuple[int, int, int], distortion: float, seed: int
) -> Mapping[str, NDArray[Any]]:
    """Hexahedra between ``nodes`` grid points each way, inner points moved at random.

    ``x``, ``y``, ``z`` (points,) are coordinates; ``corners`` (8, elements) the points of each
    element, x slowest, and ``corner_x`` … (8, elements) their coordinates. Raises ValueError for
    fewer than two points along an axis.
    """
    if min(nodes) < 2:
        raise ValueError(f"{nodes} nodes make no element: at least 2 along each axis")
    places = mesh_points(nodes, distortion, seed)
    corners = np.ascontiguousarray(mesh_elements(nodes).T)
    made: dict[str, NDArray[Any]] = {"corners": corners}
    for axis, name in enumerate("xyz"):
        made[name] = np.ascontiguousarray(places[:, axis])
        made[f"corner_{name}"] = made[name][corners]
    return made


def tetrahedra(
    cells: tuple[int, int, int], distortion: float, shuffle: int, seed: int
) -> Mapping[str, NDArray[Any]]:
    """Six tetrahedra (Kuhn's) in each of ``cells`` hexahedra, elements in the order of their cells
    but for a random move by up to ``shuffle`` places.

    ``neighbours`` (4, elements): the element behind each face, -1 at the bottom (a wall), -2 at the
    other sides (the far field); ``normals`` (4, 3, elements): each face's outward normal, as long
    as its area; ``volumes`` (elements,). Raises ValueError for no cells.
    """
    if min(cells) < 1:
        raise ValueError(f"{cells} cells make no element: at least 1 along each axis")
    x, y, z = (n + 1 for n in cells)
    places = mesh_points((x, y, z), distortion, seed)
    corners = mesh_elements((x, y, z))
    # From the first corner to the last along the axes in each order.
    bits = np.array([4, 2, 1])
    paths = np.array([[0, *np.cumsum(bits[list(p)])] for p in permutations(range(3))])
    vertices = corners[:, paths].reshape(-1, 4)
    random = np.random.default_rng(seed)
    order = np.argsort(np.arange(len(vertices)) + random.uniform(0, shuffle, len(vertices)))
    vertices = vertices[order]

    made = _faces(places, vertices)
    made["neighbours"] = _neighbours(vertices, bottom=z)
    return made


def _faces(places: NDArray[np.float64], vertices: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Normals (4, 3, elements) of the faces opposite to each vertex, and volumes (elements,)."""
    at = places[vertices]
    normals = np.empty((4, 3, len(vertices)))
    for face in range(4):
        a, b, c = (at[:, v] for v in range(4) if v != face)
        normal = 0.5 * np.cross(b - a, c - a)
        outward = np.sign(np.einsum("ei,ei->e", normal, a - at[:, face]))
        normals[face] = (normal * outward[:, None]).T
    volumes = np.abs(np.linalg.det(at[:, 1:] - at[:, :1])) / 6
    return {"normals": normals, "volumes": volumes}


def _neighbours(vertices: NDArray[np.int64], bottom: int) -> NDArray[np.int64]:
    """(4, elements) elements that share the face opposite to each vertex; ``bottom`` is the number
    of points along z, which is the fastest axis."""
    count = len(vertices)
    faces = np.stack([np.delete(vertices, face, axis=1) for face in range(4)])
    faces = np.sort(faces.reshape(-1, 3), axis=1)
    order = np.lexsort(faces.T)
    ordered = faces[order]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    first, second = order[same], order[same + 1]

    wall = (faces % bottom == 0).all(axis=1)
    behind = np.where(wall, WALL, FAR_FIELD)
    behind[first], behind[second] = second % count, first % count
    return behind.reshape(4, count)
