"""Compiles and runs CUDA C++ kernels for tests, and collects traces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from placewise.executor import Execution, Site, TraceChunk, execute, lane_offsets
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
    SurfaceArgument,
    TextureArgument,
)


@cache
def compiled(source: str, kernel: str, arch: str = "sm_80") -> Kernel:
    return compile_kernel(source, "test.cu", kernel, CompileOptions(arch=arch))


def arguments(**values: object) -> tuple[Argument, ...]:
    """Arrays as arrays, NumPy scalars as scalars, textures as they are."""
    made: list[Argument] = []
    for name, value in values.items():
        if isinstance(value, TextureArgument | SurfaceArgument):
            made.append(value)
        elif isinstance(value, np.ndarray):
            made.append(ArrayArgument(name, value))
        else:
            assert isinstance(value, np.generic)
            made.append(ScalarArgument(name, value))
    return tuple(made)


def run(
    source: str,
    kernel: str,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *,
    arch: str = "sm_80",
    shared: int = 0,
    constants: tuple[tuple[str, np.ndarray], ...] = (),
    options: dict[str, object] | None = None,
    machine_code: bool = False,
    **values: object,
) -> Execution:
    """Run a kernel, its PTX or its ``machine_code``, with arguments by keyword."""

    def three(x: int | tuple[int, ...]) -> tuple[int, int, int]:
        dims = (x,) if isinstance(x, int) else x
        return (*dims, *(1,) * (3 - len(dims)))  # type: ignore[return-value]

    launch = Launch(three(grid), three(block), shared)
    inputs = Inputs(arguments(**values), constants)
    chosen = replace(compiled(source, kernel, arch), machine_code=machine_code)
    return execute(chosen, launch, inputs, **(options or {}))


@dataclass
class Collector:
    """Keeps a whole trace, copied, with every lane's offset written out."""

    sites: tuple[Site, ...] = ()
    arrays: tuple[str, ...] = ()
    accesses: list[tuple[int, int, int, int, int, tuple[int | None, ...]]] = field(
        default_factory=list
    )
    phases: list[int] = field(default_factory=list)
    chunks: int = 0

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        self.sites = sites
        self.arrays = arrays

    def chunk(self, chunk: TraceChunk) -> None:
        self.chunks += 1
        every = lane_offsets(chunk)
        self.phases += chunk.phase.tolist()
        for i in range(len(chunk.site)):
            mask = int(chunk.mask[i])
            offsets = every[i]
            if chunk.row[i] >= 0:
                assert chunk.row[i] + mask.bit_count() <= len(chunk.offsets)
            elif mask >> 16 == 0 or mask & 0xFFFF == 0:
                assert chunk.upper[i] == chunk.base[i] + 16 * int(chunk.stride[i])
            listed = tuple(int(o) if mask >> lane & 1 else None for lane, o in enumerate(offsets))
            assert mask
            self.accesses.append(
                (
                    int(chunk.site[i]),
                    int(chunk.block[i]),
                    int(chunk.warp[i]),
                    mask,
                    int(chunk.array[i]),
                    listed,
                )
            )

    def of(self, array: str, kind: str) -> list[tuple[int, int, tuple[int | None, ...]]]:
        """(block, warp, offsets) of the accesses of one kind to an array, in order."""
        number = self.arrays.index(array)
        return [
            (b, w, offsets)
            for site, b, w, _, a, offsets in self.accesses
            if a == number and self.sites[site].kind == kind
        ]
