"""Cases of the bundled kernels spmv and particlefilter with inputs of other sizes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from placewise.cases import load_case
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case


def poisson_matrix(points: int) -> csr_array:
    """Matrix of the five-point stencil on a grid of ``points`` × ``points``."""
    line = eye_array(points, k=1) + eye_array(points, k=-1)
    one = eye_array(points)
    matrix = csr_array(4.0 * kron(one, one) - kron(line, one) - kron(one, line))
    matrix.sort_indices()
    return matrix


def spmv_case(matrix: csr_array) -> Case:
    """The bundled kernel spmv on ``matrix``."""
    base = load_case("spmv")
    rows = matrix.shape[0]
    return make_case(
        base.kernel,
        base.source,
        {
            "row_start": matrix.indptr.astype(np.int32),
            "columns": matrix.indices.astype(np.int32),
            "values": matrix.data.astype(np.float32),
            "x": np.random.default_rng(0).random(rows, np.float32),
            "y": np.zeros(rows, np.float32),
            "rows": np.int32(rows),
        },
        block=256,
        problem=rows,
        per_block=8,
        name="spmv",
    )


def particle_case(particles: int) -> Case:
    """The bundled kernel particlefilter with ``particles`` particles."""
    base = load_case("particlefilter")
    random = np.random.default_rng(1)
    return make_case(
        base.kernel,
        base.source,
        {
            "CDF": np.sort(random.random(particles)),
            "u": (np.arange(particles) + 0.3) / particles,
            "arrayX": random.random(particles),
            "arrayY": random.random(particles),
            "xj": np.zeros(particles),
            "yj": np.zeros(particles),
            "particles": np.int32(particles),
        },
        block=128,
        problem=particles,
        name="particlefilter",
    )
