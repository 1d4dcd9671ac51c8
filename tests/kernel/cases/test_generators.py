"""Generated graphs, points, meshes and keys against brute force and what holds for any of them."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph

from placewise.kernel.cases.generators.mesh import hexahedral_mesh, tetrahedra
from placewise.kernel.cases.generators.points import points
from placewise.kernel.cases.generators.radix_pass import radix_pass
from placewise.kernel.cases.generators.skewed import graph, skewed


def test_skewed_rows_follow_zipfs_law():
    matrix = skewed(2000, 20.0, 0.5, seed=1)
    assert matrix.has_canonical_format
    lengths = np.sort(np.diff(matrix.indptr))[::-1]
    assert lengths[-1] >= 1
    rank = np.arange(1, 2001)
    expected = rank**-0.5 * (20 * 2000 / np.sum(rank**-0.5))
    # Some entries fall on the same place: of n random ones among 2000, 2000 (1 - exp(-n / 2000)).
    expected = 2000 * (1 - np.exp(-expected / 2000))
    assert np.abs(lengths - expected).max() <= 0.05 * expected[0]
    assert matrix.nnz == pytest.approx(expected.sum(), rel=0.01)
    assert np.abs(matrix.data).max() <= 1
    # The long rows are not all at the beginning.
    assert np.diff(matrix.indptr)[:1000].sum() == pytest.approx(matrix.nnz / 2, rel=0.2)


def test_without_skew_rows_are_equal():
    assert set(np.diff(skewed(300, 3.0, 0.0, seed=1).indptr)) <= {1, 2, 3}


def test_the_seed_alone_decides():
    one, same, other = (skewed(100, 4.0, 1.0, seed) for seed in (1, 1, 2))
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0


@pytest.mark.parametrize("levels", [0, 1, 3, 100])
def test_levels_are_distances(levels):
    made = graph(400, 2.0, 0.5, levels, seed=3)
    ones = np.ones(len(made["edges"]))
    matrix = scipy.sparse.csr_array((ones, made["edges"], made["edge_starts"]), shape=(400, 400))
    distances = scipy.sparse.csgraph.dijkstra(matrix, indices=0, unweighted=True)
    np.testing.assert_array_equal(made["levels"], np.where(distances <= levels, distances, -1))


@pytest.mark.parametrize("dimensions", [2, 3])
def test_neighbours_are_the_nearest(dimensions):
    made = points(150, dimensions, 7, True, seed=2)
    at = made["positions"]
    distances = np.sqrt(((at[:, None] - at) ** 2).sum(axis=2))
    np.testing.assert_allclose(made["distances"], distances, atol=1e-12)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(made["neighbours"], np.argsort(distances, axis=1)[:, :7].T)
    assert distances.min() >= 0.4
    assert not at[:, dimensions:].any()
    # In random order: points that follow each other are not near.
    assert np.median(distances[np.arange(149), np.arange(1, 150)]) > 3


def test_points_have_what_is_asked_for():
    assert set(points(10, 3, 0, False, seed=1)) == {"positions"}
    with pytest.raises(ValueError, match="5 points do not have 5 neighbours"):
        points(5, 3, 5, False, seed=1)


def test_hexahedra_fill_the_cube():
    made = hexahedral_mesh((3, 4, 5), 0.0, seed=1)
    assert made["corners"].shape == (8, 2 * 3 * 4)
    for axis, name in enumerate("xyz"):
        corners = made[f"corner_{name}"]
        np.testing.assert_array_equal(corners, made[name][made["corners"]])
        # Corner c is at the far end along x, y, z where bit 4, 2, 1 of c is set.
        far = np.arange(8) >> (2 - axis) & 1 == 1
        step = 1 / (2, 3, 4)[axis]
        np.testing.assert_allclose(corners[far] - corners[~far], step)
    with pytest.raises(ValueError, match="at least 2"):
        hexahedral_mesh((3, 1, 5), 0.0, seed=1)


@pytest.mark.parametrize("shuffle", [0, 40])
def test_tetrahedra_are_a_mesh(shuffle):
    made = tetrahedra((3, 2, 4), 0.4, shuffle, seed=4)
    neighbours, normals, volumes = made["neighbours"], made["normals"], made["volumes"]
    elements = 6 * 3 * 2 * 4
    assert neighbours.shape == (4, elements)
    assert np.sum(volumes) == pytest.approx(1.0)
    assert volumes.min() > 0
    # Each element's surface is closed.
    np.testing.assert_allclose(normals.sum(axis=0), 0, atol=1e-14)
    for face, element in zip(*np.nonzero(neighbours >= 0), strict=True):
        behind = neighbours[face, element]
        back = np.flatnonzero(neighbours[:, behind] == element)
        assert len(back) == 1
        opposite = normals[back[0], :, behind]
        np.testing.assert_allclose(opposite, -normals[face, :, element], atol=1e-14)
    wall, far = (normals.swapaxes(1, 2)[neighbours == code] for code in (-1, -2))
    np.testing.assert_allclose(wall.sum(axis=0), [0, 0, -1], atol=1e-12)
    assert np.linalg.norm(far, axis=1).sum() == pytest.approx(5.0)
    # Volumes that no other element has tell where it was before.
    in_order = tetrahedra((3, 2, 4), 0.4, 0, seed=4)["volumes"]
    np.testing.assert_array_equal(np.sort(volumes), np.sort(in_order))
    before = {v: place for place, v in enumerate(in_order) if np.sum(in_order == v) == 1}
    moves = [abs(before[v] - place) for place, v in enumerate(volumes) if v in before]
    assert len(moves) > 30
    assert max(moves) <= shuffle
    assert (max(moves) > 10) == (shuffle > 0)
    with pytest.raises(ValueError, match="at least 1"):
        tetrahedra((3, 0, 4), 0.4, 0, seed=4)


@pytest.mark.parametrize(("bits", "shift"), [(4, 0), (2, 30), (8, 12)])
def test_radix_pass_leads_to_the_sorted_keys(bits, shift):
    made = radix_pass(120, 30, bits, shift, seed=5)
    keys, starts, offsets = made["keys"], made["starts"], made["offsets"]
    digits = keys >> np.uint32(shift) & np.uint32(2**bits - 1)
    for block in range(4):
        within = slice(30 * block, 30 * block + 30)
        assert (np.diff(digits[within].astype(int)) >= 0).all()
        assert set(made["values"][within]) == set(range(within.start, within.stop))
        expected = np.searchsorted(digits[within], np.arange(2**bits))
        np.testing.assert_array_equal(starts[block], expected)
    sorted_digits = np.sort(digits)
    for digit in range(2**bits):
        first = np.searchsorted(sorted_digits, digit)
        before = [np.sum(digits[: 30 * block] == digit) for block in range(4)]
        np.testing.assert_array_equal(offsets[digit], first + before)


def test_radix_pass_needs_whole_blocks_and_bits():
    with pytest.raises(ValueError, match="100 keys are no whole number of blocks of 30"):
        radix_pass(100, 30, 4, 0, seed=1)
    with pytest.raises(ValueError, match="beyond the 32 bits"):
        radix_pass(120, 30, 4, 30, seed=1)
