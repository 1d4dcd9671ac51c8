"""Source lines read from the cubin, against those that nvdisasm prints beside the instructions."""

import re

import pytest

from placewise.errors import CompileError
from placewise.kernel.binary.line_table import source_places
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.toolchain import Target, assemble, disassemble

SOURCE = """__device__ __forceinline__ float square(const float* p, int i) {
    return p[i] * p[i];
}
__device__ __forceinline__ float sum(const float* p, int n) {
    float total = 0;
    for (int i = 0; i < n; i++)
        total += square(p, i);
    return total;
}
__device__ __noinline__ float apart(float x, int n) {
    float y = x;
    for (int i = 0; i < n; i++)
        y = y * y + sqrtf(y);
    return y;
}
extern "C" __global__ void inlined(const float* p, float* out, int n) {
    out[threadIdx.x] = sum(p, n)
        + __ldg(p + threadIdx.x);
}
extern "C" __global__ void called(float* out, int n) {
    out[threadIdx.x] = apart(out[threadIdx.x], n)
        / out[threadIdx.x + 1];
}
"""
KERNELS = ("inlined", "called")
_SECTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_FILE_LINE = re.compile(r'\s*//## File "(.*?)", line (\d+)')
_OFFSET = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")


def printed_places(text, entry):
    """A comment before an instruction names its line, and further ones the places of the calls
    that were inlined, the outermost last."""
    places, here, inside = {}, None, False
    for line in text.splitlines():
        if match := _SECTION.match(line):
            inside, here = match[1] == entry, None
        elif inside and (match := _FILE_LINE.match(line)):
            here = (match[1], int(match[2]))
        elif inside and here is not None and (match := _OFFSET.match(line)):
            places[int(match[1], 16)] = here
    return places


@pytest.mark.parametrize("version", ["12.9", "13"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90"])
def test_places_are_those_that_nvdisasm_prints(arch, version):
    kernels = compile_module(SOURCE, "a.cu", KERNELS, CompileOptions(arch=arch, nvrtc=version))
    for kernel in kernels:
        printed = printed_places(disassemble(kernel.cubin, ("-c", "-gi")), kernel.entry)
        assert len(printed) > 20
        assert source_places(kernel.cubin, kernel.entry) == printed
    lines = {line for _, line in source_places(kernels[0].cubin, "inlined").values()}
    assert lines <= {16, 17, 18, 19}


def test_code_without_a_table_has_no_places_and_a_cut_one_is_refused():
    (kernel,) = compile_module(SOURCE, "a.cu", KERNELS[:1], CompileOptions(arch="sm_80"))
    assert source_places(kernel.cubin, "another") == {}
    named = kernel.cubin.replace(b".debug_line\0", b".debug_lime\0")
    assert source_places(named, "inlined") == {}
    with pytest.raises(CompileError, match="no cubin"):
        source_places(b"no ELF file", "inlined")


def test_code_without_lines_has_no_places():
    """PTX that names no source line still has a section for them."""
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n"
    cubin = assemble(ptx, Target("sm_80"), "k.ptx").cubin
    assert source_places(cubin, "k") == {}
