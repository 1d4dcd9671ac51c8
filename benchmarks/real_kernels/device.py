"""The device that a driver drives: arrays that launches share, and what the launches touched."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.real_kernels.touched import Touched
from placewise.execute import execute
from placewise.kernel.case import CompileOptions
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
)
from placewise.kernel.nvrtc import compile_kernel

Shape = int | tuple[int, ...]


@dataclass(eq=False)
class Buffer:
    """An array in device memory; ``data`` is its content after the last launch."""

    name: str
    data: NDArray[np.generic]


@dataclass(eq=False)
class Device:
    """Runs the kernels of one source file one after another on the CPU."""

    source: Path
    options: CompileOptions
    touched: Touched | None = None
    """Counts what the launches touch; None to leave the trace out."""
    constants: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    warp_instructions: int = 0
    thread_instructions: int = 0
    launches: int = 0
    seconds: float = 0.0
    """Spent in launches, compilation left out."""

    def array(self, name: str, data: ArrayLike) -> Buffer:
        """Device memory of that content; the caller's array is copied."""
        buffer = Buffer(name, np.array(data, order="C"))
        self.buffers[name] = buffer
        return buffer

    def zeros(self, name: str, shape: Shape, dtype: type[np.generic] = np.float32) -> Buffer:
        """Device memory of zeros."""
        return self.array(name, np.zeros(shape, dtype))

    def constant(self, symbol: str, data: ArrayLike) -> None:
        """Content of a ``__constant__`` symbol for all launches from now on."""
        self.constants[symbol] = np.ascontiguousarray(data)

    def kernel(self, name: str) -> Kernel:
        """Compiled on first use."""
        if name not in self.kernels:
            text = self.source.read_text(encoding="utf-8", errors="replace")
            self.kernels[name] = compile_kernel(text, str(self.source), name, self.options)
        return self.kernels[name]

    def launch(
        self,
        name: str,
        grid: Shape,
        block: Shape,
        *arguments: Buffer | np.generic | float,
        shared: int = 0,
    ) -> None:
        """Run one kernel; Python's whole numbers pass as ``int``, its others as ``float``."""
        kernel = self.kernel(name)
        given = tuple(_argument(n, a) for n, a in enumerate(arguments))
        used = tuple((k, v) for k, v in self.constants.items() if k in kernel.ptx)
        start = time.perf_counter()
        run = execute(
            kernel,
            Launch(_three(grid), _three(block), shared),
            Inputs(given, used),
            consumer=self.touched,
        )
        self.seconds += time.perf_counter() - start
        for argument in arguments:
            if isinstance(argument, Buffer) and argument.name in run.written:
                argument.data = run.output(argument.name)
        self.warp_instructions += run.warp_instructions
        self.thread_instructions += run.thread_instructions
        self.launches += 1


def _argument(number: int, value: Buffer | np.generic | float) -> Argument:
    if isinstance(value, Buffer):
        return ArrayArgument(value.name, value.data)
    name = f"parameter{number}"
    if isinstance(value, np.generic):
        return ScalarArgument(name, value)
    return ScalarArgument(name, np.int32(value) if isinstance(value, int) else np.float32(value))


def _three(shape: Shape) -> tuple[int, int, int]:
    given = (shape,) if isinstance(shape, int) else shape
    x, y, z = (*given, 1, 1)[:3]
    return (x, y, z)
