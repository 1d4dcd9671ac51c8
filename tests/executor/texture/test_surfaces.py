"""Surface reads and writes against plain indexing."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import Collector, run

from placewise.errors import CaseError, ExecutionError
from placewise.kernel.texture import Geometry, SurfaceArgument

SOURCE = r"""
#define COPY(name, mode, read, write) \
extern "C" __global__ void name(cudaSurfaceObject_t from, cudaSurfaceObject_t to, const int* p, \
                                const int* q, OUT* o, int n) { \
  int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= n) return; \
  const auto m = cudaBoundaryMode##mode; \
  int size = sizeof(OUT), x = p[4 * i] * size, y = p[4 * i + 1], z = p[4 * i + 2]; \
  int l = p[4 * i + 3]; \
  OUT v = read; o[i] = v; \
  x = q[4 * i] * size, y = q[4 * i + 1], z = q[4 * i + 2], l = q[4 * i + 3]; \
  write; }
#define SHAPES(mode) \
COPY(one##mode, mode, surf1Dread<OUT>(from, x, m), surf1Dwrite(v, to, x, m)) \
COPY(two##mode, mode, surf2Dread<OUT>(from, x, y, m), surf2Dwrite(v, to, x, y, m)) \
COPY(three##mode, mode, surf3Dread<OUT>(from, x, y, z, m), surf3Dwrite(v, to, x, y, z, m)) \
COPY(lines##mode, mode, surf1DLayeredread<OUT>(from, x, l, m), surf1DLayeredwrite(v, to, x, l, m)) \
COPY(squares##mode, mode, surf2DLayeredread<OUT>(from, x, y, l, m), \
     surf2DLayeredwrite(v, to, x, y, l, m)) \
COPY(faces##mode, mode, surfCubemapread<OUT>(from, x, y, l, m), \
     surfCubemapwrite(v, to, x, y, l, m))
SHAPES(Trap) SHAPES(Clamp) SHAPES(Zero)
"""
SHAPES: dict[str, tuple[Geometry, tuple[int, ...], tuple[int, ...]]] = {
    # Geometry, extents slowest first, and which of (x, y, z, layer) these are.
    "one": ("1d", (19,), (0,)),
    "two": ("2d", (7, 12), (1, 0)),
    "three": ("3d", (3, 5, 6), (2, 1, 0)),
    "lines": ("layered-1d", (4, 9), (3, 0)),
    "squares": ("layered-2d", (3, 4, 8), (3, 1, 0)),
    "faces": ("cube", (6, 5, 5), (3, 1, 0)),
}
ELEMENTS = {
    "unsigned char": np.dtype("u1"),
    "short": np.dtype("i2"),
    "float": np.dtype("f4"),
    "long long": np.dtype("i8"),
    "uchar4": np.dtype("u1,u1,u1,u1"),
    "short2": np.dtype("i2,i2"),
    "float2": np.dtype("f4,f4"),
    "int4": np.dtype("i4,i4,i4,i4"),
}
N = 80


def some(random: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape)) * dtype.itemsize
    return random.integers(0, 256, count, dtype=np.uint8).view(dtype).reshape(shape)


@pytest.mark.parametrize("mode", ["Trap", "Clamp", "Zero"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("element", ["float", "uchar4"])
def test_every_shape_and_boundary(shape: str, mode: str, element: str) -> None:
    copied(shape, mode, element)


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_width(element: str) -> None:
    copied("two", "Zero", element)


def copied(shape: str, mode: str, element: str) -> None:
    """Read at some places and write at others; outside ones too unless they trap."""
    geometry, extents, axes = SHAPES[shape]
    dtype = ELEMENTS[element]
    random = np.random.default_rng(len(shape) + len(element))
    source, target = (some(random, dtype, extents) for _ in range(2))
    margin = 0 if mode == "Trap" else 3
    places = np.zeros((2, N, 4), np.int32)
    for extent, axis in zip(extents, axes, strict=True):
        places[..., axis] = random.integers(-margin, extent + margin, (2, N))
    result = run(
        SOURCE.replace("OUT", element), shape + mode, 2, 64,
        **{"from": SurfaceArgument("from", source, geometry)},
        to=SurfaceArgument("to", target, geometry), p=places[0], q=places[1],
        o=np.zeros(N, dtype), n=np.int32(N),
    )  # fmt: skip
    read, expected = np.zeros(N, dtype), target.copy()
    for i in range(N):
        at, to = (tuple(int(p[i, axis]) for axis in axes) for p in places)
        inside = [all(0 <= k < n for k, n in zip(x, extents, strict=True)) for x in (at, to)]
        at, to = (
            tuple(min(max(k, 0), n - 1) for k, n in zip(x, extents, strict=True)) for x in (at, to)
        )
        if inside[0] or mode == "Clamp":
            read[i] = source[at]
        if inside[1] or mode == "Clamp":
            expected[to] = read[i]
    assert result.output("o").tobytes() == read.tobytes()
    assert result.output("to").tobytes() == expected.tobytes()
    assert result.output("from").tobytes() == source.tobytes()
    assert result.written == {"to", "o"}


def test_traces_of_surfaces() -> None:
    source = np.arange(84, dtype=np.float32).reshape(7, 12)
    random = np.random.default_rng(2)
    places = np.zeros((2, 64, 4), np.int32)
    places[..., 0], places[..., 1] = (
        random.integers(-2, 14, (2, 64)),
        random.integers(-2, 9, (2, 64)),
    )
    collector = Collector()
    run(
        SOURCE.replace("OUT", "float"), "twoZero", 2, 32, options={"consumer": collector},
        **{"from": SurfaceArgument("from", source)}, to=SurfaceArgument("to", source),
        p=places[0], q=places[1], o=np.zeros(64, np.float32), n=np.int32(64),
    )  # fmt: skip
    for number, array, kind in ((0, "from", "load"), (1, "to", "store")):
        x, y = places[number, :, 0], places[number, :, 1]
        inside = (x >= 0) & (x < 12) & (y >= 0) & (y < 7)
        offsets = [o for *_, lanes in collector.of(array, kind) for o in lanes]
        expected = [4 * (12 * b + a) if c else None for a, b, c in zip(x, y, inside, strict=True)]
        assert offsets == expected


def test_what_surfaces_refuse() -> None:
    data = np.zeros((4, 4), np.float32)
    places = np.zeros((1, 4), np.int32)

    def copy(shape: str, place: list[int], argument: SurfaceArgument) -> None:
        run(
            SOURCE.replace("OUT", "float2"), shape, 1, 1, **{"from": argument},
            to=SurfaceArgument("to", data), p=np.array([place], np.int32), q=places,
            o=np.zeros(1, "f4,f4"), n=np.int32(1),
        )  # fmt: skip

    with pytest.raises(ExecutionError, match=r"'suld\S+trap' is outside of surface 'from' \(4 × 4"):
        copy("twoTrap", [2, 0, 0, 0], SurfaceArgument("from", data))
    with pytest.raises(ExecutionError, match=r"accesses 'from', which is 2d \(4 × 4 texels\)"):
        copy("threeTrap", [0, 0, 0, 0], SurfaceArgument("from", data))
    with pytest.raises(ExecutionError, match=r"misaligned: 'suld.*no multiple of 8 bytes"):
        run(
            'extern "C" __global__ void k(cudaSurfaceObject_t s, float2* o)'
            "{ *o = surf2Dread<float2>(s, 4, 0); }",
            "k", 1, 1, s=SurfaceArgument("s", data), o=np.zeros(1, "f4,f4"),
        )  # fmt: skip
    with pytest.raises(CaseError, match="a surface needs a CUDA array"):
        copy("oneTrap", [0, 0, 0, 0], SurfaceArgument("from", data, "linear"))
