"""Ten kernels over arrays of structs as people write them, each with inputs of three sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise import make_case
from placewise.kernel.cases.case import Case

KERNELS = Path(__file__).with_name("kernels")
Size = tuple[int, ...]


@dataclass(frozen=True)
class StructKernel:
    """One kernel: how to make a case of a size."""

    name: str
    sizes: tuple[Size, ...]
    """The size that advice is asked for, then two on which the written form is tried, too."""
    inputs: Callable[[np.random.Generator, Size], list[Any]]
    launch: Callable[[Size], dict[str, Any]]

    def case(self, number: int) -> Case:
        """The case of size ``number``, with data of its own."""
        size = self.sizes[number]
        arguments = self.inputs(np.random.default_rng(number + 1), size)
        source = KERNELS / f"{self.name}.cu"
        return make_case(self.name, source, arguments, name=self.name, **self.launch(size))


def struct_array(
    rng: np.random.Generator, shape: Size, floats: str, integers: str = "", kind: str = "f4"
) -> NDArray[Any]:
    """Structs of random numbers in [0.1, 1): ``floats`` of one kind, then 32-bit ``integers``."""
    types = [(name, kind) for name in floats.split()] + [(n, "i4") for n in integers.split()]
    return filled(rng, shape, np.dtype(types, align=True))


def filled(rng: np.random.Generator, shape: Size, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Structs of ``dtype``: reals in [0.1, 1), whole numbers 0 and 1."""
    made = np.zeros(shape, dtype)
    for name in dtype.names or ():
        column = made[name]
        is_real = column.dtype.kind == "f"
        drawn = rng.uniform(0.1, 1.0, column.shape) if is_real else rng.integers(0, 2, column.shape)
        made[name] = drawn
    return made


def _line(size: Size) -> dict[str, Any]:
    return {"block": 256, "problem": size[0]}


def _plane(size: Size) -> dict[str, Any]:
    return {"block": (32, 8), "problem": size[:2]}


def _particles(rng: np.random.Generator, size: Size) -> list[Any]:
    particles = struct_array(rng, size, "x y z vx vy vz charge mass", "cell species")
    return [particles, np.int32(size[0]), np.float32(0.1), np.float32(1.0)]


def _boltzmann(rng: np.random.Generator, size: Size) -> list[Any]:
    width, height = size
    names = "c e n w s ne nw sw se obstacle"
    cells = struct_array(rng, (width * height,), names)
    return [cells, np.zeros_like(cells), np.int32(width), np.int32(height), np.float32(1.7)]


def _fdtd(rng: np.random.Generator, size: Size) -> list[Any]:
    cells = struct_array(rng, (int(np.prod(size)),), "ex ey ez hx hy hz epsilon sigma")
    return [cells, *(np.int32(n) for n in size), np.float32(0.1)]


def _molecules(rng: np.random.Generator, size: Size) -> list[Any]:
    count, most = size
    names = "x y z charge vx vy vz mass fx fy fz"
    near = np.arange(count)[None, :] + rng.integers(-400, 400, (most, count))
    return [
        struct_array(rng, (count,), names, "type"),
        np.ascontiguousarray(near % count, np.int32),
        np.int32(count),
        np.int32(most),
    ]


def _points(rng: np.random.Generator, size: Size) -> list[Any]:
    count, centres = size
    return [
        struct_array(rng, (count,), "x y z w distance", "cluster previous label"),
        struct_array(rng, (centres,), "x y z w"),
        np.int32(count),
        np.int32(centres),
    ]


def _rays(rng: np.random.Generator, size: Size) -> list[Any]:
    count, spheres = size
    return [
        struct_array(rng, (count,), "ox oy oz dx dy dz t", "hit"),
        struct_array(rng, (spheres,), "x y z radius"),
        np.int32(count),
        np.int32(spheres),
    ]


def _image(rng: np.random.Generator, size: Size) -> list[Any]:
    pixels = struct_array(rng, (size[1] * size[0],), "r g b")
    return [pixels, np.zeros_like(pixels), np.int32(size[0]), np.int32(size[1])]


_ENTRY = np.dtype(
    [("row", "i4"), ("column", "i4"), ("value", "f8"), ("error", "f8"), ("source", "i8")],
    align=True,
)


def _triples(rng: np.random.Generator, size: Size) -> list[Any]:
    count, columns = size
    entries = filled(rng, (count,), _ENTRY)
    entries["column"] = np.sort(rng.integers(0, columns, count))
    vector = rng.uniform(0.1, 1.0, columns).astype(np.float32)
    return [entries, vector, np.zeros(count, np.float32), np.int32(count)]


def _spectra(rng: np.random.Generator, size: Size) -> list[Any]:
    one, other = (struct_array(rng, size, "re im") for _ in range(2))
    return [one, other, np.int32(size[0]), np.float32(0.5)]


_AGENT = np.dtype(
    [(n, "f8") for n in ("x", "y", "heading", "speed")]
    + [("energy", "f4"), ("age", "f4"), ("alive", "i4"), ("home", "i4"), ("memory", "f4", 8)],
    align=True,
)


def _agents(rng: np.random.Generator, size: Size) -> list[Any]:
    return [filled(rng, size, _AGENT), np.int32(size[0]), np.float32(0.3), np.float32(1.0)]


MILLION = 1 << 20
STRUCT_KERNELS = (
    StructKernel("particle_push", ((MILLION,), (1000,), (777,)), _particles, _line),
    StructKernel("lattice_boltzmann", ((1024, 1024), (64, 40), (33, 70)), _boltzmann, _plane),
    StructKernel(
        "fdtd", ((128, 128, 64), (40, 20, 6), (33, 17, 5)), _fdtd,
        lambda size: {"block": (32, 8), "grid": (-(-size[0] // 32), -(-size[1] // 8), size[2])},
    ),
    StructKernel(
        "molecular_dynamics", ((1 << 17, 32), (900, 5), (1025, 3)), _molecules, _line
    ),
    StructKernel("kmeans_points", ((MILLION, 8), (1000, 3), (513, 5)), _points, _line),
    StructKernel("ray_sphere", ((MILLION, 4), (1000, 3), (513, 7)), _rays, _line),
    StructKernel("rgb_filter", ((2048, 1024), (70, 30), (65, 17)), _image, _plane),
    StructKernel("sparse_triples", ((MILLION, 4096), (1000, 50), (600, 9)), _triples, _line),
    StructKernel("complex_numbers", ((2 * MILLION,), (1000,), (257,)), _spectra, _line),
    StructKernel(
        "agents", ((MILLION,), (1000,), (700,)), _agents,
        lambda size: {"block": 256, "grid": min(2048, -(-size[0] // 256))},
    ),
)  # fmt: skip
