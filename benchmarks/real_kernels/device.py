"""The device that a driver drives: memory that launches share, and what the launches touched."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from benchmarks.real_kernels.touched import Touched
from placewise.execute import DeviceArray, DeviceMemory, DevicePointer
from placewise.execute.device_memory import DeviceArgument
from placewise.kernel.case import CompileOptions
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch, TextureArgument
from placewise.kernel.nvrtc import compile_kernel

Shape = int | tuple[int, ...]
Given = DeviceArray | DevicePointer | TextureArgument | np.generic | NDArray[Any] | float | None


class Device:
    """Runs the kernels of one source file one after another on the CPU.

    ``touched`` counts what the launches touch; None leaves the trace out.
    """

    def __init__(
        self, source: Path, options: CompileOptions, touched: Touched | None = None
    ) -> None:
        self.memory = DeviceMemory()
        self.touched = touched
        self.arrays: dict[str, DeviceArray] = {}
        self.warp_instructions = 0
        self.thread_instructions = 0
        self.launches = 0
        self.seconds = 0.0
        """Spent in launches, compilation by NVRTC left out."""
        self._source = source
        self._options = options
        self._kernels: dict[str, Kernel] = {}
        self._constants: dict[str, NDArray[Any]] = {}

    def array(self, name: str, data: ArrayLike) -> DeviceArray:
        """Device memory with a copy of ``data``."""
        made = self.memory.upload(name, np.asarray(data))
        self.arrays[name] = made
        return made

    def zeros(self, name: str, shape: Shape, dtype: DTypeLike = np.float32) -> DeviceArray:
        """Device memory of zeros."""
        return self.array(name, np.zeros(shape, dtype))

    def empty(self, name: str, shape: Shape, dtype: DTypeLike = np.float32) -> DeviceArray:
        """Device memory as ``cudaMalloc`` gives it."""
        made = self.memory.alloc(name, shape, dtype)
        self.arrays[name] = made
        return made

    def constant(self, symbol: str, data: ArrayLike) -> None:
        """Content of a ``__constant__`` symbol for the kernels that are compiled from now on."""
        self._constants[symbol] = np.asarray(data)

    def kernel(self, name: str) -> Kernel:
        """Compiled on first use."""
        if name not in self._kernels:
            text = self._source.read_text(encoding="utf-8", errors="replace")
            kernel = compile_kernel(text, str(self._source), name, self._options)
            for symbol, value in self._constants.items():
                self.memory.constant(kernel, symbol, value)
            self._kernels[name] = kernel
        return self._kernels[name]

    def launch(
        self, name: str, grid: Shape, block: Shape, *arguments: Given, shared: int = 0
    ) -> None:
        """Run one kernel; Python's whole numbers pass as ``int``, its others as ``float``."""
        kernel = self.kernel(name)
        start = time.perf_counter()
        run = self.memory.launch(
            kernel,
            Launch(_three(grid), _three(block), shared),
            [_typed(a) for a in arguments],
            consumer=self.touched,
        )
        self.seconds += time.perf_counter() - start
        self.warp_instructions += run.warp_instructions
        self.thread_instructions += run.thread_instructions
        self.launches += 1


def _typed(value: Given) -> DeviceArgument:
    # NumPy's float64 is a Python float too, but has chosen its type.
    if isinstance(value, np.generic):
        return value
    if isinstance(value, int):
        return np.int32(value)
    return np.float32(value) if isinstance(value, float) else value


def _three(shape: Shape) -> tuple[int, int, int]:
    given = (shape,) if isinstance(shape, int) else shape
    x, y, z = (*given, 1, 1)[:3]
    return (int(x), int(y), int(z))
