import json

import pytest

from placewise.disk_cache import DiskCache
from placewise.kernel.binary.disassemble_ahead import disassemble_ahead
from placewise.kernel.binary.machine_code import LISTED, listing_of
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, compile_module
from placewise.kernel.toolchain import disassemble, disassembler, is_disassembled

LOOP = """__global__ void loop(float *a, int n) {
  for (int i = threadIdx.x; i < n; i += 32) if (a[i] > 0) a[i] = a[i] / n; else a[i] = sinf(a[i]);
}
"""
SWITCH = """__device__ __noinline__ float f(float x, int n) {
  for (int i = 0; i < n; i++) x = x * x + i;
  return x;
}
__global__ void choose(float *a, int n) {
  float &x = a[threadIdx.x];
  switch (n) {
    case 0: x += 1; break;
    case 1: x *= 3; break;
    case 2: x = f(x, n); break;
    case 3: x = sqrtf(x); break;
    case 4: x = x / 7; break;
    case 5: x = -x; break;
    default: x = __shfl_xor_sync(0xffff, x, 1);
  }
}
__global__ void other(float *a, int n) { a[threadIdx.x] = f(a[threadIdx.x], n); }
"""
NAMED = """__device__ int table[4] = {1, 2, 3, 4};
__global__ void named(int *a) { a[threadIdx.x] = table[threadIdx.x & 3]; }
"""


@pytest.fixture
def own_caches(monkeypatch, tmp_path):
    """All caches on disk in a folder of the test's, and none in memory."""
    monkeypatch.setattr(DiskCache, "folder", lambda cache: tmp_path / cache.name)
    disassemble.cache_clear()
    listing_of.cache_clear()
    yield tmp_path
    disassemble.cache_clear()
    listing_of.cache_clear()


def compiled(arch):
    options = CompileOptions(arch=arch)
    return [
        compile_kernel(LOOP, "loop.cu", "loop", options),
        *compile_module(SWITCH, "switch.cu", ("choose", "other"), options),
        compile_kernel(NAMED, "named.cu", "named", options),
    ]


def functions(kernel):
    """Instructions by function, as nvdisasm's run on this kernel's file alone prints them."""
    found = json.loads(disassemble(kernel.cubin, LISTED))[1]
    return {f["function-name"]: f["sass-instructions"] for f in found}


@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90a", "sm_120"])
def test_listings_are_those_of_each_kernel_alone(arch, own_caches):
    kernels = compiled(arch)
    alone = [functions(kernel) for kernel in kernels]
    for kept in (own_caches / "listings").iterdir():
        kept.unlink()
    disassemble.cache_clear()
    disassemble_ahead(kernels)
    ready = [is_disassembled(kernel.cubin, LISTED) for kernel in kernels]
    assert ready[:3] == [True] * 3
    assert [functions(kernel) for kernel in kernels] == alone


def test_one_run_serves_all_kernels(monkeypatch, own_caches):
    kernels = compiled("sm_80")[:3]
    runs = []
    run_tool = disassembler.run_tool
    monkeypatch.setattr(
        disassembler, "run_tool", lambda *given: runs.append(given) or run_tool(*given)
    )
    disassemble_ahead(kernels)
    assert all(listing_of(kernel.cubin, kernel.entry).instructions for kernel in kernels)
    assert len(runs) == 1
    disassemble_ahead(kernels)
    assert len(runs) == 1


def test_what_cannot_be_read_is_left_for_the_listing_to_report(monkeypatch, own_caches):
    kernels = compiled("sm_80")[:3]
    monkeypatch.setattr(
        disassembler, "nvdisasm", lambda: (own_caches / "no such program").absolute()
    )
    disassemble_ahead(kernels)
    assert not any(is_disassembled(kernel.cubin, LISTED) for kernel in kernels)
