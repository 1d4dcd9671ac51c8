"""The device that a driver drives: memory that launches share, and what the launches touched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from benchmarks.real_kernels.touched import Touched
from placewise.executor import DeviceArray, DeviceMemory, DevicePointer
from placewise.executor.device_memory.device_texture import DeviceTexture
from placewise.executor.runtime.resolve import DeviceArgument
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.kernel.texture import AddressMode, Geometry, Sampler, TextureArgument

Shape = int | tuple[int, ...]
Given = DeviceArray | DevicePointer | DeviceTexture | np.generic | NDArray[Any] | int | float | None


class SamplerOptions(TypedDict, total=False):
    """What a :class:`Sampler` takes."""

    address: tuple[AddressMode, AddressMode, AddressMode]
    filter: Literal["point", "linear"]
    read: Literal["element", "normalized"]
    normalized: bool


class Device:
    """Runs kernels of one module one after another on the CPU.

    ``touched`` counts what the launches touch; None leaves the trace out.
    """

    def __init__(self, kernels: Sequence[Kernel], touched: Touched | None = None) -> None:
        self.memory = DeviceMemory()
        self.touched = touched
        self.arrays: dict[str, DeviceArray] = {}
        self.warp_instructions = 0
        self.thread_instructions = 0
        self.launches = 0
        self.seconds = 0.0
        """Spent in launches, with translation, without NVRTC."""
        self.printed = ""
        """By all launches so far."""
        self._kernels = {kernel.name: kernel for kernel in kernels}

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

    def texture(
        self, name: str, data: ArrayLike, geometry: Geometry = "2d", **how: Unpack[SamplerOptions]
    ) -> DeviceTexture:
        """A texture object over a copy of ``data``; ``how`` as of :class:`Sampler`."""
        return self.memory.texture(
            TextureArgument(name, np.asarray(data), geometry, Sampler(**how))
        )

    def texture_of(
        self, array: DeviceArray, geometry: Geometry = "2d", **how: Unpack[SamplerOptions]
    ) -> DeviceTexture:
        """A texture object that shows ``array`` itself."""
        return self.memory.texture_of(array, geometry, Sampler(**how))

    def surface_of(self, array: DeviceArray, geometry: Geometry = "2d") -> DeviceTexture:
        """A surface object over ``array`` itself."""
        return self.memory.surface_of(array, geometry)

    def constant(self, symbol: str, data: ArrayLike) -> None:
        """Set a ``__constant__`` symbol."""
        self.memory.constant(self._any_kernel, symbol, np.asarray(data))

    def symbol(self, name: str, dtype: DTypeLike) -> DeviceArray:
        """A ``__device__`` variable as an array."""
        return self.memory.symbol(self._any_kernel, name, dtype)

    @property
    def _any_kernel(self) -> Kernel:
        # All kernels share the module's variables.
        return next(iter(self._kernels.values()))

    def launch(
        self, name: str, grid: Shape, block: Shape, *arguments: Given, shared: int = 0
    ) -> None:
        """Run one kernel; Python's whole numbers pass as ``int``, its others as ``float``."""
        kernel = self._kernels[name]
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
        self.printed += run.printed.text


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
