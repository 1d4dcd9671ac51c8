"""CuPy's raw objects, read by their attributes.

CuPy is not among the dependencies: the classes here have the attributes that its ``RawKernel`` and
``RawModule`` show (CuPy 14), and the real ones are read where it is installed.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from placewise.errors import CaseError, CompileError, UnsupportedError
from placewise.executor import DeviceMemory
from placewise.kernel.frontends.cupy_kernel import cupy_kernel
from placewise.kernel.launch import Launch

LINE = Launch((1, 1, 1), (32, 1, 1))
ADD = r"""
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + FACTOR * b[i];
}
"""
MODULE = r"""
__constant__ float offset;
template <typename T> __global__ void shifted(T *x) { x[threadIdx.x] += offset; }
extern "C" __global__ void set(float *x) { x[threadIdx.x] = offset; }
"""


@dataclass
class RawKernel:
    code: str | None
    name: str
    options: tuple[str, ...] = ()
    backend: str = "nvrtc"
    file_path: str | None = None


@dataclass
class RawModule:
    code: str | None
    options: tuple[str, ...] = ()
    name_expressions: tuple[str, ...] | None = None
    backend: str = "nvrtc"
    file_path: str | None = None


def classes() -> list[object]:
    """Stand-ins, and CuPy's own where it is there."""
    try:
        import cupy
    except ImportError:
        return [pytest.param((RawKernel, RawModule), id="stand-in")]
    return [
        pytest.param((RawKernel, RawModule), id="stand-in"),
        pytest.param((cupy.RawKernel, cupy.RawModule), id="cupy"),
    ]


@pytest.mark.parametrize("made", classes())
def test_a_raw_kernel(made: tuple[type, type]) -> None:
    raw = made[0](ADD, "add", options=("-DFACTOR=3", "-std=c++14", "--use_fast_math"))
    kernel = cupy_kernel(raw, arch="sm_86")
    assert (kernel.name, kernel.arch) == ("add", "sm_86")
    memory = DeviceMemory()
    a, b = (memory.upload(n, np.arange(32, dtype=np.float32)) for n in "ab")
    c = memory.alloc("c", 32, np.float32)
    memory.launch(kernel, LINE, [a, b, c, np.int32(32)])
    assert np.array_equal(c.download(), 4 * np.arange(32))


@pytest.mark.parametrize("made", classes())
def test_a_raw_module(made: tuple[type, type]) -> None:
    raw = made[1](code=MODULE, options=("-std=c++17",), name_expressions=("shifted<float>",))
    shifted, set_ = cupy_kernel(raw, "shifted<float>"), cupy_kernel(raw, "set")
    memory = DeviceMemory()
    x = memory.alloc("x", 32, np.float32)
    memory.constant(shifted, "offset", np.float32(2.5))
    memory.launch(set_, LINE, [x])
    memory.launch(shifted, LINE, [x])
    assert np.array_equal(x.download(), np.full(32, 5))


def test_objects_without_a_kernel_to_read() -> None:
    with pytest.raises(CaseError, match="none is named\n  hint: name expressions: f<int>"):
        cupy_kernel(RawModule(MODULE, name_expressions=("f<int>",)))
    with pytest.raises(CaseError, match=r"RawKernel\.options: the compiler option --dlink is not"):
        cupy_kernel(RawKernel(ADD, "add", ("--dlink",)))
    with pytest.raises(CaseError, match="the option -I has no value"):
        cupy_kernel(RawKernel(ADD, "add", ("-DFACTOR=1", "-I")))
    with pytest.raises(CaseError, match="no kernel named 'sub'"):
        cupy_kernel(RawKernel(ADD, "sub", ("-DFACTOR=1",)))
    with pytest.raises(CompileError, match=r"<cupy>:4: .*FACTOR"):
        cupy_kernel(RawKernel(ADD, "add"))
    with pytest.raises(UnsupportedError, match=r"made from a file \(k\.cubin\) has no source"):
        cupy_kernel(RawModule(None, file_path="k.cubin"), "k")
    with pytest.raises(CaseError, match="a dict is neither"):
        cupy_kernel({})
