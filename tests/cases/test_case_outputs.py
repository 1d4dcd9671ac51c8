"""Executor outputs of the bundled cases equal references computed by NumPy and SciPy.

The compiler contracts ``sum += a * b`` to one fused multiply-add, rounded once. The references do
the same, in the kernels' order of summation, so they agree bit for bit; a float64 reference with a
rounding-error bound guards against a mistake common to both.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse
from references import EPS, fma, run, values

from placewise.cases import load_case
from placewise.kernel.cases.make_case import make_case


def resized(name, problem, per_block=None, **arguments):
    """The bundled kernel on other inputs."""
    case = load_case(name)
    names = [a.name for a in case.inputs.arguments]
    small = make_case(
        case.kernel,
        case.source,
        {n: arguments[n] for n in names},
        block=case.launch.block,
        problem=problem,
        per_block=per_block,
    )
    return replace(small, name=name)


@pytest.mark.parametrize(("c", "expected"), [(2**-60, 1 + 2**-23), (0, 1), (-(2**-60), 1)])
def test_fma_rounds_once(c, expected):
    """24929 · 673 = 2**24 + 1: the product lies in the middle of 1 and 1 + 2**-23, and a term too
    small for float64 decides."""
    total = fma(np.float32([24929]), np.float32([673 * 2**-24]), np.float32([c]))
    assert total[0] == np.float32(expected)


def check_spmv(case):
    v = values(case)
    start, columns = v["row_start"], v["columns"]
    rows = len(start) - 1
    sums = np.zeros((rows, 32), np.float32)
    longest = np.diff(start).max()
    for first in range(0, longest, 32):
        at = start[:-1, None] + first + np.arange(32)
        there = at < start[1:, None]
        at = np.where(there, at, 0)
        sums = np.where(there, fma(v["values"][at], v["x"][columns[at]], sums), sums)
    for offset in (16, 8, 4, 2, 1):
        sums = sums[:, :offset] + sums[:, offset : 2 * offset]
    y = run(case).output("y")
    np.testing.assert_array_equal(y, sums[:, 0])
    # SciPy sorts in place.
    matrix = scipy.sparse.csr_array((v["values"].astype(float), columns.copy(), start.copy()))
    x = v["x"].astype(float)
    # Each row is at most `longest` roundings away (Higham 2002, section 3.1).
    assert np.all(np.abs(y - matrix @ x) <= longest * EPS * (abs(matrix) @ abs(x)))


def test_spmv_small():
    """Rows of 0 to 100 entries: several rounds per warp, idle lanes, a block only partly used."""
    rng = np.random.default_rng(0)
    lengths = np.r_[0, 100, 1, 32, 33, 64, 65, rng.integers(0, 70, 30)]
    start = np.r_[0, np.cumsum(lengths)].astype(np.int32)
    width = 500
    check_spmv(
        resized(
            "spmv",
            problem=len(lengths),
            per_block=8,
            row_start=start,
            columns=rng.integers(0, width, start[-1]).astype(np.int32),
            values=rng.normal(size=start[-1]).astype(np.float32),
            x=np.r_[rng.normal(size=width - 1), 0].astype(np.float32),
            y=np.full(len(lengths), np.nan, np.float32),
            rows=np.int32(len(lengths)),
        )
    )


@pytest.mark.slow
def test_spmv_full():
    check_spmv(load_case("spmv"))


def check_matmul(case, some_rows):
    v = values(case)
    c = run(case).output("C")
    a, b = v["A"][some_rows], v["B"]
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(b.shape[0]):
        total = fma(a[:, k : k + 1], b[k : k + 1], total)
    np.testing.assert_array_equal(c[some_rows], total)
    exact = v["A"].astype(float) @ b.astype(float)
    bound = b.shape[0] * EPS * (np.abs(v["A"]).astype(float) @ np.abs(b).astype(float))
    assert np.all(np.abs(c - exact) <= bound)


def test_matmul_small():
    """A size that no block divides."""
    n = 45
    rng = np.random.default_rng(1)
    case = resized(
        "matmul",
        problem=(n, n),
        A=rng.normal(size=(n, n)).astype(np.float32),
        B=rng.normal(size=(n, n)).astype(np.float32),
        C=np.full((n, n), np.nan, np.float32),
        n=np.int32(n),
    )
    check_matmul(case, np.arange(n))


@pytest.mark.slow
def test_matmul_full():
    check_matmul(load_case("matmul"), np.r_[0:1024:29, 1023])


def check_particles(case):
    v = values(case)
    out = run(case)
    chosen = np.minimum(np.searchsorted(v["CDF"], v["u"]), len(v["CDF"]) - 1)
    np.testing.assert_array_equal(out.output("xj"), v["arrayX"][chosen])
    np.testing.assert_array_equal(out.output("yj"), v["arrayY"][chosen])
    return chosen


def test_particlefilter_small():
    """Particles of no weight and of much, and a last one beyond all cumulative weights."""
    rng = np.random.default_rng(4)
    n = 300
    cdf = np.sort(rng.random(n))
    cdf[40:60] = cdf[40]
    case = resized(
        "particlefilter",
        problem=n,
        CDF=cdf,
        u=np.r_[np.sort(rng.random(n - 1)), 1.5],
        arrayX=rng.random(n),
        arrayY=rng.random(n),
        xj=np.full(n, np.nan),
        yj=np.full(n, np.nan),
        particles=np.int32(n),
    )
    chosen = check_particles(case)
    assert chosen[-1] == n - 1
    assert 20 < len(np.unique(chosen)) < n


@pytest.mark.slow
def test_particlefilter_full():
    check_particles(load_case("particlefilter"))


def check_convolution(case, axis, band):
    """All of the image against SciPy, the rows ``band`` bit for bit."""
    v = values(case)
    image, taps, radius = v["image"], v["taps"], int(v["radius"])
    result = run(case).output("result")
    margins = ((radius, radius), (0, 0)) if axis == 0 else ((0, 0), (radius, radius))
    padded = np.pad(image, margins, mode="edge")
    total = np.zeros_like(image[band])
    for k, tap in enumerate(taps):
        shifted = padded[k:] if axis == 0 else padded[:, k:]
        total = fma(shifted[: image.shape[0], : image.shape[1]][band], np.float32([tap]), total)
    np.testing.assert_array_equal(result[band], total)
    exact = scipy.ndimage.correlate1d(image.astype(float), taps.astype(float), axis, mode="nearest")
    assert np.all(np.abs(result - exact) <= len(taps) * EPS * np.abs(exact))


@pytest.mark.parametrize(("name", "axis"), [("convolution-rows", 1), ("convolution-columns", 0)])
def test_convolution_small(name, axis):
    height, width, radius = 21, 43, 3
    rng = np.random.default_rng(2)
    case = resized(
        name,
        problem=(width, height),
        image=rng.uniform(0, 255, (height, width)).astype(np.float32),
        taps=rng.uniform(0, 1, 2 * radius + 1).astype(np.float32),
        result=np.full((height, width), np.nan, np.float32),
        width=np.int32(width),
        height=np.int32(height),
        radius=np.int32(radius),
    )
    check_convolution(case, axis, slice(None))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "axis"), [("convolution-rows", 1), ("convolution-columns", 0)])
def test_convolution_full(name, axis):
    check_convolution(load_case(name), axis, slice(None, None, 5))
