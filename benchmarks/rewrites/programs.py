"""Random kernels with launches and inputs: index forms, guards, loops, aliases, vector types.

A program may read out of bounds or divide by zero; whoever runs it leaves such programs out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise import make_case
from placewise.kernel.cases.case import Case

TYPES = {
    "float": np.float32, "double": np.float64, "int": np.int32, "unsigned int": np.uint32,
    "unsigned char": np.uint8, "long long": np.int64,
}  # fmt: skip
VECTORS = {"float2": 2, "float4": 4}


@dataclass(frozen=True)
class Program:
    """A kernel, and how its inputs are made for a size."""

    seed: int
    source: str
    types: tuple[str, ...]
    """Element type of A, B and the result R."""
    block: tuple[int, int]
    sizes: tuple[tuple[int, int], ...]
    """(n, m): R has n * m elements, A and B have more than what is asked of them."""

    def case(self, number: int) -> Case:
        """The case of size ``number``, with data of its own."""
        n, m = self.sizes[number]
        rng = np.random.default_rng((self.seed, number))
        arrays = [_data(rng, t, 2 * n * m + 8 * (n + m) + 64) for t in self.types[:2]]
        index = rng.integers(0, min(n, m), n * m + n + m + 64).astype(np.int32)
        result = _data(rng, self.types[2], n * m + n + m + 64)
        arguments = [*arrays, index, result, np.int32(n), np.int32(m), np.int32(3)]
        problem: Any = (m, n) if self.block[1] > 1 else n
        block: Any = self.block if self.block[1] > 1 else self.block[0]
        return make_case("k", self.source, arguments, block=block, problem=problem)


def _data(rng: np.random.Generator, kind: str, count: int) -> NDArray[Any]:
    if kind in VECTORS:
        return rng.uniform(-1, 1, (count, VECTORS[kind])).astype(np.float32)
    dtype = np.dtype(TYPES[kind])
    if dtype.kind == "f":
        return rng.uniform(-1, 1, count).astype(dtype)
    return rng.integers(0, 100, count).astype(dtype)


class Writer:
    """Writes one random kernel."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.two = self.chance(0.5)
        self.loops: list[str] = []
        """Loop variables in scope."""
        self.aliases: list[str] = []
        self.lines: list[str] = []
        self.depth = 1
        self.names = 0

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def pick(self, *options: str) -> str:
        return options[int(self.random.integers(len(options)))]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def index(self) -> str:
        """An index expression of the variables in scope."""
        loop = self.loops[-1] if self.loops and self.chance(0.85) else "0"
        other = self.loops[0] if self.loops else "1"
        row, column = ("y", "x") if self.two else ("i", "i")
        forms = [
            f"{row} * m + {loop}", f"{loop} * m + {column}", f"{column} + {loop}", f"{loop}",
            f"({row} + {loop}) * m + {column}", f"{row} * m + {column}", f"{column}",
            f"min({column} + {loop}, n - 1)", f"max({row} - {loop}, 0)", f"{loop} * 2 + 1",
            f"({column} + {loop}) % m", f"idx[{column}]", f"idx[{loop}]", f"{other} * 4 + {loop}",
            f"{column} * 3 + {loop}", f"({row} + s) * m + {loop} + s", f"m - 1 - {loop}",
            f"{loop} + blockIdx.x * blockDim.x", f"(unsigned){column} + {loop}u"
            if loop.isdigit() else f"(unsigned){column} + (unsigned){loop}",
            f"{row} * (m + 1) + {loop}", f"threadIdx.x + {loop}", f"(i & 7) + {loop}",
            f"{loop} / 2 + {column}", f"AT({row}, {loop})",
        ]  # fmt: skip
        return self.pick(*forms)

    def load(self) -> str:
        """A load of A or B, plain or through a local pointer."""
        if self.aliases and self.chance(0.3):
            name = self.pick(*self.aliases)
            at = self.pick(*self.loops, "1", "s") if self.loops else self.pick("0", "1")
            return self.value(name[0].upper(), f"{name}[{at}]")
        array = self.pick("A", "B")
        index = self.index()
        form = self.pick(f"{array}[{index}]", f"{array}[{index}]", f"*({array} + ({index}))",
                         f"({array} + 1)[{index}]", f"__ldg(&{array}[{index}])")  # fmt: skip
        if self.types["AB".index(array)] in VECTORS and "__ldg" in form:
            form = f"{array}[{index}]"
        return self.value(array, form)

    def value(self, array: str, text: str) -> str:
        kind = self.types["AB".index(array)]
        member = self.pick("x", "y") if kind in VECTORS else ""
        if member:
            text = f"({text}).{member}" if text.startswith(("*", "__")) else f"{text}.{member}"
        return text

    def expression(self) -> str:
        parts = [self.load() for _ in range(int(self.random.integers(1, 3)))]
        joined = self.pick(" + ", " * ", " - ").join(parts)
        if self.chance(0.2):
            joined = f"({self.load()} > 0 ? {joined} : 1)"
        return joined

    def loop(self, budget: int) -> None:
        """A loop around statements, sometimes around another loop."""
        self.names += 1
        name = f"k{self.names}"
        kind = self.pick("int", "int", "int", "unsigned", "long long")
        step = self.pick(f"{name}++", f"{name}++", f"++{name}", f"{name} += 2", f"{name} += s")
        first = self.pick("0", "0", "1", "s", "blockIdx.x" if self.chance(0.3) else "0")
        limit = self.pick("m", "n", "m", "17", "m - 1", "n / 2", "s + 20", "min(n, m)",
                          "idx[i]" if self.chance(0.3) else "m")  # fmt: skip
        if kind == "unsigned":
            limit = f"(unsigned)({limit})"
        condition = self.pick(f"{name} < {limit}", f"{name} < {limit}", f"{name} <= {limit} - 1")
        if self.chance(0.08):
            down = kind.replace("unsigned", "int")
            self.line(f"for ({down} {name} = m - 1; {name} >= 0; {name}--) {{")
        elif self.chance(0.1):
            self.line(f"int {name};")
            signed = limit.replace("(unsigned)", "(int)")
            self.line(f"for ({name} = {first}; {name} < {signed}; {step}) {{")
        else:
            if self.chance(0.1):
                self.lines.append("#pragma unroll 4")
            self.line(f"for ({kind} {name} = {first}; {condition}; {step}) {{")
        self.depth += 1
        self.loops.append(name)
        self.statements(budget - 1, inside=True)
        self.loops.pop()
        self.depth -= 1
        self.line("}")

    def statements(self, budget: int, *, inside: bool) -> None:
        for _ in range(int(self.random.integers(1, 4))):
            what = self.random.random()
            if what < 0.3 and budget > 0:
                self.loop(budget)
            elif what < 0.4:
                bound = self.pick("0", "50", "acc")
                self.line(f"if ({self.load()} > {bound}) acc += {self.expression()};")
            elif what < 0.45 and inside:
                jump = self.pick("continue", "continue", "break")
                self.line(f"if ({self.loops[-1]} % 3 == 1) {jump};")
            elif what < 0.55 and not inside:
                self.alias()
            elif what < 0.6 and not inside:
                self.names += 1
                self.line(f"const T v{self.names} = {self.load()};")
                self.line(f"acc += v{self.names};")
            elif what < 0.63:
                self.line("R[i] += acc;" if not self.atomic else "acc += 1;")
            else:
                self.line(f"acc {self.pick('+', '+', '-')}= {self.expression()};")

    def alias(self) -> None:
        self.names += 1
        array = self.pick("A", "B")
        name = f"{array.lower()}{self.names}"
        kind = self.types["AB".index(array)]
        offset = self.pick("i", "y * m" if self.two else "i * 2", "s", "m")
        self.line(f"const {kind} *{name} = {array} + {offset};")
        self.aliases.append(name)

    def write(self) -> Program:
        self.types = (
            self.pick("float", "float", "double", "int", "unsigned int", "unsigned char", "float4",
                      "long long", "float2"),
            self.pick("float", "float", "int", "double", "unsigned char"),
            self.pick("float", "int", "unsigned int", "double"),
        )  # fmt: skip
        self.atomic = self.types[2] in ("int", "unsigned int") and self.chance(0.3)
        result = self.types[2]
        seed = int(self.random.integers(1 << 62))
        if self.two:
            self.line("int x = blockIdx.x * blockDim.x + threadIdx.x;")
            self.line("int y = blockIdx.y * blockDim.y + threadIdx.y;")
            self.line("int i = y * m + x;")
            inside, outside = "x < m && y < n", "x >= m || y >= n"
        else:
            kind = self.pick("int", "int", "unsigned")
            self.line(f"{kind} i = blockIdx.x * blockDim.x + threadIdx.x;")
            inside, outside = "i < n", "i >= n"
        guard = self.pick("if", "return", "braces", "return", "if")
        if guard == "if":
            self.line(f"if ({inside}) {{")
            self.depth += 1
        else:
            self.line(f"if ({outside}) {'return;' if guard == 'return' else '{ return; }'}")
        self.line("T acc = 0;")
        if self.chance(0.3):
            self.alias()
        self.statements(2, inside=False)
        self.loop(1)
        if self.chance(0.3):
            self.statements(1, inside=False)
        if self.atomic:
            function = self.pick("atomicAdd", "atomicMax", "atomicOr", "atomicAdd")
            self.line(f"{function}(&R[idx[i]], (T)acc);")
        else:
            self.line(self.pick("R[i] = acc;", "R[i] += acc;", "R[i] = acc;"))
        if guard == "if":
            self.depth -= 1
            self.line("}")
        a, b, _ = self.types
        qualifier = self.pick("", "", " __restrict__")
        head = (
            f"__global__ void k(const {a} *{qualifier} A, const {b} *{qualifier} B, "
            f"const int *{qualifier} idx, {result} *{qualifier} R, int n, int m, int s) {{"
        )
        source = "\n".join(
            [f"typedef {result} T;", "#define AT(r, c) ((r) * m + (c))", head, *self.lines, "}", ""]
        )
        block = (16, 4) if self.two else (int(self.random.choice([32, 64, 96])), 1)
        sizes = ((37, 45), (20, 33), (64, 64)) if self.two else ((200, 40), (77, 29), (128, 64))
        return Program(seed, source, self.types, block, sizes)


def program(seed: int) -> Program:
    """The random program of a seed."""
    return Writer(seed).write()
