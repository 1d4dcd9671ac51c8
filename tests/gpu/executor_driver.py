# ruff: noqa: N802 - the names are the driver's
"""A stand-in for the driver whose kernels really run: their PTX, on the CPU executor."""

import ctypes
import itertools
import re
from dataclasses import replace
from importlib import resources

import numpy as np
from cuda.bindings import driver as real
from fake_driver import OK, FakeDriver

from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import Launch
from placewise.probe.target import WIDTHS, instructions_of

ARCH = "sm_80"
ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 8,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 2,
    "L2_CACHE_SIZE": 4096,
    "KERNEL_EXEC_TIMEOUT": 1,
    "CLOCK_RATE": 1_000_000,
    "MEMORY_CLOCK_RATE": 1_000_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 128,
    "TOTAL_CONSTANT_MEMORY": 65536,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2147483647,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 166912,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 167936,
}


class ExecutorDriver(FakeDriver):
    """Device memory is the executor's; kernels are looked for in the probe's files."""

    def __init__(self, free=1 << 22, **options):
        super().__init__({}, **options)
        self.free = free
        self.device_memory = DeviceMemory()
        self.arrays = {}
        self.compiled = {}
        self.launched = []
        self.names_of_arrays = itertools.count()

    def body(self, name):
        """The compiled kernel called ``name``, whichever file it is in."""
        if name not in self.compiled:
            (filename,) = [f for f, names in KERNELS.items() if name in names]
            self.compiled[name] = compile_kernel(
                source_of(filename), filename, name, CompileOptions(arch=ARCH)
            )
        return self.compiled[name]

    def _cuDeviceGetAttribute(self, attribute, device):
        return OK, ATTRIBUTES[attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def _cuMemGetInfo(self):
        return OK, self.free, 2 * self.free

    def _cuMemAlloc(self, size):
        array = self.device_memory.alloc(f"array {next(self.names_of_arrays)}", size, np.uint8)
        self.arrays[int(array.address)] = array
        return OK, real.CUdeviceptr(int(array.address))

    def _cuMemFree(self, pointer):
        assert not self.queue
        self.device_memory.free(self.arrays.pop(int(pointer)))
        return (OK,)

    def find(self, address, size):
        view = memoryview(self.arrays[int(address)].view())
        assert size <= len(view)
        return view[:size]

    def _cuMemcpyHtoD(self, pointer, host, size):
        self.run_queue()
        data = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(host))
        self.arrays[int(pointer)].write(data)
        return (OK,)

    def _cuMemsetD32Async(self, pointer, value, count, stream):
        assert value == 0
        array = self.arrays[int(pointer)]
        assert 4 * count <= array.nbytes
        self.queue.append(lambda: array.write(np.zeros(4 * count, np.uint8)))
        return (OK,)

    def _cuMemcpyDtoDAsync(self, to, source, size, stream):
        def copy():
            self.arrays[int(to)].write(self.arrays[int(source)].view()[:size])

        self.queue.append(copy)
        return (OK,)

    def _cuModuleLoadData(self, image):
        return OK, self.handle("CUmodule")

    def _cuModuleUnload(self, module):
        return self.release(module, "CUmodule")

    def _cuModuleGetGlobal(self, module, name):
        symbol = self.device_memory.symbol(self.body("chained_constant"), name.decode())
        self.arrays[int(symbol.address)] = symbol
        return OK, real.CUdeviceptr(int(symbol.address)), symbol.nbytes

    def _cuModuleGetFunction(self, module, name):
        self.alive(module, "CUmodule")
        function = real.CUfunction(next(self.numbers))
        self.functions[int(function)] = name.decode()
        return OK, function

    def _cuFuncSetAttribute(self, function, attribute, value):
        return (OK,)

    def _cuTexObjectCreate(self, resource, sampling, view):
        array = self.arrays[int(resource.res.linear.devPtr)]
        words = self.device_memory.texture_of(as_words(array))
        return OK, real.CUtexObject(int(words.address))

    def _cuTexObjectDestroy(self, texture):
        return (OK,)

    def _cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        self.alive(stream, "CUstream")
        name = self.functions[int(function)]
        kernel = self.body(name)
        values = parameters(params, parameter_types(kernel.ptx, name))
        self.launched.append((name, values))
        launch = Launch((gx, gy, gz), (bx, by, bz), shared)

        def run():
            self.clock += self.milliseconds(name)
            self.device_memory.launch(kernel, launch, values)

        self.queue.append(run)
        return (OK,)


def source_of(filename):
    file = resources.files("placewise.probe").joinpath("kernels", filename)
    return file.read_text("utf-8")


PATHS = ("global", "l2", "readonly", "texture", "constant", "shared", "nothing")
KERNELS = {
    "chase.cu": {"weave", *(f"{kind}_{path}" for kind in ("chained", "listed") for path in PATHS)},
    "banks.cu": {f"bank_{what}_{width}" for what in ("latency", "rate") for width in WIDTHS},
    "pairs.cu": {"pairs"},
    "bandwidth.cu": {"stream_through_l1", "stream_past_l1", "nothing"},
    "instructions.cu": {
        f"{what}_{n}" for what in ("latency", "rate") for n in instructions_of((8, 0))
    },
}


def parameter_types(ptx, name):
    """Each parameter's type."""
    (listed,) = re.findall(rf"\.entry {name}\(([^)]*)\)", ptx)
    return [
        np.dtype(f"{'f' if kind == 'f' else 'u'}{int(bits) // 8}")
        for kind, bits in re.findall(r"\.param \.([a-z])(\d+)", listed)
    ]


def as_words(array):
    return replace(array, shape=(array.nbytes // 4,), dtype=np.dtype(np.uint32))


def parameters(address, types):
    """Each parameter's bytes as a number of its type."""
    pointers = (ctypes.c_void_p * len(types)).from_address(address) if types else ()
    return [
        np.frombuffer(ctypes.string_at(pointer, dtype.itemsize), dtype)[0]
        for pointer, dtype in zip(pointers, types, strict=True)
    ]
