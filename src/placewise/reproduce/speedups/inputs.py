"""Other inputs of spmv and particlefilter, as Figs. 12 and 13 of Chen et al. 2017 vary them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron, random_array

from placewise.kernel.cases.case import Case
from placewise.reproduce.porple_inputs import particle_case, poisson_matrix, spmv_case

PARTICLES = (500, 1000, 2000, 4000, 8000, 12_000)
"""Numbers of particles; the paper does not give its six."""


def varied_inputs() -> Iterator[tuple[str, Callable[[], Case]]]:
    """(name, function that makes the case) for six inputs of particlefilter and six of spmv. The
    paper's matrices are from a collection; these are generated, each with another kind of
    structure."""
    for particles in PARTICLES:
        yield f"particlefilter, {particles:,} particles", partial(particle_case, particles)
    matrices: dict[str, Callable[[], csr_array]] = {
        "grid of 100 × 100 points": lambda: poisson_matrix(100),
        "grid of 22 × 22 × 22 points": lambda: _grid(22),
        "band of 33 diagonals": lambda: _band(10_000, 16),
        "blocks of 32 × 32": lambda: _blocks(320, 32),
        "skewed rows": lambda: _skewed(12_000),
        "random, 1 %": lambda: csr_array(random_array((10_000, 10_000), density=0.01, rng=2)),
    }
    for name, make in matrices.items():
        yield f"spmv, {name}", partial(_made, make)


def _made(make: Callable[[], csr_array]) -> Case:
    matrix = make()
    matrix.sort_indices()
    return spmv_case(matrix)


def _grid(points: int) -> csr_array:
    """Matrix of the seven-point stencil on a cube."""
    line = eye_array(points, k=1) + eye_array(points, k=-1)
    one = eye_array(points)
    sides = kron(kron(line, one), one) + kron(kron(one, line), one) + kron(kron(one, one), line)
    return csr_array(6.0 * eye_array(points**3) - sides)


def _band(rows: int, beside: int) -> csr_array:
    """Matrix of all diagonals up to ``beside`` away from the main one."""
    offsets = list(range(-beside, beside + 1))
    return csr_array(diags_array([1.0] * len(offsets), offsets=offsets, shape=(rows, rows)))


def _blocks(count: int, size: int) -> csr_array:
    """Matrix of full blocks along the diagonal."""
    return csr_array(kron(eye_array(count), np.ones((size, size))))


def _skewed(rows: int) -> csr_array:
    """Matrix with few long rows and many short ones: 4 to 4,000 entries by a power law, in random
    columns."""
    rng = np.random.default_rng(3)
    lengths = np.minimum(4 * (1.0 - rng.random(rows)) ** -1.1, 4000).astype(np.int64)
    columns = rng.integers(0, rows, int(lengths.sum()))
    at = np.repeat(np.arange(rows), lengths)
    return csr_array((np.ones(len(at)), (at, columns)), shape=(rows, rows))
