"""One CUDA device through the driver's own interface; nothing here runs unless it is asked for.

The driver is called through ``cuda.bindings.driver``, whose functions return a tuple that starts
with the status. Memory, events, textures and modules belong to a :class:`Scope`, which gives them
back when it closes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from placewise.errors import PlacewiseError
from placewise.gpu.texture import texture_descriptors
from placewise.kernel.frontends.nvrtc import supported_archs
from placewise.kernel.launch import Launch
from placewise.kernel.toolchain import DEFAULT_NVRTC, Target

_COMPILERS = (DEFAULT_NVRTC, "12.9", "11.8")
"""Releases of NVRTC, newest first."""


class DeviceError(PlacewiseError):
    """There is no usable GPU, or its driver reported an error."""


def load_driver() -> Any:
    """The driver bindings; they are a normal dependency and load without a driver."""
    from cuda.bindings import driver

    return driver


def gpu_names(driver: Any = None) -> tuple[str, tuple[str, ...]]:
    """The newest CUDA version that the driver supports, and the names of this machine's GPUs.

    Creates no context. Raises DeviceError where there is no driver or no GPU.
    """
    cuda = load_driver() if driver is None else driver
    try:
        (status,) = cuda.cuInit(0)
    except RuntimeError as error:
        raise DeviceError("no NVIDIA driver or GPU found on this machine") from error
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"no NVIDIA driver or GPU found on this machine ({status.name})")
    _, version = cuda.cuDriverGetVersion()
    _, count = cuda.cuDeviceGetCount()
    names = [cuda.cuDeviceGetName(128, cuda.cuDeviceGet(n)[1])[1] for n in range(count)]
    shown = tuple(name.split(b"\0")[0].decode(errors="replace") for name in names)
    return f"{version // 1000}.{version % 1000 // 10}", shown


class Device:
    """A GPU with its primary context made current and one stream; close it after use."""

    def __init__(self, ordinal: int = 0, driver: Any = None) -> None:
        """Raises DeviceError where there is no driver, no GPU, or no such ordinal."""
        self.cuda = load_driver() if driver is None else driver
        try:
            (status,) = self.cuda.cuInit(0)
        except RuntimeError as error:
            # The bindings raise when the driver's library is not installed.
            raise DeviceError("no NVIDIA driver or GPU found on this machine") from error
        if status != self.cuda.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"no NVIDIA driver or GPU found on this machine ({status.name})")
        count = self.call("cuDeviceGetCount")
        if not 0 <= ordinal < count:
            raise DeviceError(f"there is no GPU {ordinal}; this machine has {count}")
        self.handle = self.call("cuDeviceGet", ordinal)
        self.context = self.call("cuDevicePrimaryCtxRetain", self.handle)
        self.call("cuCtxSetCurrent", self.context)
        self.stream = self.call("cuStreamCreate", 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # After a fault every call fails; the first error is the one to report.
        self.cuda.cuStreamDestroy(self.stream)
        self.cuda.cuDevicePrimaryCtxRelease(self.handle)

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a driver function; returns its value (a tuple of several, None if it has none).
        Raises DeviceError."""
        status, *values = getattr(self.cuda, function)(*arguments)
        if status != self.cuda.CUresult.CUDA_SUCCESS:
            _, text = self.cuda.cuGetErrorString(status)
            detail = text.decode() if isinstance(text, bytes) else status.name
            raise DeviceError(f"{function} failed: {detail} ({status.name})")
        if len(values) > 1:
            return tuple(values)
        return values[0] if values else None

    def attribute(self, name: str) -> int:
        """``CU_DEVICE_ATTRIBUTE_<name>``."""
        attribute = getattr(self.cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", attribute, self.handle))

    @property
    def name(self) -> str:
        return _text(self.call("cuDeviceGetName", 256, self.handle))

    @property
    def bus_id(self) -> str:
        """PCI address, such as ``0000:3b:00.0``."""
        return _text(self.call("cuDeviceGetPCIBusId", 32, self.handle))

    @property
    def arch(self) -> str:
        """Compiler target, such as ``sm_80``."""
        major = self.attribute("COMPUTE_CAPABILITY_MAJOR")
        return f"sm_{major}{self.attribute('COMPUTE_CAPABILITY_MINOR')}"

    @property
    def target(self) -> Target:
        """The architecture, and the compiler whose machine code the driver loads: the default one
        unless it is made for a later CUDA than the driver, or no longer knows the architecture, and
        an earlier one is installed that does."""
        arch = self.arch
        number = int(arch.removeprefix("sm_"))
        newest = int(self.call("cuDriverGetVersion")) // 1000
        for nvrtc in _COMPILERS:
            if int(nvrtc.split(".")[0]) > newest:
                continue
            try:
                known = supported_archs(nvrtc)
            except PlacewiseError:
                # Not installed.
                continue
            if number in known:
                return Target(arch, nvrtc)
        return Target(arch)

    def wait(self) -> None:
        """Wait until all queued work is done. Raises DeviceError for a fault of a kernel."""
        self.call("cuStreamSynchronize", self.stream)


class Scope:
    """Device resources of one measurement, given back in reverse order."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._closing = ExitStack()
        # What the driver reads later by address must stay alive.
        self._kept: list[object] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

    def _on_close(self, function: str, handle: Any) -> None:
        # The status is not looked at: after a fault the context is lost, resources and all.
        self._closing.callback(getattr(self.device.cuda, function), handle)

    def allocate(self, size: int) -> Any:
        """Device pointer to ``size`` bytes, aligned to at least 256."""
        pointer = self.device.call("cuMemAlloc", size)
        self._on_close("cuMemFree", pointer)
        return pointer

    def upload(self, data: NDArray[np.generic]) -> Any:
        """Device pointer to a copy of ``data``."""
        pointer = self.allocate(data.nbytes)
        self.device.call("cuMemcpyHtoD", pointer, data.ctypes.data, data.nbytes)
        return pointer

    def texture(self, data: NDArray[np.generic]) -> Any:
        """Texture object that reads the elements of a copy of ``data`` from linear memory."""
        return self.texture_over(self.upload(data), data)

    def texture_over(self, pointer: Any, data: NDArray[np.generic]) -> Any:
        """Texture object over device memory at ``pointer``; ``data`` gives its type and shape."""
        resource, sampling = texture_descriptors(self.device.cuda, pointer, data)
        texture = self.device.call("cuTexObjectCreate", resource, sampling, None)
        self._on_close("cuTexObjectDestroy", texture)
        return texture

    def module(self, cubin: bytes) -> Any:
        """Loaded module; raises DeviceError, with a hint where the driver is too old."""
        image = np.frombuffer(cubin, np.uint8)
        try:
            module = self.device.call("cuModuleLoadData", image.ctypes.data)
        except DeviceError as error:
            version = self.device.call("cuDriverGetVersion")
            error.hint = (
                f"the driver is made for CUDA {version // 1000}.{version % 1000 // 10}; "
                "an older driver may not load what a newer compiler made: `make develop` "
                "installs the compilers of CUDA 12.9 and 11.8, which are then used"
            )
            raise
        self._on_close("cuModuleUnload", module)
        return module

    def function(self, module: Any, entry: str, shared_bytes: int) -> Any:
        """Kernel of a module, allowed ``shared_bytes`` of dynamic shared memory."""
        function = self.device.call("cuModuleGetFunction", module, entry.encode())
        if shared_bytes:
            # Beyond 48 KB a kernel must opt in; for less it does no harm.
            attributes = self.device.cuda.CUfunction_attribute
            dynamic = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.device.call("cuFuncSetAttribute", function, dynamic, shared_bytes)
        return function

    def fill_constant(self, module: Any, symbol: str, data: NDArray[np.generic]) -> None:
        """Copy ``data`` to a ``__constant__`` symbol; raises DeviceError where it does not fit."""
        pointer, size = self.device.call("cuModuleGetGlobal", module, symbol.encode())
        if data.nbytes > size:
            raise DeviceError(f"constant '{symbol}' holds {size} bytes, not {data.nbytes}")
        self.device.call("cuMemcpyHtoD", pointer, data.ctypes.data, data.nbytes)

    def launcher(
        self, function: Any, launch: Launch, parameters: list[NDArray[np.generic]]
    ) -> Callable[[], None]:
        """A call that queues the kernel; each parameter is an array that holds its value."""
        addresses = np.array([p.ctypes.data for p in parameters], np.uint64)
        self._kept += [addresses, *parameters]

        def queue() -> None:
            self.device.call(
                "cuLaunchKernel",
                function,
                *launch.grid,
                *launch.block,
                launch.shared_bytes,
                self.device.stream,
                addresses.ctypes.data,
                0,
            )

        return queue

    def event(self) -> Any:
        """An event that keeps its time."""
        event = self.device.call("cuEventCreate", 0)
        self._on_close("cuEventDestroy", event)
        return event


def _text(value: bytes) -> str:
    return value.split(b"\0")[0].decode()
