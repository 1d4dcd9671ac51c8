"""The generated finite-element matrix against matrices known in closed form."""

import numpy as np
import pytest
from scipy.sparse.linalg import norm

from placewise.kernel.cases.generators.finite_element import hexahedra


def one_dimensional(nodes):
    """Stiffness and mass matrices of linear elements on [0, 1], from the textbook."""
    h = 1 / (nodes - 1)
    ones, off = np.full(nodes, 2.0), np.eye(nodes, k=1) + np.eye(nodes, k=-1)
    ones[[0, -1]] = 1.0
    return (np.diag(ones) - off) / h, (2 * np.diag(ones) + off) * h / 6


def test_undistorted_mesh_is_the_kronecker_sum():
    nodes = (3, 4, 5)
    (kx, mx), (ky, my), (kz, mz) = (one_dimensional(n) for n in nodes)
    expected = sum(
        np.kron(np.kron(a, b), c)
        for a, b, c in ((kx, my, mz), (mx, ky, mz), (mx, my, kz), (mx, my, mz))
    )
    np.testing.assert_allclose(hexahedra(nodes, 0.0, 0).toarray(), expected, atol=1e-14)


def test_distorted_mesh_keeps_what_holds_for_any_mesh():
    matrix = hexahedra((5, 6, 7), 0.4, 3)
    assert norm(matrix - matrix.T) < 1e-15
    # Shape functions sum to one, so all entries together integrate 1 over the unit cube.
    assert matrix.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.linalg.eigvalsh(matrix.toarray()).min() > 0
    # Three neighbours each way inside, two at an end: (3n - 2) per direction.
    assert matrix.nnz == 13 * 16 * 19
    assert np.abs(matrix.data).min() > 0


def test_seed_decides_the_mesh():
    same, again, other = (hexahedra((4, 4, 4), 0.3, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(same.data, again.data)
    assert np.any(same.data != other.data)
