# ruff: noqa: N802 - the names are the driver's
"""A stand-in for the driver on which tuned kernels run, and arrays and kernels of a library beside
it. Kernels run on the executor when the stream is waited for."""

import ctypes
import itertools
from dataclasses import replace

import numpy as np
from cuda.bindings import driver as real
from executor_driver import ATTRIBUTES, ExecutorDriver, parameter_types, parameters
from fake_driver import OK

from placewise import kernel_from
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.launch import Launch

FORMATS = {
    real.CUarray_format.CU_AD_FORMAT_FLOAT: np.float32,
    real.CUarray_format.CU_AD_FORMAT_SIGNED_INT32: np.int32,
}


class TuningDriver(ExecutorDriver):
    """``known`` are the kernels whose machine code may be loaded."""

    def __init__(self):
        super().__init__()
        self.known = []
        self.modules = {}
        self.current = 0
        self.recording = False
        self.alignment = 512

    def find(self, address, size):
        data = self.arrays[int(address)].region.data
        assert size <= data.size
        return memoryview(data)[:size]

    def _cuMemcpyDtoDAsync(self, to, source, size, stream):
        def copy():
            self.find(to, size)[:] = bytes(self.find(source, size))

        self.queue.append(copy)
        return (OK,)

    def _cuDeviceGetAttribute(self, attribute, device):
        if attribute.name.endswith("TEXTURE_ALIGNMENT"):
            return OK, self.alignment
        return OK, ATTRIBUTES[attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def _cuDeviceGetName(self, length, device):
        return OK, b"NVIDIA A100-SXM4-40GB".ljust(length, b"\0")

    def _cuCtxSetCurrent(self, context):
        self.current = self.alive(context, "CUcontext")
        return (OK,)

    def _cuCtxGetCurrent(self):
        return OK, real.CUcontext(self.current)

    def _cuStreamIsCapturing(self, stream):
        status = real.CUstreamCaptureStatus
        if self.recording:
            return OK, status.CU_STREAM_CAPTURE_STATUS_ACTIVE
        return OK, status.CU_STREAM_CAPTURE_STATUS_NONE

    def _cuPointerGetAttribute(self, attribute, pointer):
        if int(pointer) not in self.arrays:
            return real.CUresult.CUDA_ERROR_INVALID_VALUE, None
        return OK, 0

    def _cuStreamSynchronize(self, stream):
        assert not self.recording
        self.run_queue()
        return (OK,)

    def _cuModuleLoadData(self, image):
        fitting = [k for k in self.known if ctypes.string_at(image, len(k.cubin)) == k.cubin]
        module = self.handle("CUmodule")
        self.modules[int(module)] = fitting[0]
        return OK, module

    def _cuModuleGetGlobal(self, module, name):
        symbol = self.device_memory.symbol(self.modules[int(module)], name.decode())
        self.arrays[int(symbol.address)] = symbol
        return OK, real.CUdeviceptr(int(symbol.address)), symbol.nbytes

    def _cuModuleGetFunction(self, module, name):
        function = real.CUfunction(next(self.numbers))
        self.functions[int(function)] = self.modules[self.alive(module, "CUmodule")]
        assert self.functions[int(function)].entry == name.decode()
        return OK, function

    def _cuTexObjectCreate(self, resource, sampling, view):
        linear = resource.res.linear
        array, dtype = self.arrays[int(linear.devPtr)], np.dtype(FORMATS[linear.format])
        assert linear.sizeInBytes <= array.nbytes
        shape = (array.nbytes // dtype.itemsize // linear.numChannels, linear.numChannels)
        made = self.device_memory.texture_of(replace(array, shape=shape, dtype=dtype))
        return OK, real.CUtexObject(int(made.address))

    def _cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        kernel = self.functions[int(function)]
        values = parameters(params, parameter_types(kernel.ptx, kernel.entry))
        self.launched.append(kernel)
        launch = Launch((gx, gy, gz), (bx, by, bz), shared)
        self.queue.append(lambda: self.device_memory.launch(kernel, launch, values))
        return (OK,)


class GpuArray:
    """An array of a GPU library."""

    names = itertools.count()

    def __init__(self, driver, content):
        self.driver = driver
        name = f"array of the program {next(self.names)}"
        self.array = driver.device_memory.upload(name, content)
        driver.arrays[int(self.array.address)] = self.array

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (int(self.array.address), False),
            "version": 3,
        }

    def get(self):
        self.driver.run_queue()
        return self.array.download()


class GpuKernel:
    """A ``RawKernel`` that the stand-in runs."""

    def __init__(self, driver, code, name):
        self.driver, self.code, self.name, self.options = driver, code, name, ()
        self.file_path, self.backend = None, "nvrtc"
        self.kernel = kernel_from(code, name, options=CompileOptions(arch="sm_80"))
        self.launches = 0

    def __call__(self, grid, block, args, *, shared_mem=0):
        self.launches += 1
        values = [a.array if isinstance(a, GpuArray) else a for a in args]
        launch = Launch((*grid, 1, 1)[:3], (*block, 1, 1)[:3], shared_mem)
        self.driver.queue.append(
            lambda: self.driver.device_memory.launch(self.kernel, launch, values)
        )
