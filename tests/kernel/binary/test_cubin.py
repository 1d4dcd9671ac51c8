"""Facts of cubins against what ptxas itself prints of the same compilation, and the source."""

import re
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.errors import CompileError
from placewise.kernel.binary.cubin import entries, read_cubin
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module, supported_archs
from placewise.kernel.toolchain import nvrtc_library, toolkit

SOURCE = """\
struct Pair { int first; double second; };
struct Long { int words[900]; };
__constant__ float table[20] = {1, 2, 3.5f};
__device__ int counter = 5;
__device__ float scratch[100];
__device__ int* where = &counter;
extern "C" __global__ void __launch_bounds__(128) many(
    float* a, Pair p, char c, const double* d, Long l) {
    __shared__ float s[96];
    s[threadIdx.x % 96] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[95 - threadIdx.x % 96] + table[c] + p.first + d[0] + p.second + l.words[c];
    scratch[c] = *where;
    if (c == 3) printf("%d", c);
}
extern "C" __global__ void own_array(float* a, int n) {
    float own[32];
    for (int i = 0; i < 32; i++) own[i] = a[i];
    for (int i = 0; i < n; i++) own[(i * 7) % 32] += own[i % 32];
    for (int i = 0; i < 32; i++) a[i] = own[i];
}
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* a) {
    float v[64];
#pragma unroll
    for (int i = 0; i < 64; i++) v[i] = a[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; i++) a[i * 1024 + threadIdx.x] = v[i] * v[63 - i] + v[(i * 7) % 64];
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursive(int* a) { a[0] = fibonacci(a[0]); }
extern "C" __global__ void cases(int* a, int n) {
    switch (n) {
    case 0: a[0] = a[3]; break;
    case 1: a[0] = a[5] * 3; break;
    case 2: a[9] = 4; break;
    case 3: a[0] = a[7] / 3; break;
    case 4: a[0] = __popc(a[2]); break;
    case 5: a[0] = a[1] ^ a[2]; break;
    default: a[0] = 0;
    }
}
extern "C" __global__ void nothing() {}
"""
KERNELS = ("many", "own_array", "spilling", "recursive", "cases", "nothing")
LINE = re.compile(
    r"Function properties for (?P<name>\w+)\n.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads\n"
    r"[^\n]*Used (?P<registers>\d+) registers(?P<rest>[^\n]*)"
)


def installed(nvrtc):
    try:
        toolkit(nvrtc)
    except Exception:
        return False
    return True


TARGETS = [("13", f"sm_{arch}") for arch in supported_archs()]
for version, archs in (("12.9", (50, 61, 70, 80, 90, 120)), ("11.8", (35, 37, 52, 70, 86))):
    mark = pytest.mark.skipif(not installed(version), reason=f"NVRTC {version} is not installed")
    TARGETS += [pytest.param(version, f"sm_{arch}", marks=mark) for arch in archs]


@pytest.fixture(scope="module")
def made():
    """(kernels, ptxas' figures by kernel) of a target, compiled once."""
    kept = {}

    def make(nvrtc, arch):
        key = (nvrtc, arch)
        if key not in kept:
            options = CompileOptions(arch=arch, nvrtc=nvrtc)
            kernels = compile_module(SOURCE, "facts.cu", KERNELS, options)
            flags = [f"--gpu-architecture={arch}", "--ptxas-options=-v", "--std=c++17"]
            log = nvrtc_library(nvrtc).compile(SOURCE, "facts.cu", flags=flags).log
            kept[key] = kernels, {m["name"]: m for m in LINE.finditer(log)}
        return kept[key]

    return make


def figure(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(("nvrtc", "arch"), TARGETS)
def test_resources_are_those_that_ptxas_prints(made, nvrtc, arch):
    kernels, printed = made(nvrtc, arch)
    assert set(printed) == set(KERNELS)
    for kernel in kernels:
        facts = read_cubin(kernel.cubin, kernel.entry)
        said = printed[kernel.name]
        assert facts.target == int(arch.removeprefix("sm_"))
        assert facts.registers == kernel.registers == int(said["registers"])
        assert facts.static_shared_bytes == figure(r"(\d+) bytes smem", said["rest"])
        assert facts.frame_bytes == int(said["stack"])
        if nvrtc != "11.8":
            assert facts.barriers == figure(r"used (\d+) barriers", said["rest"])
        assert kernel.compiler.startswith(nvrtc)
        if kernel.name != "recursive":
            assert kernel.spills.store_bytes == int(said["stores"])
            assert kernel.spills.load_bytes == int(said["loads"])
            assert facts.stack_bytes == facts.frame_bytes
        else:
            # 12.9 warns, but writes 0.
            assert facts.stack_bytes == (0 if nvrtc == "12.9" else None)
            # Spilled in the function that the kernel calls.
            assert kernel.spills.store_bytes > 0
    by_name = {k.name: k for k in kernels}
    assert by_name["spilling"].spills.load_bytes > 0
    assert read_cubin(by_name["own_array"].cubin, "own_array").frame_bytes == 128


@pytest.mark.parametrize(("nvrtc", "arch"), TARGETS)
def test_parameters_lie_as_c_lays_them_out(made, nvrtc, arch):
    kernels, _ = made(nvrtc, arch)
    many = read_cubin(kernels[0].cubin, "many")
    # float*, Pair {int, double}, char, double*, Long {int[900]}.
    assert [(p.offset, p.size) for p in many.parameters] == [
        (0, 8),
        (8, 16),
        (24, 1),
        (32, 8),
        (40, 3600),
    ]
    assert many.parameter_bytes == 3640
    assert len(many.bank(0).data) == many.parameter_offset + many.parameter_bytes
    assert many.max_threads == (128, 1, 1)
    nothing = read_cubin(kernels[-1].cubin, "nothing")
    assert nothing.parameters == ()
    assert nothing.max_threads is None


@pytest.mark.parametrize(("nvrtc", "arch"), TARGETS)
def test_variables_have_their_contents_and_pointers_their_targets(made, nvrtc, arch):
    kernels, _ = made(nvrtc, arch)
    many = read_cubin(kernels[0].cubin, "many")
    variables = {v.name: v for v in many.variables}
    table = np.zeros(20, np.float32)
    table[:3] = (1, 2, 3.5)
    assert variables["table"].data == table.tobytes()
    at = variables["table"].offset
    assert many.bank(3).data[at : at + 80] == table.tobytes()
    assert variables["counter"].data == struct.pack("<i", 5)
    assert (variables["scratch"].size, variables["scratch"].data) == (400, b"")
    (pointer,) = variables["where"].relocations
    assert pointer.offset == 0
    # Some compilers point into the section that the variable lies in.
    assert pointer.symbol == "counter" or pointer.addend == variables["counter"].offset
    assert "vprintf" in many.externals


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_parameters_beyond_16_kb(arch):
    source = """
struct Big { int a[5000]; };
extern "C" __global__ void big(int* o, const __grid_constant__ Big b, char c, short s) {
    o[threadIdx.x] = b.a[o[0]] + c + s;
}"""
    (kernel,) = compile_module(source, "big.cu", ["big"], CompileOptions(arch=arch))
    facts = read_cubin(kernel.cubin, "big")
    assert [(p.offset, p.size) for p in facts.parameters] == [
        (0, 8),
        (8, 20000),
        (20008, 1),
        (20010, 2),
    ]


def test_branches_through_tables_name_their_targets(made):
    kernels, _ = made("13", "sm_80")
    cases = read_cubin(kernels[4].cubin, "cases")
    assert cases.indirect_branches
    for branch in cases.indirect_branches:
        assert all(0 < target < len(cases.code) for target in (branch.offset, *branch.targets))
        assert len(branch.targets) >= 3
    assert all(0 < at < len(cases.code) for at in cases.exits)


def test_kernels_are_named(made):
    kernels, _ = made("13", "sm_86")
    assert sorted(entries(kernels[0].cubin)) == sorted(KERNELS)
    with pytest.raises(CompileError, match="no kernel 'missing'") as caught:
        read_cubin(kernels[0].cubin, "missing")
    assert "spilling" in (caught.value.hint or "")


def test_what_is_no_cubin_is_refused():
    for wrong in (b"", b"text", b"\x7fELF" + bytes(100)):
        with pytest.raises(CompileError):
            read_cubin(wrong, "k")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_is_an_error_or_harmless(made, data):
    kernels, _ = made("13", "sm_80")
    cubin = bytearray(kernels[0].cubin)
    for _ in range(data.draw(st.integers(1, 4))):
        cubin[data.draw(st.integers(0, len(cubin) - 1))] = data.draw(st.integers(0, 255))
    length = data.draw(st.sampled_from([len(cubin), data.draw(st.integers(0, len(cubin)))]))
    # Anything but this error fails the test.
    with suppress(CompileError):
        read_cubin(bytes(cubin[:length]), "many")
