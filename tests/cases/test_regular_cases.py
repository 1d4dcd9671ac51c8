"""Kernels whose accesses do not depend on their data: outputs against NumPy and hashlib.

Each case runs as it is bundled, and in sizes that no block divides. Where the order of operations
is plain, outputs are equal bit for bit; where the compiler may contract several ways, they are
within the bound that each operation's rounding gives.
"""

import hashlib
import struct

import numpy as np
import pytest
from references import EPS, document_of, fma, outputs_and_inputs, run, sized, values

from placewise.cases import case_path
from placewise.kernel.cases.case_file import case_from


@pytest.mark.parametrize("sizes", [{}, {"width": 45, "height": 77}])
def test_transpose(sizes):
    case = sized("transpose", **sizes)
    np.testing.assert_array_equal(run(case).output("out"), values(case)["in"].T)


@pytest.mark.parametrize("sizes", [{}, {"n": 77, "step": 0}, {"n": 20, "step": 18}])
def test_gaussian_multipliers(sizes):
    out, v = outputs_and_inputs(sized("gaussian-fan1", **sizes))
    step, a = int(v["step"]), v["a"]
    expected = np.zeros_like(a)
    expected[step + 1 :, step] = a[step + 1 :, step] / a[step, step]
    np.testing.assert_array_equal(out.output("multipliers"), expected)


@pytest.mark.parametrize("sizes", [{}, {"n": 77, "step": 0}, {"n": 20, "step": 18}])
def test_gaussian_update(sizes):
    out, v = outputs_and_inputs(sized("gaussian-fan2", **sizes))
    step, a, b = int(v["step"]), v["a"].copy(), v["b"].copy()
    m = v["multipliers"][step + 1 :, step]
    # The compiler leaves these two operations to the assembler, and the executor rounds each.
    a[step + 1 :, step:] -= m[:, None] * a[step, step:]
    b[step + 1 :] -= m * b[step]
    np.testing.assert_array_equal(out.output("a"), a)
    np.testing.assert_array_equal(out.output("b"), b)


def test_both_gaussian_kernels_solve_a_system():
    """All steps in turn make the matrix triangular, with NumPy's solution."""
    n = 24
    documents = [document_of("gaussian-fan1"), document_of("gaussian-fan2")]
    rng = np.random.default_rng(5)
    whole = rng.uniform(1, 2, (n, n)) + n * np.eye(n)
    right = rng.uniform(-1, 1, n)
    arrays = {"multipliers": np.zeros((n, n)), "a": whole, "b": right}
    for step in range(n - 1):
        for document in documents:
            document["sizes"] = {"n": n, "step": step}
            for argument in document["arguments"]:
                if argument["name"] in arrays:
                    for key in ("fill", "uniform"):
                        argument.pop(key, None)
                    now = arrays[argument["name"]].astype(np.float32)
                    argument["values"] = now.ravel().tolist()
            out = run(case_from(document, case_path("gaussian-fan1")))
            arrays |= {name: data.copy() for name, data in out.outputs if name in arrays}
    triangle = np.triu(arrays["a"]).astype(float)
    solution = np.linalg.solve(triangle, arrays["b"])
    np.testing.assert_allclose(solution, np.linalg.solve(whole, right), atol=1e-5)


@pytest.mark.parametrize("sizes", [{}, {"nx": 45, "ny": 19, "nz": 5}])
def test_stencil(sizes):
    case = sized("stencil", **sizes)
    v = values(case)
    u = v["in"].astype(float)
    inner = (slice(1, -1),) * 3
    around = sum(np.roll(u, d, axis)[inner] for axis in range(3) for d in (1, -1))
    out = run(case).output("out")
    expected = float(v["neighbour"]) * around - float(v["centre"]) * u[inner]
    bound = 8 * EPS * (float(v["neighbour"]) * around + float(v["centre"]) * u[inner])
    assert np.all(np.abs(out[inner] - expected) <= bound)
    border = np.ones(u.shape, bool)
    border[inner] = False
    assert not out[border].any()


@pytest.mark.parametrize("sizes", [{}, {"rows": 37, "columns": 50}])
def test_stencil2d(sizes):
    case = sized("stencil2d", **sizes)
    v = values(case)
    u = v["data"].astype(float)
    rows, columns = int(v["rows"]), int(v["columns"])
    weights = {0: v["centre"], 1: v["edge"], 2: v["corner"]}
    expected = sum(
        float(weights[abs(y) + abs(x)]) * u[1 + y : 1 + y + rows, 1 + x : 1 + x + columns]
        for y in (-1, 0, 1)
        for x in (-1, 0, 1)
    )
    result = run(case).output("result")
    # All terms are positive.
    assert np.all(np.abs(result[1:-1, 1:-1] - expected) <= 10 * EPS * expected)
    assert not result[[0, -1]].any()
    assert not result[:, [0, -1]].any()


@pytest.mark.parametrize("sizes", [{}, {"transforms": 3}])
def test_fft(sizes):
    case = sized("fft", **sizes)
    given = values(case)["in"].astype(complex)
    out = run(case).output("out")
    error = np.linalg.norm(out - np.fft.fft(given), axis=1)
    # A radix-8 pass rounds some ten times, and there are three (Higham 2002, section 24.1).
    assert np.all(error <= 30 * EPS * np.linalg.norm(np.fft.fft(given), axis=1))


@pytest.mark.parametrize("sizes", [{}, {"n": 12345, "blocks": 7}, {"n": 3, "blocks": 2}])
def test_reduction(sizes):
    case = sized("reduction", **sizes)
    numbers, blocks = values(case)["in"], case.launch.grid[0]
    # Rounds of one number for each thread: a block adds two of them at a time.
    rounds = -(-numbers.size // (blocks * 512))
    padded = np.zeros(rounds * blocks * 512, np.float32)
    padded[: numbers.size] = numbers
    partial = np.zeros((blocks, 256), np.float32)
    for first in padded.reshape(rounds, blocks, 2, 256):
        partial = (partial + first[:, 0]) + first[:, 1]
    while partial.shape[1] > 1:
        half = partial.shape[1] // 2
        partial = partial[:, :half] + partial[:, half:]
    out = run(case).output("out")
    np.testing.assert_array_equal(out, partial[:, 0])
    assert np.sum(out, dtype=float) == pytest.approx(np.sum(numbers, dtype=float), rel=1e-5)


@pytest.mark.parametrize("sizes", [{}, {"n": 1000}])
def test_scan(sizes):
    case = sized("scan", **sizes)
    given = values(case)["in"]
    blocks = -(-given.size // 256)
    sums = np.zeros((blocks, 256), np.float32)
    sums.reshape(-1)[: given.size] = given
    exact = np.cumsum(sums, axis=1, dtype=float)
    for offset in 2 ** np.arange(8):
        sums = np.concatenate(
            [sums[:, :offset], sums[:, offset:] + sums[:, :-offset]], axis=1, dtype=np.float32
        )
    out = run(case)
    np.testing.assert_array_equal(out.output("out"), sums.reshape(-1)[: given.size])
    np.testing.assert_array_equal(out.output("sums"), sums[:, -1])
    np.testing.assert_allclose(sums, exact, rtol=8 * EPS)


@pytest.mark.parametrize("sizes", [{}, {"n": 1000}])
def test_triad(sizes):
    case = sized("triad", **sizes)
    v = values(case)
    expected = fma(v["scale"], v["b"], v["a"])
    np.testing.assert_array_equal(run(case).output("c"), expected)


@pytest.mark.parametrize("sizes", [{}, {"n": 150, "per_block": 50, "shift": 28}])
def test_sort_scatters_the_keys_in_their_order(sizes):
    case = sized("sort", **sizes)
    v = values(case)
    digit = v["keys"] >> v["shift"].astype(np.uint32) & 15
    order = np.argsort(digit, kind="stable")
    out = run(case)
    np.testing.assert_array_equal(out.output("keys_out"), v["keys"][order])
    np.testing.assert_array_equal(out.output("values_out"), v["values"][order])


def digest_of(index, length, radix):
    key = bytes(index // radix**j % radix for j in range(length))
    return key, struct.unpack("<4I", hashlib.md5(key, usedforsecurity=False).digest())


@pytest.mark.parametrize(
    ("length", "radix", "index"),
    [(5, 10, 73512), (1, 200, 199), (3, 7, 0), (4, 6, 999), (7, 3, 1)],
)
def test_md5hash_finds_the_key(length, radix, index):
    key, digest = digest_of(index, length, radix)
    document = document_of("md5hash")
    if (length, radix) == (5, 10):
        # The bundled case.
        assert [a["value"] for a in document["arguments"][:4]] == list(digest)
    document["sizes"] = {"length": length, "radix": radix, "count": radix**length}
    for argument, word in zip(document["arguments"][:4], digest, strict=True):
        argument["value"] = word
    out = run(case_from(document, case_path("md5hash")))
    assert out.output("found_index").tolist() == [index]
    assert out.output("found_key").tobytes() == key
    assert tuple(out.output("found_digest")) == digest


def test_md5hash_finds_nothing_where_nothing_is():
    out = run(sized("md5hash", count=73512))
    assert out.output("found_index").tolist() == [-1]
    assert not out.output("found_digest").any()


@pytest.mark.parametrize("sizes", [{}, {"points": 1000, "clusters": 7, "dimensions": 3}])
def test_kmeans(sizes):
    case = sized("kmeans", **sizes)
    v = values(case)
    distances = []
    for centre in v["centres"]:
        total = np.zeros(v["features"].shape[1], np.float32)
        for feature, at in zip(v["features"], centre, strict=True):
            total = fma(feature - at, feature - at, total)
        distances.append(total)
    np.testing.assert_array_equal(run(case).output("nearest"), np.argmin(distances, axis=0))


@pytest.mark.parametrize("sizes", [{}, {"count": 9, "inputs": 50, "neurons": 4}])
def test_neuralnet(sizes):
    case = sized("neuralnet", **sizes)
    v = values(case)
    images, weights = v["images"].astype(float), v["weights"].astype(float)
    sums = images @ weights + v["biases"]
    expected = 1 / (1 + np.exp(-sums))
    # The sigmoid's slope is at most 1/4; its own roundings come on top.
    bound = 0.25 * (int(v["inputs"]) + 1) * EPS * (images @ np.abs(weights) + np.abs(v["biases"]))
    assert np.all(np.abs(run(case).output("activations") - expected) <= bound + 8 * EPS)


@pytest.mark.parametrize("sizes", [{}, {"points": 1000}])
def test_s3d(sizes):
    case = sized("s3d", **sizes)
    v = values(case)
    pressure, temperature = v["p"] * float(v["p_unit"]), v["t"] * float(v["t_unit"])
    moles = v["y"].astype(float) * v["inverse_weights"][:, None]
    expected = moles / moles.sum(axis=0) * pressure / (8.314510e7 * temperature)
    # Every term is positive: relative errors add.
    np.testing.assert_allclose(
        run(case).output("c"), np.maximum(expected, 1e-30), rtol=(22 + 8) * EPS
    )


def test_qtc_sizes_and_diameters():
    check_qtc(sized("qtc", points=90))


@pytest.mark.slow
def test_qtc_as_bundled():
    check_qtc(sized("qtc"))


def check_qtc(case):
    v = values(case)
    distances, threshold = v["distances"], v["threshold"]
    out = run(case)
    for seed in range(len(distances)):
        members, diameter = [seed], np.float32(0)
        while True:
            # The diameter that each further point would give.
            wider = np.maximum(distances[members].max(axis=0), diameter)
            wider[members] = np.inf
            nearest = int(np.argmin(wider))
            if wider[nearest] > threshold:
                break
            members.append(nearest)
            diameter = wider[nearest]
        assert out.output("sizes")[seed] == len(members)
        assert out.output("diameters")[seed] == diameter
    assert len(members) > 3
