"""A random kernel as data: its parameters, its statements, its launches, and cases made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise import make_case
from placewise.kernel.cases.case import Case

HALO = 3
"""Elements that an array of role ``halo`` has beyond each end."""
TABLE = 64
"""Elements of an array of role ``table``."""
BINS = 32
"""Elements of an array of role ``bins``."""
STRUCT = "struct Cell { float x; int y; };"
BOUNDS_BY_MACROS = 3
"""One program in so many names the bounds of its loops and conditions by macros."""
EARLY_RESULTS = 4
"""In one program in so many, some threads store a result and return early."""
BOUNDS = """#define GIVEN(constant, given) given
#define ROWS GIVEN(64, n)
#define COLUMNS GIVEN(16, m)"""
_BOUND_NAMES = {"n": "ROWS", "m": "COLUMNS"}
_BOUND = re.compile(r"((?:<|>=) )([nm])\b")


@dataclass(frozen=True)
class Element:
    """A type of elements."""

    text: str
    """In CUDA C++."""
    dtype: str
    """Of NumPy, of one lane."""
    lanes: int = 1
    member: str = ""
    """What yields a scalar, such as ``.x``."""


ELEMENTS = (
    Element("float", "f4"),
    Element("int", "i4"),
    Element("unsigned int", "u4"),
    Element("unsigned", "u4"),
    Element("double", "f8"),
    Element("short", "i2"),
    Element("unsigned char", "u1"),
    Element("long long", "i8"),
    Element("float2", "f4", 2, ".y"),
    Element("float4", "f4", 4, ".w"),
    Element("int2", "i4", 2, ".x"),
    Element("double2", "f8", 2, ".x"),
    Element("Cell", "cell", 1, ".x"),
)


@dataclass(frozen=True)
class Sizes:
    """The sizes of one launch."""

    n: int
    """Rows, or elements along the threads."""
    m: int
    """Columns, or iterations of loops."""
    p: int
    """Elements from row to row, at least ``m``."""
    block: tuple[int, int]
    grid: int | None = None
    """Blocks of a kernel whose threads stride over the elements; None: as many as cover them."""


@dataclass(frozen=True)
class Param:
    """An array parameter; its role says how long it is and what it holds."""

    name: str
    element: Element
    role: str
    """``row``: n elements; ``column``: m; ``matrix``: n rows of pitch p; ``turned``: m rows of n;
    ``halo``: n and a halo; ``table``: 64; ``bins``: 32, updated by atomic additions; ``extremes``:
    32, updated by one other atomic function; ``own``: one element for each thread's work, written;
    ``rows``: as ``matrix``, written; ``moved``: as ``matrix``, behind n and three elements more, by
    at most which the kernel moves its pointer first; ``index``: n numbers below n; ``count``: n
    numbers up to m; ``lower`` and ``upper``: two ends of one memory, n and a halo, and what follows
    from a halo before n on."""
    declared: str
    """How the parameter list has it, such as ``const float *x``."""

    def length(self, sizes: Sizes, dims: int) -> int:
        """Elements."""
        n, m, p = sizes.n, sizes.m, sizes.p
        own = n if dims == 1 else n * p
        return {
            "row": n, "column": m, "matrix": n * p, "turned": m * n, "halo": n + 2 * HALO,
            "table": TABLE, "bins": BINS, "extremes": BINS, "own": own, "index": n, "count": n,
            "lower": n + HALO, "upper": 2 * HALO + TABLE, "rows": n * p, "moved": n * p + n + 3,
        }[self.role]  # fmt: skip

    def data(self, rng: np.random.Generator, sizes: Sizes, dims: int) -> NDArray[Any]:
        """Contents: (length,) or, of vectors, (length, lanes)."""
        length, lanes = self.length(sizes, dims), self.element.lanes
        if self.role in ("index", "count"):
            most = sizes.n if self.role == "index" else sizes.m + 1
            return rng.integers(0, most, length).astype(self.element.dtype)
        if self.element.dtype == "cell":
            cells = np.zeros(length, np.dtype([("x", "f4"), ("y", "i4")], align=True))
            cells["x"], cells["y"] = rng.uniform(-8, 8, length), rng.integers(-8, 8, length)
            return cells
        shape = (length,) if lanes == 1 else (length, lanes)
        dtype = np.dtype(self.element.dtype)
        if dtype.kind == "f":
            return rng.uniform(-8, 8, shape).astype(dtype)
        return rng.integers(0 if dtype.kind == "u" else -20, 100, shape).astype(dtype)


@dataclass(frozen=True)
class Statement:
    """One statement of the kernel that may be left out without making the others invalid."""

    lines: tuple[str, ...]
    arrays: frozenset[str]
    """Names of the parameters that it uses."""
    helpers: tuple[str, ...] = ()
    """Text at file scope that it needs."""
    entry: tuple[str, ...] = ()
    """Lines that all threads execute, in front of every guard."""


@dataclass(frozen=True)
class Program:
    """A kernel and its launches."""

    seed: int
    dims: int
    """Dimensions of the block that the threads' indices use."""
    kernel: str
    instance: str
    """Template arguments of the launch such as ``<float>``; empty for no template."""
    head: str
    """What stands in front of ``__global__``."""
    style: str
    """How threads outside of the problem are kept away: ``return``, ``branch`` or ``stride``."""
    total: str
    """Type of the running total."""
    scalars: tuple[str, str, str]
    """Types of n, m and p."""
    params: tuple[Param, ...]
    statements: tuple[Statement, ...]
    sizes: tuple[Sizes, ...]
    """The first is the one that rewrites are proven with."""
    flags: tuple[str, ...] = ()

    def without(self, at: int) -> Program:
        """The program without statement ``at``."""
        return replace(self, statements=self.statements[:at] + self.statements[at + 1 :])

    @property
    def used(self) -> tuple[Param, ...]:
        """Parameters that some statement uses, and the result."""
        names = frozenset().union(*(s.arrays for s in self.statements), {self.params[0].name})
        return tuple(p for p in self.params if p.name in names)

    @property
    def source(self) -> str:
        """The CUDA C++."""
        helpers = dict.fromkeys(h for s in self.statements for h in s.helpers)
        texts = "".join(p.declared for p in self.params) + "".join(helpers)
        lines = [STRUCT] if "Cell" in texts else []
        lines += [*helpers, f"#define THREADS {self.sizes[0].block[0] * self.sizes[0].block[1]}"]
        if self.instance:
            lines.append("template <typename T>")
        types = zip(self.scalars, "nmp", strict=True)
        parameters = [*(p.declared for p in self.used), *(f"{t} {name}" for t, name in types)]
        lines += [f"{self.head}__global__ void {self.kernel}({', '.join(parameters)})", "{"]
        body = [f"    {line}" for line in self._body()]
        if self.seed % BOUNDS_BY_MACROS == 0:
            lines.insert(0, BOUNDS)
            body = [_BOUND.sub(lambda m: m[1] + _BOUND_NAMES[m[2]], line) for line in body]
        return "\n".join([*lines, *body, "}", ""])

    def _body(self) -> list[str]:
        lines = [line for s in self.statements for line in s.entry]
        rows = "blockIdx.y * blockDim.y + threadIdx.y"
        first = "blockIdx.x * blockDim.x + threadIdx.x"
        if self.dims == 2:
            lines += [f"const int j = {first};", f"int i = {rows};"]
            inside, outside = "i < n && j < m", "i >= n || j >= m"
        else:
            inside, outside = "i < n", "i >= n"
            if self.style != "stride":
                lines.append(f"int i = {first};")
        result = self.params[0]
        at = "i" if self.dims == 1 else "i * p + j"
        inner = [f"{self.total} s = 0;"]
        if self.style != "stride" and self.seed % EARLY_RESULTS == 0:
            inner.append(f"if (i % 5 == 3) {{ {result.name}[{at}] = 7; return; }}")
        inner += [line for s in self.statements for line in s.lines]
        inner.append(f"{result.name}[{at}] = s;")
        if self.style == "return":
            return [*lines, f"if ({outside}) return;", *inner]
        head = f"if ({inside}) {{"
        if self.style == "stride":
            head = f"for (int i = {first}; i < n; i += gridDim.x * blockDim.x) {{"
        return [*lines, head, *(f"    {line}" for line in inner), "}"]

    def case(self, number: int) -> Case:
        """The launch of size ``number``, with data of its own."""
        sizes = self.sizes[number]
        rng = np.random.default_rng((self.seed, number))
        arrays = {p.name: p.data(rng, sizes, self.dims) for p in self.params}
        for lower in (p for p in self.params if p.role == "lower"):
            upper = next(p for p in self.params if p.role == "upper")
            memory = np.concatenate([arrays[lower.name], arrays[upper.name][2 * HALO :]])
            arrays[lower.name] = memory[: sizes.n + HALO]
            arrays[upper.name] = memory[sizes.n - HALO :]
        kinds: dict[str, type[np.generic]]
        kinds = {"int": np.int32, "unsigned int": np.uint32, "size_t": np.uint64}
        values = zip(self.scalars, (sizes.n, sizes.m, sizes.p), strict=True)
        arguments: list[Any] = [arrays[p.name] for p in self.used]
        arguments += [np.array(v, kinds[t])[()] for t, v in values]
        across, down = sizes.block
        columns, rows = (sizes.n, 1) if self.dims == 1 else (sizes.m, sizes.n)
        grid = (sizes.grid or -(-columns // across), -(-rows // down))
        return make_case(
            self.kernel + self.instance,
            self.source,
            arguments,
            block=sizes.block,
            grid=grid,
            name=f"program{self.seed}",
            flags=self.flags,
        )


def described(program: Program, placement: Iterable[tuple[str, str]], chunk: int | None) -> str:
    """A program and a placement of it, to print as a reproduction."""
    moves = ", ".join(f"{array}={space}" for array, space in placement)
    tiles = f" in chunks of {chunk}" if chunk else ""
    sizes = "; ".join(f"n={s.n} m={s.m} p={s.p} block={s.block}" for s in program.sizes)
    return f"seed {program.seed}: {moves}{tiles}; {sizes}\n{program.source}"
