"""Ordinary kernels, written as users write them, against NumPy and SciPy."""

from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse.csgraph
from scipy.stats import norm

from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

SOURCES = Path(__file__).parent / "user_kernels"
rng = np.random.default_rng(7)
START = rng.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order():
    rng.bit_generator.state = START


class Runner:
    """Kernels of one architecture, each compiled once."""

    def __init__(self, arch):
        self.options = CompileOptions(arch=arch)
        self.compiled = {}

    def __call__(self, name, grid, block, *, shared=0, constants=(), **arguments):
        """Outputs by name of ``file.kernel``; dimensions may be given short."""
        file, kernel = name.split(".")
        if name not in self.compiled:
            path = SOURCES / f"{file}.cu"
            self.compiled[name] = compile_kernel(path.read_text(), str(path), kernel, self.options)
        launch = Launch(*((*np.atleast_1d(d).tolist(), 1, 1)[:3] for d in (grid, block)), shared)
        values = tuple(
            ArrayArgument(n, np.ascontiguousarray(v))
            if isinstance(v, np.ndarray)
            else ScalarArgument(n, v)
            for n, v in arguments.items()
        )
        return dict(execute(self.compiled[name], launch, Inputs(values, tuple(constants))).outputs)


@pytest.fixture(scope="module", params=["sm_90", pytest.param("sm_75", marks=pytest.mark.slow)])
def run(request):
    return Runner(request.param)


def whole_floats(*shape, below=32):
    """Single-precision numbers whose sums are exact, so that any order gives the same bits."""
    return rng.integers(-below, below, shape).astype(np.float32)


def i32(n):
    return np.int32(n)


# --- stencils


def test_jacobi_relaxation(run):
    ny, nx = 37, 70
    now, heat = rng.random((2, ny, nx), dtype=np.float32)
    expected = now.astype(np.float64)
    for _ in range(3):
        now = run("stencils.jacobi", (5, 5), (16, 8), next=now, now=now, heat=heat,
                  nx=i32(nx), ny=i32(ny))["next"]  # fmt: skip
        inner = expected[1:-1, :-2] + expected[1:-1, 2:] + expected[:-2, 1:-1] + expected[2:, 1:-1]
        expected = expected.copy()
        expected[1:-1, 1:-1] = 0.25 * (inner + heat[1:-1, 1:-1])
    np.testing.assert_allclose(now, expected, rtol=1e-6)


def test_sobel_edges(run):
    image = rng.integers(0, 256, (29, 53), dtype=np.uint8)
    out = run("stencils.sobel", (4, 4), (16, 8), out=image * 0, image=image,
              width=i32(53), height=i32(29))["out"]  # fmt: skip
    wide = image.astype(int)
    gx, gy = (scipy.ndimage.sobel(wide, axis, mode="nearest") for axis in (1, 0))
    assert np.array_equal(out, np.minimum(abs(gx) + abs(gy), 255))


def test_game_of_life(run):
    now = rng.integers(0, 2, (40, 40), dtype=np.uint8)
    expected = now
    for _ in range(2):
        now = run("stencils.life", (3, 3), (16, 16), next=now * 0, now=now, n=i32(40))["next"]
        around = sum(
            np.roll(expected, (dy, dx), (0, 1))
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if dx or dy
        )
        expected = ((around == 3) | ((around == 2) & (expected == 1))).astype(np.uint8)
    assert np.array_equal(now, expected)


def test_filter_with_constant_taps(run):
    values, taps = rng.integers(-99, 99, 200, dtype=np.int32), np.arange(-3, 6, dtype=np.int32)
    out = run("stencils.filter", 4, 64, shared=4 * 72, constants=[("taps", taps)],
              out=values * 0, values=values, n=i32(200))["out"]  # fmt: skip
    assert np.array_equal(out, np.correlate(np.pad(values, 4), taps, "valid"))


# --- reductions


def test_sum_of_blocks(run):
    values = whole_floats(1000)
    sums = run("reductions.block_sum", 3, 128, shared=512, sums=np.zeros(3, np.float32),
               values=values, n=i32(1000))["sums"]  # fmt: skip
    blocks = np.arange(1000) // 128 % 3
    assert np.array_equal(sums, [values[blocks == b].sum() for b in range(3)])


def test_dot_product_with_warp_shuffles(run):
    a, b = whole_floats(2, 3000)
    result = run("reductions.dot", 4, 256, result=np.zeros(1, np.float32), a=a, b=b, n=i32(3000))
    assert result["result"][0] == np.dot(a.astype(int), b.astype(int))


def test_histogram_of_bytes(run):
    data = rng.binomial(255, 0.3, 3000).astype(np.uint8)
    bins = run(
        "reductions.histogram", 3, 192, bins=np.zeros(256, np.uint32), data=data, n=i32(3000)
    )
    assert np.array_equal(bins["bins"], np.bincount(data, minlength=256))


def test_exclusive_scan(run):
    values = rng.integers(-50, 50, (3, 128), dtype=np.int32)
    got = run("reductions.scan", 3, 64, shared=512, out=values * 0, values=values,
              totals=np.zeros(3, np.int32))  # fmt: skip
    inclusive = np.cumsum(values, axis=1)
    assert np.array_equal(got["out"], inclusive - values)
    assert np.array_equal(got["totals"], inclusive[:, -1])


@pytest.mark.parametrize("size", [4, 16, 32])
def test_scan_in_cooperative_tiles(run, size):
    values = rng.integers(-50, 50, 160, dtype=np.int32)
    out = run(f"tiles.tile_scan<{size}>", 3, 64, out=values * 0, values=values, n=i32(160))
    assert np.array_equal(out["out"], np.cumsum(values.reshape(-1, size), axis=1).ravel())


def test_bitonic_sort(run):
    values = rng.integers(-(10**6), 10**6, 128, dtype=np.int32)
    expected = np.sort(values)
    k = 2
    while k <= 128:
        j = k // 2
        while j:
            values = run("reductions.bitonic_step", 2, 64, values=values, j=i32(j), k=i32(k))[
                "values"
            ]
            j //= 2
        k *= 2
    assert np.array_equal(values, expected)


def test_softmax_of_rows(run):
    rows = rng.normal(0, 4, (5, 77)).astype(np.float32)
    out = run("reductions.softmax", 5, 32, out=rows * 0, rows=rows, columns=i32(77))["out"]
    weights = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, weights / weights.sum(axis=1, keepdims=True), rtol=2e-6)


# --- algebra


def test_transposition_through_a_tile(run):
    matrix = rng.random((37, 50), dtype=np.float32)
    out = run("algebra.transpose", (4, 3), (16, 8), out=np.zeros((50, 37), np.float32),
              matrix=matrix, width=i32(50), height=i32(37))["out"]  # fmt: skip
    assert np.array_equal(out, matrix.T)


def test_matrix_times_vector(run):
    matrix, x = whole_floats(21, 132), whole_floats(132)
    y = run("algebra.matrix_vector", 6, 128, y=np.zeros(21, np.float32), a=matrix, x=x,
            rows=i32(21), columns=i32(132))["y"]  # fmt: skip
    assert np.array_equal(y, matrix.astype(int) @ x.astype(int))


def test_lu_factors(run):
    n = 18
    matrix = rng.random((n, n)) + n * np.eye(n)
    a = matrix
    for k in range(n - 1):
        a = run("algebra.lu_step", (2, 3), (16, 8), a=a, n=i32(n), k=i32(k))["a"]
        a = run("algebra.lu_scale", 1, 32, a=a, n=i32(n), k=i32(k))["a"]
    np.testing.assert_allclose((np.tril(a, -1) + np.eye(n)) @ np.triu(a), matrix, rtol=1e-12)


def test_cholesky_factor(run):
    root = rng.random((20, 20))
    matrix = (root @ root.T + 20 * np.eye(20)).astype(np.float32)
    a = run("algebra.cholesky", 1, 64, shared=1600, a=matrix, n=i32(20))["a"]
    np.testing.assert_allclose(
        a, np.linalg.cholesky(matrix.astype(np.float64)), rtol=1e-5, atol=1e-6
    )


def test_forces_between_bodies(run):
    n = 100
    bodies = rng.random((n, 4), dtype=np.float32)
    forces = run("algebra.nbody", 4, 32, shared=512, forces=bodies * 0, bodies=bodies, n=i32(n),
                 softening=np.float32(0.01))["forces"]  # fmt: skip
    at, mass = bodies[:, :3].astype(np.float64), bodies[:, 3]
    between = at[None] - at[:, None]
    distance = (between**2).sum(axis=2) + np.float32(0.01)
    expected = (between * (mass / distance**1.5)[..., None]).sum(axis=1)
    np.testing.assert_allclose(forces[:, :3], expected, rtol=2e-5, atol=2e-4)


def test_fourier_transform(run):
    z = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype(np.complex64)
    data = z.view(np.float32).reshape(64, 2)
    out = run("algebra.fft", 1, 32, shared=512, data=data, bits=i32(6))["data"]
    np.testing.assert_allclose(out.view(np.complex64)[:, 0], np.fft.fft(z), atol=2e-5)


# --- irregular


def test_gather_and_scatter_of_structures(run):
    kind = np.dtype([("at", "f4", 3), ("kind", "i4")])
    particles = np.zeros(150, kind)
    particles["at"], particles["kind"] = rng.random((150, 3)), np.arange(150)
    source, target = (
        rng.integers(0, 150, 150, dtype=np.int32),
        rng.permutation(150).astype(np.int32),
    )
    out = run("irregular.gather_scatter", 3, 64, out=np.zeros_like(particles), particles=particles,
              source=source, target=target, n=i32(150))["out"]  # fmt: skip
    expected = particles[source]
    expected["kind"] *= -1
    assert np.array_equal(out[target], expected)


def test_breadth_first_levels(run):
    n = 150
    graph = scipy.sparse.random_array((n, n), density=0.02, rng=rng, format="csr")
    levels = np.full(n, -1, np.int32)
    levels[0] = 0
    for level in range(n):
        got = run("irregular.bfs_level", 3, 64, levels=levels, changed=np.zeros(1, np.int32),
                  starts=graph.indptr.astype(np.int32), edges=graph.indices.astype(np.int32),
                  level=i32(level), n=i32(n))  # fmt: skip
        levels = got["levels"]
        if not got["changed"][0]:
            break
    distance = scipy.sparse.csgraph.shortest_path(graph, indices=0, unweighted=True)
    assert np.array_equal(levels, np.where(np.isinf(distance), -1, distance))


def test_assignment_to_clusters(run):
    n, k = 200, 7
    points, centres = whole_floats(3, n), whole_floats(k, 3)
    got = run("irregular.assign_clusters", 4, 64, shared=84, labels=np.zeros(n, np.int32),
              sums=centres * 0, counts=np.zeros(k, np.int32), points=points, centres=centres,
              n=i32(n), k=i32(k))  # fmt: skip
    labels = ((points.T[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(got["labels"], labels)
    assert np.array_equal(got["counts"], np.bincount(labels, minlength=k))
    assert np.array_equal(got["sums"], [points[:, labels == j].sum(axis=1) for j in range(k)])


def test_option_prices(run):
    price, strike = rng.uniform(5, 100, (2, 130)).astype(np.float32)
    years = rng.uniform(0.25, 5, 130).astype(np.float32)
    rate, volatility = np.float32(0.02), np.float32(0.3)
    got = run("irregular.black_scholes", 2, 48, call=price * 0, put=price * 0, price=price,
              strike=strike, years=years, rate=rate, volatility=volatility, n=i32(130))  # fmt: skip
    s, x, t = (v.astype(np.float64) for v in (price, strike, years))
    d1 = (np.log(s / x) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    d2, discount = d1 - volatility * np.sqrt(t), np.exp(-rate * t)
    call = s * norm.cdf(d1) - x * discount * norm.cdf(d2)
    # The kernel's polynomial for the normal distribution is good to 7.5e-8.
    np.testing.assert_allclose(got["call"], call, atol=3e-5, rtol=1e-6)
    np.testing.assert_allclose(got["put"], call - s + x * discount, atol=3e-5, rtol=1e-6)


def test_mandelbrot_steps(run):
    width, height = 60, 45
    steps = run("irregular.mandelbrot", (4, 6), (16, 8), steps=np.zeros((height, width), np.uint16),
                width=i32(width), height=i32(height), x0=np.float64(-2.2), y0=np.float64(-1.3),
                scale=np.float64(0.058))["steps"]  # fmt: skip
    c = (-2.2 + np.arange(width) * 0.058) + 1j * (-1.3 + np.arange(height) * 0.058)[:, None]
    z, expected = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(200):
        going = abs(z) <= 2
        expected += going
        z = np.where(going, z * z + c, z)
    # The compiler fuses multiplications with additions; a point close to the border may feel it.
    assert np.array_equal(steps[expected < 40], expected[expected < 40])
    assert (steps == expected).mean() > 0.99


def test_points_in_a_polygon(run):
    points = rng.uniform(-1.2, 1.2, (300, 2)).astype(np.float32)
    angle = np.arange(11) * 2 * np.pi / 11
    radius = np.where(np.arange(11) % 2, 0.4, 1.0)
    vertices = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)
    inside = run("irregular.pnpoly", 5, 64, inside=np.zeros(300, np.bool_), points=points,
                 vertices=vertices, n=i32(300), corners=i32(11))["inside"]  # fmt: skip
    # The star is made of triangles from the origin: a point is inside if it is in one of them.
    v, p = vertices.astype(np.float64), points.astype(np.float64)[:, None]
    after = np.roll(v, -1, axis=0)

    def left(a, b, c):
        (x, y), (u, v) = np.moveaxis(b - a, -1, 0), np.moveaxis(c - a, -1, 0)
        return x * v > y * u

    triangles = left(0 * v, v, p) & left(v, after, p) & left(after, 0 * v, p)
    assert np.array_equal(inside, triangles.any(axis=1))


def test_search_in_a_text(run):
    text = bytes(rng.choice(list(b"abc"), 500).tolist())
    pattern = b"ab?c"
    padded = np.frombuffer(pattern.ljust(16, b"\0"), np.int8)
    got = run("irregular.find", 8, 64, constants=[("pattern", padded)],
              matches=np.full(500, -1, np.int32), count=np.zeros(1, np.int32),
              text=np.frombuffer(text, np.int8), n=i32(500), length=i32(4))  # fmt: skip
    expected = [i for i in range(497) if text[i : i + 2] == b"ab" and text[i + 3 : i + 4] == b"c"]
    assert got["count"][0] == len(expected)
    assert sorted(got["matches"][: len(expected)]) == expected


def test_monte_carlo_with_xorshift(run):
    seed = np.uint32(2463534242)
    hits = run("irregular.monte_carlo", 3, 64, hits=np.zeros(1, np.uint64), seed=seed,
               rounds=i32(50))["hits"][0]  # fmt: skip
    state = seed ^ np.arange(192, dtype=np.uint32) * np.uint32(2654435761)
    expected = 0
    for _ in range(50):
        square = np.zeros(192, np.uint64)
        for _ in range(2):
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            square += (state >> np.uint32(16)).astype(np.uint64) ** 2
        expected += int((square < 1 << 32).sum())
    assert hits == expected


def test_compaction_by_ballot(run):
    values = rng.integers(0, 100, 200, dtype=np.int32)
    got = run("irregular.compact", 4, 64, out=values * 0 - 1, count=np.zeros(1, np.int32),
              values=values, n=i32(200))  # fmt: skip
    kept = values[values % 3 == 0]
    assert got["count"][0] == kept.size
    assert np.array_equal(np.sort(got["out"][: kept.size]), np.sort(kept))
