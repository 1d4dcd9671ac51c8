"""The parts of a case file that several arrays are taken from: matrices, images and data sets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from placewise.kernel.cases.strict_model import Finite, Seed, Size, Strict


class MatrixFile(Strict):
    """A Matrix Market file, ``.mtx`` or ``.mtx.gz``."""

    file: str


class Hexahedra(Strict):
    """A finite-element matrix on a distorted mesh of hexahedra, see :func:`hexahedra`."""

    generate: Literal["hexahedra"]
    nodes: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=3, max_length=3)]
    distortion: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    seed: Seed = 0


class Skewed(Strict):
    """A random matrix of which few rows hold most of the entries, see :func:`skewed`."""

    generate: Literal["skewed"]
    rows: Size
    entries: Annotated[Finite, Field(gt=0)]
    """Mean number of entries in a row."""
    skew: Annotated[Finite, Field(ge=0)] = 1.0
    seed: Seed


def _generator(value: Any) -> str:
    """Name of the generator that a table asks for; "file" where it asks for none."""
    if isinstance(value, dict):
        return str(value.get("generate", "file"))
    return str(getattr(value, "generate", "file"))


AnyMatrix = Annotated[
    Annotated[MatrixFile, Tag("file")]
    | Annotated[Hexahedra, Tag("hexahedra")]
    | Annotated[Skewed, Tag("skewed")],
    Discriminator(
        _generator,
        custom_error_type="generator",
        custom_error_message='needs a file, or generate = "hexahedra" or "skewed"',
    ),
]


class Graph(Strict):
    """A graph and a breadth-first search on it, see :func:`graph`."""

    generate: Literal["graph"]
    nodes: Size
    edges: Annotated[Finite, Field(gt=0)]
    """Mean number of edges that leave a node."""
    skew: Annotated[Finite, Field(ge=0)] = 0.0
    levels: Size = 0
    seed: Seed


class Points(Strict):
    """Points with their neighbours or distances, see :func:`points`."""

    generate: Literal["points"]
    count: Size
    dimensions: Literal[2, 3] = 3
    neighbours: Size = 0
    distances: bool = False
    seed: Seed


class HexahedralMesh(Strict):
    """Hexahedra with their corners, see :func:`hexahedral_mesh`."""

    generate: Literal["hexahedra"]
    nodes: Annotated[list[Size], Field(min_length=3, max_length=3)]
    distortion: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    seed: Seed


class Tetrahedra(Strict):
    """Tetrahedra with their neighbours, see :func:`tetrahedra`."""

    generate: Literal["tetrahedra"]
    cells: Annotated[list[Size], Field(min_length=3, max_length=3)]
    distortion: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    shuffle: Size = 0
    seed: Seed


class RadixPass(Strict):
    """Keys in the middle of a radix sort, see :func:`radix_pass`."""

    generate: Literal["radix-pass"]
    keys: Size
    per_block: Size
    bits: Annotated[int, Field(ge=1, le=8)] = 4
    shift: Size = 0
    seed: Seed


AnyDataset = Annotated[
    Annotated[Graph, Tag("graph")]
    | Annotated[Points, Tag("points")]
    | Annotated[HexahedralMesh, Tag("hexahedra")]
    | Annotated[Tetrahedra, Tag("tetrahedra")]
    | Annotated[RadixPass, Tag("radix-pass")],
    Discriminator(
        _generator,
        custom_error_type="generator",
        custom_error_message="needs generate = graph, points, hexahedra, tetrahedra or radix-pass",
    ),
]


class ImageFile(Strict):
    """Any picture that Pillow reads."""

    file: str
