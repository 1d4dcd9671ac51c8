"""Ten kernels as a beginner would write them, each with inputs of three sizes and NumPy's result.

The first size is the one that advice is asked for; the others, no multiples of the block, and with
other data, are what the written form must compute, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise import make_case
from placewise.kernel.cases.case import Case

SOURCES = (
    Path(__file__).with_name("kernels"),
    Path(__file__).parents[2] / "docs" / "examples",
)
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Beginner:
    """One kernel: how to make a case of a size, and what it must compute."""

    name: str
    kernel: str
    sizes: tuple[tuple[int, ...], ...]
    inputs: Callable[[np.random.Generator, tuple[int, ...]], list[Any]]
    """Arguments of the kernel, by generator of random numbers and size."""
    launch: Callable[[tuple[int, ...]], dict[str, Any]]
    expected: Callable[[Arrays, tuple[int, ...]], Arrays]
    """Arrays after the launch by those before it, to rounding."""

    def case(self, number: int) -> Case:
        """The case of size ``number``, with data of its own."""
        size = self.sizes[number]
        arguments = self.inputs(np.random.default_rng(number + 1), size)
        source = next(f for s in SOURCES if (f := s / f"{self.name}.cu").is_file())
        return make_case(self.kernel, source, arguments, name=self.name, **self.launch(size))


def _floats(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return rng.uniform(-1.0, 1.0, shape).astype(np.float32)


def _ints(*values: int) -> list[np.int32]:
    return [np.int32(v) for v in values]


def _zeros(*shape: int) -> NDArray[np.float32]:
    return np.zeros(shape, np.float32)


def _matmul(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    return {"C": arrays["A"] @ arrays["B"]}


def _nbody(arrays: Arrays, size: tuple[int, ...]) -> Arrays:
    position = np.stack([arrays["px"], arrays["py"], arrays["pz"]]).astype(np.float64)
    total = np.zeros_like(position)
    for start in range(0, size[0], 256):
        between = position[:, None, :] - position[:, start : start + 256, None]
        inverse = 1.0 / np.sqrt((between**2).sum(axis=0) + 1e-4)
        weight = arrays["mass"] * inverse**3
        total[:, start : start + 256] = (between * weight).sum(axis=2)
    return {name: total[axis] for axis, name in enumerate(("ax", "ay", "az"))}


def _assign(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    points, centres = arrays["points"].astype(float), arrays["centres"].astype(float)
    squares = (points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
    return {"nearest": squares.argmin(axis=1)}


def _convolve(arrays: Arrays, size: tuple[int, ...]) -> Arrays:
    width, height = size
    padded = np.pad(arrays["image"].astype(float), 7)
    total = np.zeros((height, width))
    for dy in range(15):
        for dx in range(15):
            total += arrays["filter"][dy, dx] * padded[dy : dy + height, dx : dx + width]
    return {"result": total}


def _stencil(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    cells, out = arrays["in"].astype(float), arrays["out"].astype(float)
    weights = (0.5, 0.05, 0.02, 0.01)
    total = np.zeros_like(cells[1:-1, 1:-1, 1:-1])
    nz, ny, nx = cells.shape
    for dz in range(3):
        for dy in range(3):
            for dx in range(3):
                far = sum(d != 1 for d in (dx, dy, dz))
                part = cells[dz : nz - 2 + dz, dy : ny - 2 + dy, dx : nx - 2 + dx]
                total += weights[far] * part
    out[1:-1, 1:-1, 1:-1] = total
    return {"out": out}


def _matvec(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    return {"y": np.einsum("brc,bc->br", arrays["A"].astype(float), arrays["x"])}


def _diagonal(arrays: Arrays, size: tuple[int, ...]) -> Arrays:
    la, lb, d = size
    score = arrays["H"].copy()
    for i in range(max(1, d - lb), min(d - 1, la) + 1):
        j = d - i
        same = 2 if arrays["a"][i - 1] == arrays["b"][j - 1] else -1
        above, left = score[i - 1, j] - 1, score[i, j - 1] - 1
        score[i, j] = max(0, score[i - 1, j - 1] + same, above, left)
    return {"H": score}


def _histogram(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    return {"bins": np.bincount(arrays["data"], minlength=256)}


def _softmax(arrays: Arrays, _size: tuple[int, ...]) -> Arrays:
    rows = arrays["in"].astype(float)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return {"out": powers / powers.sum(axis=1, keepdims=True)}


def _letters(rng: np.random.Generator, count: int) -> NDArray[np.int8]:
    return rng.choice(np.frombuffer(b"ACGT", np.int8), count)


BEGINNERS = (
    Beginner(
        "multiply", "matmul", ((512, 512, 512), (150, 203, 99), (65, 130, 260)),
        lambda r, s: [_floats(r, s[0], s[2]), _floats(r, s[2], s[1]), _zeros(s[0], s[1]),
                      *_ints(*s)],
        lambda s: {"block": (16, 16), "problem": (s[1], s[0])}, _matmul,
    ),
    Beginner(
        "nbody", "nbody", ((8192,), (1000,), (333,)),
        lambda r, s: [*(_floats(r, s[0]) for _ in range(4)), *(_zeros(s[0]) for _ in range(3)),
                      *_ints(*s)],
        lambda s: {"block": 64, "problem": s[0]}, _nbody,
    ),
    Beginner(
        "kmeans", "assign", ((100_000, 64, 32), (1000, 17, 32), (777, 40, 13)),
        lambda r, s: [_floats(r, s[0], s[2]), _floats(r, s[1], s[2]), np.zeros(s[0], np.int32),
                      *_ints(*s)],
        lambda s: {"block": 128, "problem": s[0]}, _assign,
    ),
    Beginner(
        "convolution", "convolve", ((1024, 1024), (201, 97), (64, 130)),
        lambda r, s: [_floats(r, s[1], s[0]), _floats(r, 15, 15), _zeros(s[1], s[0]), *_ints(*s)],
        lambda s: {"block": (16, 16), "problem": s}, _convolve,
    ),
    Beginner(
        "stencil", "stencil27", ((192, 192, 192), (50, 41, 23), (33, 64, 10)),
        lambda r, s: [_floats(r, *s[::-1]), _zeros(*s[::-1]), *_ints(*s),
                      *(np.float32(c) for c in (0.5, 0.05, 0.02, 0.01))],
        lambda s: {"block": (32, 8, 1), "problem": s}, _stencil,
    ),
    Beginner(
        "transpose", "transpose", ((2048, 2048), (200, 333), (65, 31)),
        lambda r, s: [_floats(r, s[1], s[0]), _zeros(s[0], s[1]), *_ints(*s)],
        lambda s: {"block": (16, 16), "problem": s},
        lambda arrays, _: {"out": arrays["in"].T},
    ),
    Beginner(
        "matvec", "matvec", ((1024, 512, 64), (100, 77, 5), (130, 64, 3)),
        lambda r, s: [_floats(r, s[2], s[0], s[1]), _floats(r, s[2], s[1]), _zeros(s[2], s[0]),
                      *_ints(*s[:2])],
        lambda s: {"block": 128, "problem": (s[0], s[2])}, _matvec,
    ),
    Beginner(
        "smith_waterman", "diagonal", ((8192, 8192, 8000), (500, 300, 420), (100, 257, 90)),
        lambda r, s: [_letters(r, s[0]), _letters(r, s[1]),
                      r.integers(0, 9, (s[0] + 1, s[1] + 1), np.int32), *_ints(*s, 2, -1, 1)],
        lambda s: {"block": 256, "problem": min(s[0], s[1])}, _diagonal,
    ),
    Beginner(
        "histogram", "histogram", ((8_000_000,), (10_001,), (777,)),
        lambda r, s: [np.clip(r.normal(128, 30, s[0]), 0, 255).astype(np.uint8),
                      np.zeros(256, np.uint32), *_ints(*s)],
        lambda s: {"block": 256, "grid": min(864, -(-s[0] // 256))}, _histogram,
    ),
    Beginner(
        "softmax", "softmax", ((65536, 128), (300, 77), (1000, 64)),
        lambda r, s: [_floats(r, *s), _zeros(*s), *_ints(*s)],
        lambda s: {"block": 128, "problem": s[0]}, _softmax,
    ),
)  # fmt: skip
