"""Kernels that gather by index: outputs against NumPy and SciPy, by other formulas than theirs."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from references import EPS, document_of, outputs_and_inputs, run, sized, values
from test_case_outputs import check_spmv

from placewise.cases import case_path, load_case
from placewise.kernel.cases.case_file import case_from


def test_spmv_with_skewed_rows():
    case = sized("spmv-skewed", rows=600)
    lengths = np.diff(values(case)["row_start"])
    assert lengths.max() > 10 * np.median(lengths)
    check_spmv(case)


@pytest.mark.slow
def test_spmv_with_skewed_rows_as_bundled():
    check_spmv(load_case("spmv-skewed"))


@pytest.mark.parametrize("sizes", [{}, {"nodes": 500, "level": 1}])
def test_bfs_reaches_the_next_level(sizes):
    out, v = outputs_and_inputs(sized("bfs", **sizes))
    nodes = int(v["nodes"])
    starts, ends = v["edge_starts"], v["edges"]
    graph = scipy.sparse.csr_array((np.ones(len(ends)), ends, starts), shape=(nodes, nodes))
    distances = scipy.sparse.csgraph.dijkstra(graph, indices=0, unweighted=True)
    level = int(v["level"])
    for levels, known in ((v["levels"], level), (out.output("levels"), level + 1)):
        np.testing.assert_array_equal(levels, np.where(distances <= known, distances, -1))
    assert np.sum(distances == level + 1) > 10
    assert out.output("reached").tolist() == [1]


@pytest.mark.parametrize("sizes", [{}, {"atoms": 300, "listed": 20}])
def test_md_forces_are_the_potentials_gradient(sizes):
    case = sized("md", **sizes)
    v = values(case)
    at = v["positions"][:, :3].astype(float)
    ahead = at[:, None] - at[v["neighbours"].T]
    r2 = np.sum(ahead**2, axis=2)
    inside = r2 < float(v["cutoff2"])
    # V(r) = repulsion / (12 r^12) - attraction / (6 r^6); the force is -dV/dr along the line.
    r = np.sqrt(r2)
    pull = float(v["repulsion"]) * r**-13.0 - float(v["attraction"]) * r**-7.0
    terms = np.where(inside, pull / r, 0.0)[:, :, None] * ahead
    forces = run(case).output("forces")
    # Whether a pair at the very cut-off counts, depends on rounding.
    clear = ~(np.abs(r2 - float(v["cutoff2"])) < 1e-4).any(axis=1)
    assert clear.mean() > 0.9
    scale = np.abs(terms).sum(axis=1)
    error = np.abs(forces[:, :3] - terms.sum(axis=1))
    # Coordinates are differences of numbers up to 24, and the 13th power of distances from 0.4 on.
    assert np.all(error[clear] <= 13 * 60 * EPS * (scale[clear].max(axis=1, keepdims=True)))
    assert not forces[:, 3].any()
    assert inside.any()
    assert not inside.all()


def convective(u):
    """(5, 3, …) fluxes of the Euler equations, from the textbook, and speed plus sound of sound."""
    density, momentum, energy = u[0], u[1:4], u[4]
    velocity = momentum / density
    pressure = 0.4 * (energy - 0.5 * np.sum(momentum * velocity, axis=0))
    flux = np.empty((5, *momentum.shape))
    flux[0] = momentum
    for k in range(3):
        flux[1 + k] = momentum[k] * velocity
        flux[1 + k, k] += pressure
    flux[4] = (energy + pressure) * velocity
    fastest = np.sqrt(np.sum(velocity**2, axis=0)) + np.sqrt(1.4 * pressure / density)
    return flux, pressure, fastest


@pytest.mark.parametrize("sizes", [{}, {"cells": 3, "depth": 2}])
def test_cfd_fluxes(sizes):
    case = sized("cfd", **sizes)
    v = values(case)
    u, normals = v["variables"].astype(float), v["normals"].astype(float)
    behind = v["neighbours"]
    far = np.broadcast_to(v["far_field"].astype(float)[:, None], u.shape)
    here_flux, pressure, here_fastest = convective(u)
    expected, size = np.zeros_like(u), np.zeros_like(u)
    for face in range(4):
        wall, inner = behind[face] == -1, behind[face] >= 0
        there = np.where(inner, u[:, behind[face]], far)
        flux, _, fastest = convective(there)
        mean = np.einsum("kan,an->kn", 0.5 * (here_flux + flux), normals[face])
        area = np.linalg.norm(normals[face], axis=0)
        viscous = np.where(inner, 0.1 * area * (here_fastest + fastest) * (u - there), 0.0)
        at_wall = np.zeros_like(u)
        at_wall[1:4] = pressure * normals[face]
        expected += np.where(wall, at_wall, mean + viscous)
        size += area * 20
    assert set(np.unique(behind[behind < 0])) == {-1, -2}
    assert np.all(np.abs(run(case).output("fluxes") - expected) <= 40 * EPS * size)


def uniform_flow(momentum):
    """Fluxes and inputs where the state is the same everywhere, with these momenta."""
    document = document_of("cfd")
    document["sizes"] = {"cells": 4, "depth": 4}
    variables, far_field = document["arguments"][2:4]
    far_field["values"][1:4] = momentum
    variables["stack"] = [{"fill": value} for value in far_field["values"]]
    case = case_from(document, case_path("cfd"))
    return run(case).output("fluxes"), values(case)


def test_cfd_keeps_a_uniform_flow_along_the_wall():
    """What enters an element leaves it; a flow against the wall is held back there alone."""
    fluxes, v = uniform_flow([1.68, 0.4, 0.0])
    area = np.linalg.norm(v["normals"], axis=1).sum(axis=0)
    assert np.all(np.abs(fluxes) <= 360 * EPS * area)
    fluxes, v = uniform_flow([1.0, 0.0, -0.5])
    at_wall = (v["neighbours"] == -1).any(axis=0)
    assert np.all(np.abs(fluxes[:, ~at_wall]) <= 360 * EPS * area[~at_wall])
    assert np.all(np.abs(fluxes[:, at_wall]).max(axis=0) > 0.01 * area[at_wall])


CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
"""The reference element's corners in the order of the cases."""


def volumes_and_gradients(corners):
    """Volumes (elements,) and their derivatives (8, 3, elements) by the ``corners`` (8, 3,
    elements) of trilinear hexahedra: Gauss quadrature, which is exact for them."""
    points = CORNERS / np.sqrt(3)
    volume, gradient = 0.0, 0.0
    for point in points:
        factors = 1 + CORNERS * point
        slopes = np.stack(
            [CORNERS[:, a] * np.delete(factors, a, axis=1).prod(axis=1) / 8 for a in range(3)]
        )
        jacobian = np.einsum("ac,cie->eai", slopes, corners)
        determinant = np.linalg.det(jacobian)
        volume = volume + determinant
        # d det J / d x_ci = det J · (J^-1)_ia · dN_c/da
        inverse = np.linalg.inv(jacobian)
        gradient = gradient + np.einsum("e,eia,ac->cie", determinant, inverse, slopes)
    return volume, gradient


@pytest.mark.parametrize("sizes", [{}, {"nodes_x": 3, "nodes_y": 4, "nodes_z": 6}])
def test_hourglass_control(sizes):
    case = sized("hourglass-control", **sizes)
    v = values(case)
    nodes = v["nodes"]
    corners = np.stack([v[a][nodes] for a in "xyz"], axis=1)
    volume, gradient = volumes_and_gradients(corners)
    out = run(case)
    for axis, name in enumerate("xyz"):
        np.testing.assert_array_equal(out.output(f"corner_{name}"), corners[:, axis])
        np.testing.assert_allclose(
            out.output(f"volume_d{name}"), gradient[:, axis], atol=1e-12 * np.abs(gradient).max()
        )
    reference, relative = v["reference_volume"], v["relative_volume"]
    np.testing.assert_array_equal(out.output("volume"), reference * relative)
    np.testing.assert_allclose(out.output("new_relative_volume"), volume / reference, rtol=1e-10)
    np.testing.assert_allclose(
        out.output("volume_change"), volume / reference - relative, atol=1e-10
    )
    steepest = np.linalg.norm(gradient, axis=1).max(axis=0)
    np.testing.assert_allclose(out.output("length"), volume / (4 * steepest), rtol=1e-10)
    assert np.sum(volume) == pytest.approx(1.0)


@pytest.mark.parametrize("sizes", [{}, {"nodes_x": 3, "nodes_y": 4, "nodes_z": 6}])
def test_hourglass_forces(sizes):
    out, v = outputs_and_inputs(sized("hourglass-force", **sizes))
    x, y, z = CORNERS.T
    modes = np.stack([x * y, x * z, y * z, x * y * z])
    corners, slopes, velocities = (
        np.stack([v[f"{name}{a}"] for a in "xyz"]) for name in ("corner_", "volume_d", "velocity_")
    )
    along = np.einsum("mc,ice->mie", modes, corners)
    shape = modes[:, :, None] - np.einsum("ice,mie->mce", slopes, along) / v["volume"]
    pace = np.einsum("mce,ice->mie", shape, velocities[:, v["nodes"]])
    force = np.einsum("mce,mie->ice", shape, pace)
    force *= -float(v["coefficient"]) * 0.01 * v["sound_speed"] * v["mass"] / np.cbrt(v["volume"])
    for axis, name in enumerate("xyz"):
        np.testing.assert_allclose(
            out.output(f"force_{name}"), force[axis], atol=1e-12 * np.abs(force).max()
        )
