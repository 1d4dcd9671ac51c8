"""One door for kernels of every kind."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import placewise
from placewise import CompileOptions, DeviceMemory, Launch, compile_module, kernel_from
from placewise.errors import CaseError
from placewise.kernel.kernel import Kernel

SOURCE = "template <class T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }\n"


@dataclass
class RawKernel:
    code: str
    name: str
    options: tuple[str, ...] = ()
    backend: str = "nvrtc"
    file_path: str | None = None


def doubled(kernel: Kernel) -> list[float]:
    memory = DeviceMemory()
    x = memory.upload("x", np.arange(4, dtype=np.float32))
    memory.launch(kernel, Launch((1, 1, 1), (4, 1, 1)), [x])
    return list(x.download())


def test_every_kind(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(SOURCE)
    options = CompileOptions(arch="sm_86")
    (compiled,) = compile_module(SOURCE, "twice.cu", ["twice<float>"], options)
    ptx = tmp_path / "twice.ptx"
    ptx.write_text(compiled.ptx)
    raw = RawKernel(SOURCE, "twice<float>")
    for kernel in (
        kernel_from(source, "twice<float>", options=options),
        kernel_from(str(source), "twice<float>", options=options),
        kernel_from(SOURCE, "twice<float>", options=options),
        kernel_from(ptx),
        kernel_from(ptx, options=options),
        kernel_from(compiled.ptx, "twice<float>", options=options),
        kernel_from(raw, options=options),
    ):
        assert doubled(kernel) == [0, 2, 4, 6]
        assert (kernel.arch, kernel.entry) == ("sm_86", compiled.entry)
        assert kernel.registers == compiled.registers


def test_a_python_function() -> None:
    pytest.importorskip("numba_cuda")
    from numba import cuda

    def twice(x):
        x[cuda.threadIdx.x] *= 2

    assert doubled(kernel_from(twice, arguments=[np.zeros(4, np.float32)])) == [0, 2, 4, 6]
    with pytest.raises(CaseError, match=r"compiled for the types of its arguments\n  hint"):
        kernel_from(twice)


def test_what_is_no_kernel() -> None:
    with pytest.raises(CaseError, match="the kernel's name is missing"):
        kernel_from(SOURCE)
    with pytest.raises(CaseError, match=r"this list is no kernel\n  hint: CUDA"):
        kernel_from([SOURCE])
    with pytest.raises(CaseError, match="no such file"):
        kernel_from("nowhere.cu", "k")


def test_the_package_has_what_it_names() -> None:
    for name in placewise.__all__:
        assert getattr(placewise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = placewise.nothing
