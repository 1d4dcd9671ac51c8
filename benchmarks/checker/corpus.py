"""The corpus: kernels in ``kernels/*.cu``, each with a launch that shows its mistake.

A line that a finding must name is marked ``// expect: KIND`` in the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from placewise.errors import ExecutionError
from placewise.executor import DeviceMemory
from placewise.executor.check import Checker, Finding
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch

KERNELS = Path(__file__).parent / "kernels"
_EXPECT = re.compile(r"//\s*expect:\s*([a-z-]+)\s*$")
_ENTRY = re.compile(r"__global__ void (\w+)\(")
LIMIT = 1 << 22
"""Instructions of a warp: the corpus has kernels that do not end."""


@dataclass(frozen=True)
class Fresh:
    """An array as ``cudaMalloc`` leaves it."""

    shape: int
    dtype: Any


@dataclass(frozen=True)
class Dangling:
    """(rows,) pointers to arrays of ``length`` floats, of which number ``freed`` was freed."""

    rows: int
    length: int
    freed: int | None


@dataclass(frozen=True)
class Symbol:
    """The address of a module variable."""

    name: str


Arguments = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Planted:
    """A kernel of the corpus and its launch; a correct one expects nothing."""

    file: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Arguments
    shared_bytes: int = 0
    constants: tuple[tuple[str, Any], ...] = ()

    @property
    def expected(self) -> frozenset[tuple[str, int]]:
        """(kind, line) of every finding that the checker must have."""
        return frozenset(_marks(self.file).get(self.kernel, ()))


@cache
def _marks(file: str) -> dict[str, tuple[tuple[str, int], ...]]:
    marks: dict[str, list[tuple[str, int]]] = {}
    kernel = ""
    for number, line in enumerate((KERNELS / file).read_text().splitlines(), start=1):
        if entry := _ENTRY.search(line):
            kernel = entry[1]
        if mark := _EXPECT.search(line):
            marks.setdefault(kernel, []).append((mark[1], number))
    return {name: tuple(found) for name, found in marks.items()}


@cache
def compiled(file: str) -> dict[str, Kernel]:
    """The kernels of one file, compiled together."""
    source = (KERNELS / file).read_text()
    names = _ENTRY.findall(source)
    made = compile_module(source, file, names, CompileOptions(arch="sm_80"))
    return dict(zip(names, made, strict=True))


def run(case: Planted, check: Checker | None) -> None:
    """Run a case; an error of the kernel is swallowed where nobody checks."""
    memory = DeviceMemory()
    kernel = compiled(case.file)[case.kernel]
    for name, value in case.constants:
        memory.constant(kernel, name, value)
    arguments: list[Any] = []
    for name, value in case.arguments().items():
        match value:
            case np.ndarray():
                arguments.append(memory.upload(name, value))
            case Fresh(shape, dtype):
                arguments.append(memory.alloc(name, shape, dtype))
            case Dangling(rows, length, freed):
                arrays = [
                    memory.upload(f"{name}[{k}]", np.ones(length, np.float32)) for k in range(rows)
                ]
                table = np.array([a.address for a in arrays], np.uint64)
                arguments.append(memory.upload(name, table))
                if freed is not None:
                    memory.free(arrays[freed])
            case Symbol(symbol):
                arguments.append(memory.symbol(kernel, symbol).address)
            case _:
                arguments.append(value)
    launch = Launch(case.grid, case.block, case.shared_bytes)
    try:
        memory.launch(kernel, launch, arguments, check=check, instruction_limit=LIMIT)
    except ExecutionError:
        if check is not None:
            raise


@dataclass(frozen=True)
class Verdict:
    """What the checker said of a case, against what it had to say."""

    case: Planted
    findings: tuple[Finding, ...]
    missed: frozenset[tuple[str, int]]
    """Expected, and not found."""
    false: tuple[Finding, ...]
    """Found on lines, or of a kind, where nothing was planted."""

    @property
    def right(self) -> bool:
        return not self.missed and not self.false


def judge(case: Planted) -> Verdict:
    """Check a case. A race may name its line as either of its two."""
    checker = Checker()
    run(case, checker)
    assert not checker.remarks, checker.remarks
    found = tuple(f for f in checker.findings if f.counts)
    named = {
        (f.kind.value, p.line) for f in found for p in (f.place, f.other_place) if p is not None
    }
    false = tuple(
        f
        for f in found
        if not any(
            (f.kind.value, p.line) in case.expected
            for p in (f.place, f.other_place)
            if p is not None
        )
    )
    missed = frozenset(m for m in case.expected if m not in named)
    return Verdict(case, found, missed, false)
