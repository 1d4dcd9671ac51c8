"""Three programs of several kernels each, launched through whatever they are given.

Their kernels are in ``kernels.cu`` and, for Numba, in ``numba_kernels.py``. A program takes
launchers by kernel name, each called as ``launch(grid, block, *arguments)``, and returns its arrays
at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.runtime import numba_kernels
from placewise import DeviceMemory, Launch, kernel_from
from placewise.kernel.cases.make_case import dims
from placewise.kernel.kernel import Kernel

SOURCE = (Path(__file__).parent / "kernels.cu").read_text()
THREADS = 256
Launcher = Callable[..., object]
Outputs = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Program:
    """A program and its kernels."""

    name: str
    kernels: tuple[str, ...]
    run: Callable[[Mapping[str, Launcher], int], Outputs]
    """Launchers and a size: 0 is the usual one, 1 a smaller one."""
    error: Callable[[Outputs, int], float]
    """How far the result is from what NumPy or SciPy computes; at most 1 where it is right."""


class RawKernel:
    """What CuPy's ``RawKernel`` holds; the executor launches it."""

    def __init__(self, code: str, name: str) -> None:
        self.code, self.name, self.options = code, name, ()
        self.file_path, self.backend = None, "nvrtc"


def original(dialect: str, name: str) -> Any:
    """The kernel ``name`` as a user of CuPy or of Numba has it."""
    if dialect == "Numba":
        return getattr(numba_kernels, name)
    return RawKernel(SOURCE, name)


def tuned_launcher(dialect: str, tuned: Any) -> Launcher:
    """Launch ``tuned`` with the syntax of its library."""

    def launch(grid: Any, block: Any, *arguments: Any) -> None:
        if dialect == "Numba":
            tuned[grid, block](*arguments)
        else:
            tuned(grid, block, arguments)

    return launch


def plain_launcher(dialect: str, name: str) -> Launcher:
    """Launch the kernel on the executor, without the runtime."""
    function = original(dialect, name)
    compiled: dict[tuple[object, ...], Kernel] = {}

    def launch(grid: Any, block: Any, *arguments: Any) -> None:
        types = tuple((a.dtype, a.ndim) for a in arguments) if dialect == "Numba" else ()
        if types not in compiled:
            compiled[types] = (
                kernel_from(function, arguments=arguments)
                if dialect == "Numba"
                else kernel_from(SOURCE, name)
            )
        kernel = compiled[types]
        memory = DeviceMemory()
        passed = [
            memory.upload(f"{n}", a) if isinstance(a, np.ndarray) else a
            for n, a in enumerate(arguments)
        ]
        result = memory.launch(kernel, Launch(dims("grid", grid), dims("block", block)), passed)
        for n, argument in enumerate(arguments):
            if str(n) in result.written:
                argument[...] = result.output(str(n))

    return launch


def _blocks(n: int) -> tuple[int, ...]:
    return (-(-n // THREADS),)


def _matrix(size: int) -> tuple[scipy.sparse.csr_array, NDArray[np.float32]]:
    """A Laplacian of the plane, symmetric and positive definite, and a right side."""
    side = (96, 40)[size]
    line = scipy.sparse.diags_array([-1.0, 2.05, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    eye = scipy.sparse.eye_array(side)
    matrix = scipy.sparse.csr_array(scipy.sparse.kron(line, eye) + scipy.sparse.kron(eye, line))
    matrix = matrix.astype(np.float32)
    matrix.sort_indices()
    return matrix, np.random.default_rng(1).random(side * side, dtype=np.float32)


def _solve(launch: Mapping[str, Launcher], size: int) -> Outputs:
    matrix, b = _matrix(size)
    n = np.int32(len(b))
    row, column = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    value = matrix.data
    x, r, p, q = np.zeros_like(b), b.copy(), b.copy(), np.zeros_like(b)
    part = np.zeros(32, np.float32)
    block = (THREADS,)

    def product(u: NDArray[np.float32], v: NDArray[np.float32]) -> np.float32:
        launch["dot"]((32,), block, u, v, part, n)
        return np.float32(part.sum())

    # A vector with itself would be the same array twice: a copy keeps the two apart.
    old = product(r, r.copy())
    for _ in range(30):
        launch["spmv"](_blocks(n), block, row, column, value, p, q, n)
        alpha = old / product(p, q)
        launch["axpy"](_blocks(n), block, alpha, p, x, n)
        launch["axpy"](_blocks(n), block, -alpha, q, r, n)
        new = product(r, r.copy())
        launch["xpay"](_blocks(n), block, r, new / old, p, n)
        old = new
    return {"x": x, "r": r, "p": p}


def _solve_error(outputs: Outputs, size: int) -> float:
    matrix, b = _matrix(size)
    residual = b - matrix @ outputs["x"]
    return float(np.linalg.norm(residual) / np.linalg.norm(b)) / 1e-2


def _points(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    n, k, d = ((16384, 24, 12), (5000, 7, 12))[size]
    rng = np.random.default_rng(2)
    middles = rng.random((k, d))
    points = middles[rng.integers(0, k, n)] + rng.normal(0, 0.05, (n, d))
    return np.ascontiguousarray(points.T, np.float32), np.ascontiguousarray(points[:k], np.float32)


def _cluster(launch: Mapping[str, Launcher], size: int) -> Outputs:
    points, centres = _points(size)
    (d, n), k = points.shape, len(centres)
    label = np.zeros(n, np.int32)
    block = (128,)
    numbers = np.int32(n), np.int32(k), np.int32(d)
    for _ in range(8):
        sums, counts = np.zeros((k, d), np.int32), np.zeros(k, np.int32)
        launch["assign"]((-(-n // 128),), block, points, centres, label, *numbers)
        launch["accumulate"](
            (-(-n // 128),), block, points, label, sums, counts, numbers[0], numbers[2]
        )
        launch["divide"]((-(-k * d // 128),), block, sums, counts, centres, *numbers[1:])
    return {"centres": centres, "label": label, "counts": counts}


def _cluster_error(outputs: Outputs, size: int) -> float:
    points, centres = _points(size)
    n, k = points.shape[1], len(centres)
    for _ in range(8):
        distance = ((points[None].astype(np.float64) - centres[:, :, None]) ** 2).sum(1)
        label = distance.argmin(0)
        for c in range(k):
            if (label == c).any():
                centres[c] = points[:, label == c].mean(1)
    wrong = np.count_nonzero(label != outputs["label"])
    # The kernel cuts coordinates to whole 16384ths, which may move a point at a border.
    return max(float(np.abs(centres - outputs["centres"]).max()) / 5e-3, 100 * wrong / n)


def _plate(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    ny, nx = ((192, 256), (60, 100))[size]
    rng = np.random.default_rng(3)
    field = rng.random((ny, nx), dtype=np.float32)
    conductivity = np.float32(0.5) + rng.random((ny, nx), dtype=np.float32)
    return field, conductivity, np.sin(np.arange(16)).astype(np.float32)


def _simulate(launch: Mapping[str, Launcher], size: int) -> Outputs:
    now, conductivity, table = _plate(size)
    following = now.copy()
    ny, nx = now.shape
    grid, block = (-(-nx // 32), -(-ny // 8)), (32, 8)
    numbers = np.int32(nx), np.int32(ny)
    for step in range(12):
        launch["heat"](grid, block, now, conductivity, following, *numbers, np.float32(0.1))
        launch["warm"](
            (16,), (32,), table, following, numbers[0], np.int32(step), np.int32(len(table)),
            np.int32(20), np.int32(10), np.int32(32),
        )  # fmt: skip
        launch["borders"](_blocks(max(nx, ny)), (THREADS,), following, *numbers)
        now, following = following, now
    return {"field": now}


def _simulate_error(outputs: Outputs, size: int) -> float:
    now, conductivity, table = _plate(size)
    now = now.astype(np.float64)
    for step in range(12):
        flow = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
        following = now.copy()
        inside = now[1:-1, 1:-1]
        following[1:-1, 1:-1] = inside + 0.1 * conductivity[1:-1, 1:-1] * (flow - 4 * inside)
        following[10:26, 20:52] += table[step % len(table)]
        following[0], following[-1] = following[1].copy(), following[-2].copy()
        following[:, 0], following[:, -1] = following[:, 1].copy(), following[:, -2].copy()
        now = following
    # The kernel's corners depend on which thread comes last, rows or columns.
    corners = np.s_[1:-1, 1:-1]
    return float(np.abs(now[corners] - outputs["field"][corners]).max()) / 1e-3


PROGRAMS = (
    Program("conjugate gradients", ("spmv", "dot", "axpy", "xpay"), _solve, _solve_error),
    Program("k-means", ("assign", "accumulate", "divide"), _cluster, _cluster_error),
    Program("stencil", ("heat", "warm", "borders"), _simulate, _simulate_error),
)
DIALECTS = ("CuPy", "Numba")
