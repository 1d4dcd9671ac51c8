# ruff: noqa: N802 - the names are the driver's
"""A stand-in for ``cuda.bindings.driver`` that keeps memory as bytes and runs kernels in NumPy.

It uses the real module's enumerations and descriptors, holds every call to the real function's
number of parameters, defers queued work until the stream is waited for, and knows what was not
given back. Device pointers lie outside the host's address space, so mixing the two is noticed.
"""

import ctypes
import io
import itertools
import re

import numpy as np
import pytest
from cuda.bindings import driver as real
from elftools.elf.elffile import ELFFile

OK = real.CUresult.CUDA_SUCCESS


def parameter_count(name):
    """Parameters of the real function, from its docstring's first line."""
    line = getattr(real, name).__doc__.splitlines()[0]
    inside = re.fullmatch(rf"{name}\((.*)\)", line)[1]
    # Brackets hold commas that do not separate parameters.
    inside = re.sub(r"\[[^\]]*\]", "", inside)
    return len(inside.split(",")) if inside else 0


def error_without_driver():
    """What the real functions raise here, or None where there is a driver and they would act."""
    try:
        real.cuInit(0)
    except RuntimeError as error:
        return type(error)
    return None


NO_DRIVER = error_without_driver()


class FakeDriver:
    def __init__(self, kernels, *, milliseconds=lambda entry: 1.0, devices=1, version=13000):
        """``kernels``: name to (parameter dtypes, function of the driver and the values)."""
        self.kernels = kernels
        self.milliseconds = milliseconds
        self.devices = devices
        self.version = version
        self.calls = []
        self.memory = {}
        self.live = {}
        self.textures = {}
        self.functions = {}
        self.constants = {}
        self.queue = []
        self.clock = 0.0
        self.event_times = {}
        self.fault = None
        self.shared_limit = {}
        self.numbers = itertools.count(1)
        self.next_address = 1 << 60

    def __getattr__(self, name):
        """Constants and types of the real module; its functions only through ours."""
        if name.startswith("cu"):
            function = object.__getattribute__(self, "_" + name)

            def checked(*arguments):
                assert len(arguments) == parameter_count(name), name
                self.calls.append(name)
                self.convertible(name, arguments)
                if self.fault is not None and name != "cuGetErrorString":
                    return (self.fault,)
                return function(*arguments)

            return checked
        return getattr(real, name)

    def convertible(self, name, arguments):
        """The real function takes such arguments: it gets as far as looking for the driver."""
        if NO_DRIVER is not None:
            with pytest.raises(NO_DRIVER):
                getattr(real, name)(*arguments)

    def handle(self, kind):
        """A handle of the real type ``kind``, such as ``CUstream``."""
        number = next(self.numbers)
        self.live[number] = kind
        return getattr(real, kind)(number)

    def alive(self, handle, kind):
        assert type(handle).__name__ == kind
        assert self.live[int(handle)] == kind
        return int(handle)

    def release(self, handle, kind):
        del self.live[self.alive(handle, kind)]
        return (OK,)

    def find(self, address, size):
        """View of device memory; outside of every allocation is a bug of the caller."""
        address, size = int(address), int(size)
        for start, block in self.memory.items():
            if start <= address and address + size <= start + len(block):
                return memoryview(block)[address - start : address - start + size]
        raise AssertionError(f"{size} bytes at {address:#x} are not allocated")

    def array(self, address, dtype, count):
        return np.frombuffer(self.find(address, count * np.dtype(dtype).itemsize), dtype)

    def run_queue(self):
        while self.queue and self.fault is None:
            self.queue.pop(0)()

    # The driver's functions, each with the real one's results.

    def _cuInit(self, flags):
        return (OK,) if self.devices else (real.CUresult.CUDA_ERROR_NO_DEVICE,)

    def _cuGetErrorString(self, status):
        return OK, status.name.lower().encode()

    def _cuDeviceGetCount(self):
        return OK, self.devices

    def _cuDeviceGet(self, ordinal):
        return OK, real.CUdevice(ordinal)

    def _cuDevicePrimaryCtxRetain(self, device):
        return OK, self.handle("CUcontext")

    def _cuDevicePrimaryCtxRelease(self, device):
        (number,) = [n for n, kind in self.live.items() if kind == "CUcontext"]
        return self.release(real.CUcontext(number), "CUcontext")

    def _cuCtxSetCurrent(self, context):
        self.alive(context, "CUcontext")
        return (OK,)

    def _cuStreamCreate(self, flags):
        return OK, self.handle("CUstream")

    def _cuStreamDestroy(self, stream):
        return self.release(stream, "CUstream")

    def _cuStreamSynchronize(self, stream):
        self.alive(stream, "CUstream")
        self.run_queue()
        return (OK,) if self.fault is None else (self.fault,)

    def _cuDeviceGetAttribute(self, attribute, device):
        names = {
            "COMPUTE_CAPABILITY_MAJOR": 8,
            "COMPUTE_CAPABILITY_MINOR": 0,
            "MULTIPROCESSOR_COUNT": 108,
            "L2_CACHE_SIZE": 4096,
        }
        return OK, names[attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def _cuDeviceGetName(self, length, device):
        return OK, b"Fake GPU".ljust(length, b"\0")

    def _cuDeviceGetPCIBusId(self, length, device):
        return OK, b"0000:00:00.0".ljust(length, b"\0")

    def _cuDriverGetVersion(self):
        return OK, self.version

    def _cuMemAlloc(self, size):
        address = self.next_address
        self.next_address += (size + 511) // 256 * 256
        # What was in memory before is unknown: nothing may rely on zeros.
        # Except where it is too large to write it all, which np.zeros does not.
        small = size < 1 << 20
        self.memory[address] = np.full(size, 0xCD, np.uint8) if small else np.zeros(size, np.uint8)
        return OK, real.CUdeviceptr(address)

    def _cuMemFree(self, pointer):
        assert not self.queue
        del self.memory[int(pointer)]
        return (OK,)

    def _cuMemcpyHtoD(self, pointer, host, size):
        self.run_queue()
        self.find(pointer, size)[:] = ctypes.string_at(host, size)
        return (OK,)

    def _cuMemcpyDtoH(self, host, pointer, size):
        self.run_queue()
        ctypes.memmove(host, bytes(self.find(pointer, size)), size)
        return (OK,)

    def _cuMemcpyDtoDAsync(self, to, source, size, stream):
        def copy():
            self.find(to, size)[:] = bytes(self.find(source, size))

        self.queue.append(copy)
        return (OK,)

    def _cuMemsetD8Async(self, pointer, value, size, stream):
        assert 0 <= value <= 255

        def fill():
            self.find(pointer, size)[:] = bytes([value]) * size

        self.queue.append(fill)
        return (OK,)

    def _cuMemsetD32Async(self, pointer, value, count, stream):
        assert value == 0
        self.queue.append(lambda: self.find(pointer, 4 * count))
        return (OK,)

    def _cuModuleLoadData(self, image):
        if self.version < 13000:
            return (real.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,)
        header = ctypes.string_at(image, 64)
        assert header[:4] == b"\x7fELF"
        # Section headers end a 64-bit ELF file: e_shoff, e_shentsize and e_shnum give its size.
        at = int.from_bytes(header[40:48], "little")
        size, count = (int.from_bytes(header[i : i + 2], "little") for i in (58, 60))
        tables = at + size * count
        program = int.from_bytes(header[32:40], "little")
        end = max(tables, program + 56 * int.from_bytes(header[56:58], "little"))
        elf = ELFFile(io.BytesIO(ctypes.string_at(image, end)))
        module = self.handle("CUmodule")
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            if symbol["st_info"]["type"] == "STT_OBJECT":
                _, address = self._cuMemAlloc(symbol["st_size"])
                self.constants[int(module), symbol.name] = (address, symbol["st_size"])
        return OK, module

    def _cuModuleUnload(self, module):
        for key in [k for k in self.constants if k[0] == int(module)]:
            address, _ = self.constants.pop(key)
            del self.memory[int(address)]
        return self.release(module, "CUmodule")

    def _cuModuleGetFunction(self, module, name):
        self.alive(module, "CUmodule")
        (kernel,) = [k for k in self.kernels if k.encode() in name]
        # Functions live as long as their module and are not given back.
        function = real.CUfunction(next(self.numbers))
        self.functions[int(function)] = (kernel, int(module))
        return OK, function

    def _cuModuleGetGlobal(self, module, name):
        if (int(module), name.decode()) not in self.constants:
            return real.CUresult.CUDA_ERROR_NOT_FOUND, None, 0
        return OK, *self.constants[int(module), name.decode()]

    def _cuFuncSetAttribute(self, function, attribute, value):
        dynamic = real.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        assert attribute == dynamic
        self.shared_limit[int(function)] = value
        return (OK,)

    def _cuFuncGetAttribute(self, attribute, function):
        return OK, {"NUM_REGS": 24, "LOCAL_SIZE_BYTES": 0, "SHARED_SIZE_BYTES": 16}[
            attribute.name.removeprefix("CU_FUNC_ATTRIBUTE_")
        ]

    def _cuTexObjectCreate(self, resource, sampling, view):
        assert resource.resType == real.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
        linear = resource.res.linear
        self.find(linear.devPtr, linear.sizeInBytes)
        texture = self.handle("CUtexObject")
        self.textures[int(texture)] = (
            int(linear.devPtr),
            linear.format,
            linear.numChannels,
            sampling.flags,
        )
        return OK, texture

    def _cuTexObjectDestroy(self, texture):
        return self.release(texture, "CUtexObject")

    def _cuEventCreate(self, flags):
        assert flags == 0
        return OK, self.handle("CUevent")

    def _cuEventDestroy(self, event):
        return self.release(event, "CUevent")

    def _cuEventRecord(self, event, stream):
        self.alive(event, "CUevent")

        def record():
            self.event_times[int(event)] = self.clock

        self.queue.append(record)
        return (OK,)

    def _cuEventElapsedTime(self, begin, end):
        assert not self.queue
        return OK, self.event_times[int(end)] - self.event_times[int(begin)]

    def _cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        self.alive(stream, "CUstream")
        assert extra == 0
        assert shared == self.shared_limit.get(int(function), 0)
        kernel, module = self.functions[int(function)]
        dtypes, body = self.kernels[kernel]
        pointers = (ctypes.c_void_p * len(dtypes)).from_address(params)
        # As on a device, parameters are read now and the work is done later.
        values = [
            np.frombuffer(ctypes.string_at(p, np.dtype(t).itemsize), t)[0]
            for p, t in zip(pointers, dtypes, strict=True)
        ]

        def run():
            self.clock += self.milliseconds(kernel)
            try:
                body(self, module, (gx, gy, gz), *values)
            except MemoryError:
                self.fault = real.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS

        self.queue.append(run)
        return (OK,)
