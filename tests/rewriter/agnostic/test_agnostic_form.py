"""Kernels whose placement a host program chooses: every version and every setting computes the same
bits, and the host's header sets what the executor was given."""

import shutil
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from placewise.advisor.prepare import prepare
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.rewriter.agnostic.form import WantedVersion, write_agnostic
from placewise.space import Placement

RNG = np.random.default_rng(11)
ROUNDED = ("--fmad=false",)
"""The compiler may contract multiplications and additions differently in each form."""
LOOKUP = """
__global__ void lookup(const float *table, const int *at, const double *weight, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = table[at[i]] * (float)weight[i % 8];
}
"""
WALK = """
struct Pair { float a, b; };
__global__ void walk(const float *data, const Pair *pairs, float *sums, int n) {
    const float *row = data + (blockIdx.x * blockDim.x + threadIdx.x) * n;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += *row++ * __ldg(&pairs[k].a) + pairs[k].b;
    sums[blockIdx.x * blockDim.x + threadIdx.x] += sum;
}
"""
BLUR = """
__global__ void blur(const float *image, float *out, int width, int height) {
    extern __shared__ float own[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    own[threadIdx.y * blockDim.x + threadIdx.x] = x;
    __syncthreads();
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += image[y * width + min(max(x + k, 0), width - 1)];
    out[y * width + x] = sum + own[threadIdx.y * blockDim.x + (threadIdx.x ^ 1)];
}
"""
COUNT = """
template <typename T, int STEP>
__global__ void count(const unsigned char *data, T *bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += STEP)
        atomicAdd(&bins[data[i]], (T)1);
}
"""

CALLS = """
__device__ float dot(const float *a, const float *b, int n) {
    float s = 0;
    for (int k = 0; k < n; k++) s += a[k] * b[k];
    return s;
}
__global__ void calls(const float *rows, const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = dot(rows + i * n, x, n) + dot(x, x, 2);
}
"""


def lookup():
    arrays = [RNG.normal(size=500).astype(np.float32), RNG.integers(0, 500, 1000).astype(np.int32),
              RNG.normal(size=8), np.zeros(1000, np.float32)]  # fmt: skip
    return make_case("lookup", LOOKUP, [*arrays, np.int32(1000)], block=128, grid=8, flags=ROUNDED)


def walk():
    pairs = np.zeros(6, np.dtype([("a", "f4"), ("b", "f4")]))
    pairs["a"], pairs["b"] = RNG.normal(size=(2, 6))
    data, sums = RNG.normal(size=(64, 6)).astype(np.float32), np.ones(64, np.float32)
    return make_case(
        "walk", WALK, [data, pairs, sums, np.int32(6)], block=32, grid=2, flags=ROUNDED
    )


def blur():
    image = RNG.normal(size=(13, 40)).astype(np.float32)
    values = [image, np.zeros_like(image), np.int32(40), np.int32(13)]
    return make_case("blur", BLUR, values, block=(16, 4), problem=(40, 13), shared_bytes=256)


def count():
    data = RNG.integers(0, 64, 3000).astype(np.uint8)
    values = [data, RNG.integers(0, 9, 64).astype(np.uint32), np.int32(3000)]
    return make_case("count<unsigned int, 256>", COUNT, values, block=64, grid=4)


def calls():
    arrays = [RNG.normal(size=size).astype(np.float32) for size in (64 * 6, 6, 64)]
    return make_case("calls", CALLS, [*arrays, np.int32(6)], block=32, grid=2, flags=ROUNDED)


CASES = {"calls": calls, "lookup": lookup, "walk": walk, "blur": blur, "count": count}


def written(case, machine):
    prepared = prepare(case, machine)
    legality = prepared.legality
    spaces = {a: [machine.space(s) for s in legality.searched(a)] for a in legality.arrays}
    wanted = [
        WantedVersion(Placement(((array, space.name),)), machine, ("A100",), (80,))
        for array, offered in spaces.items()
        for space in offered[-2:]
        if space.name != legality.present[array]
    ]
    return prepared, write_agnostic(prepared.case, prepared.view, machine, spaces, wanted)


@pytest.fixture(scope="module", params=CASES)
def made(request, machine):
    return written(CASES[request.param](), machine)


def run(case, kernel=None, checker=None):
    return execute(kernel or compile_case(case), case.launch, case.inputs, check=checker)


def same_outputs(prepared, found):
    truth = dict(prepared.execution.outputs)
    outputs = {n: d for n, d in found.outputs if n in truth}
    return prepared.execution.written <= set(outputs) and all(
        truth[name].tobytes() == data.tobytes() for name, data in outputs.items()
    )


def test_every_version_computes_the_same_bits(made):
    prepared, form = made
    assert form.versions
    for version in form.versions:
        assert same_outputs(prepared, run(form.version(version).case)), version.placement


def settings_of(form):
    """Every setting of the fine-grained kernel whose arrays fit the constant buffer."""
    spaces = form.setting_spaces()
    every = (Placement(tuple(zip(spaces, c, strict=True))) for c in product(*spaces.values()))
    return [s for s in every if form.buffers(s).constant_bytes <= form.constant_bytes]


def test_every_setting_computes_the_same_bits_and_is_clean(made):
    prepared, form = made
    settings = settings_of(form)
    assert len(settings) == len({s.spaces for s in settings}) > 3
    kernel = compile_case(form.at(settings[0]).case)
    for setting in settings:
        checker = Checker()
        assert same_outputs(prepared, run(form.at(setting).case, kernel, checker)), setting
        assert not checker.findings, setting


def test_a_setting_really_reads_the_memory_that_it_names(machine):
    """With nothing in constant memory the lookups must go wrong."""
    prepared, form = written(lookup(), machine)
    setting = next(s for s in settings_of(form) if s["table"] == "constant")
    case = form.at(setting).case
    held = [(n, d if n != form.names.constants else d * 0) for n, d in case.inputs.constants]
    emptied = replace(case, inputs=replace(case.inputs, constants=tuple(held)))
    assert same_outputs(prepared, run(case))
    assert not run(emptied).output("out").any()


def test_the_source_keeps_the_kernel_and_can_be_written_twice(machine):
    prepared, form = written(lookup(), machine)
    assert form.source.startswith(LOOKUP.rstrip())
    again = make_case("lookup", form.source, list(_values(prepared.case)), block=128, grid=8)
    _, second = written(again, machine)
    assert "lookup_placed_any" in second.source


def _values(case):
    return (getattr(a, "data", getattr(a, "value", None)) for a in case.inputs.arguments)


REFUSED = {
    "a namespace": ("namespace a { __global__ void k(const float *x, float *y)"
                    " { y[threadIdx.x] = x[threadIdx.x]; } }", "a::k", r"<k>:1: .*namespace"),
    "no array that moves": ("#define TWO 2\n__device__ void f(const int *, int *);\n"
                            "__global__ void k(const float *x, float *y)"
                            " { *y = ((int *)y)[1] + ((const int *)x)[0]; }", "k",
                            r"<k>:3: no array"),
    "a name that a macro spells": ("#define NAME k\n__global__ void NAME(const float *x, float *y)"
                                   " { y[threadIdx.x] = x[threadIdx.x]; }", "k",
                                   r"<k>:2: .*does not contain its name"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_switched_is_refused_with_its_place(what, machine):
    source, kernel, message = REFUSED[what]
    x = np.ones(32, np.float32)
    case = make_case(kernel, source, [x, x.copy()], block=32, grid=1, name="k")
    with pytest.raises(UnsupportedError, match=message):
        written(case, machine)


HOST = """
#include "fake_runtime.h"
{declarations}
#include "{header}"
int main(int count, char **words) {{
    {fields}
    {prefix}_placement where;
    int word = 1;
    {settings}
    {prefix}_prepared prepared;
    cudaError_t e = {prefix}_prepare(&prepared, {prefix}_any_placement, &where, &a, {own}, 0);
    printf("prepared %d shared %zu\\n", (int)e, prepared.shared_bytes);
    for (size_t i = 0; i < sizeof({prefix}_memory_of) / 4; i++)
        printf("memory %d\\n", {prefix}_memory_of[i]);
    {printed}
    e = {prefix}_launch(&prepared, dim3({grid}), dim3({block}), &a, 0);
    const bool right = launched == (const void *){prefix}_any;
    printf("launched %d %d %zu\\n", (int)e, right, launched_shared);
    {prefix}_release(&prepared);
    printf("textures %d\\n", textures_alive);
    return 0;
}}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_sets_what_the_executor_was_given(machine, tmp_path):
    """The host code, compiled and run with a stand-in for the CUDA runtime."""
    _, form = written(lookup(), machine)
    program = host_program(form, tmp_path)
    order = list(dict.fromkeys(s.name for a in form.any.arrays for s in a.spaces))
    for setting in settings_of(form)[::3]:
        words = [str(order.index(space)) for _, space in setting]
        done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        constants = dict(form.at(setting).case.inputs.constants)
        buffers = form.buffers(setting)
        assert f"prepared 0 shared {buffers.shared_bytes}" in lines
        told = [int(line.split()[1]) for line in lines if line.startswith("memory")]
        assert told == constants["lookup_memory_of"].tolist()
        offsets = [int(line.split()[1]) for line in lines if line.startswith("offset")]
        assert offsets == constants["lookup_offset_of"].tolist()
        held = [int(line.split()[1]) for line in lines if line.startswith("byte")]
        assert (
            held[: buffers.constant_bytes]
            == (constants["lookup_constants"].tolist()[: buffers.constant_bytes])
        )
        assert f"launched 0 1 {buffers.shared_bytes}" in lines
        assert "textures 0" in lines


def host_program(form, folder):
    """The header with the same data as the case, as a program that prints what it set."""
    prefix = form.names.prefix
    spaces = dict.fromkeys(s.name for a in form.any.arrays for s in a.spaces)
    arrays = len(form.any.arrays)
    kernels = [prefix, form.any.kernel, *(v.kernel for v in form.versions)]
    declarations = [
        f"enum {prefix}_memory {{ {', '.join(form.names.space(s) for s in spaces)} }};",
        f"int {prefix}_memory_of[{arrays}]; unsigned {prefix}_offset_of[{arrays}];",
        f"unsigned char {prefix}_constants[{form.constant_bytes}];",
        *(f"void {kernel}() {{}}" for kernel in kernels),
    ]
    fields = [f"static {prefix}_arguments a;"]
    for argument in form.case.inputs.arrays:
        kind = {"float32": "float", "int32": "int", "float64": "double"}[str(argument.data.dtype)]
        values = ", ".join(repr(v) for v in argument.data.tolist())
        fields.append(f"static {kind} {argument.name}[] = {{{values}}};")
        fields.append(f"a.{argument.name} = {argument.name};")
    fields.append("a.n = 1000;")
    settings = [
        f"where.{one.use.name} = ({prefix}_memory)(words[word++][0] - '0');"
        for one in form.any.arrays
    ]
    printed = [
        f'for (unsigned o : {prefix}_offset_of) printf("offset %u\\n", o);',
        f'for (unsigned char b : {prefix}_constants) printf("byte %d\\n", b);',
    ]
    text = HOST.format(
        declarations="\n".join(declarations), header=form.header_name, prefix=prefix,
        fields="\n    ".join(fields), settings="\n    ".join(settings),
        printed="\n    ".join(printed), own=form.case.launch.shared_bytes,
        grid="8", block="128",
    )  # fmt: skip
    (folder / "cuda_runtime.h").write_text("#pragma once\n")
    (folder / form.header_name).write_text(form.header)
    shutil.copy(Path(__file__).parent / "fake_runtime.h", folder)
    (folder / "host.cpp").write_text(text)
    flags = ["-std=c++14", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused"]
    command = ["g++", *flags, "-I.", "host.cpp", "-o", "host"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "host"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_compiles_the_whole_file(made, tmp_path):
    _, form = made
    (tmp_path / "k.cu").write_text(form.source)
    (tmp_path / form.header_name).write_text(form.header)
    command = ["nvcc", "-arch=sm_80", "-std=c++17", "-c", "k.cu", "-o", "k.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


HINTED = """
__global__ void k(const float *a, const int *b, float *c, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i] = a[i] + b[i];
    out[i] = c[i] * 2;
}
"""


def test_versions_share_load_functions_of_several_types(machine):
    arrays = [RNG.integers(0, 9, 64).astype(t) for t in ("f4", "i4", "f4", "f4")]
    case = make_case("k", HINTED, [*arrays, np.int32(64)], block=32, grid=2)
    read = prepare(case, machine)
    placements = ({"a": "no_allocate", "b": "no_allocate"}, {"c": "no_allocate"})
    wanted = [WantedVersion(Placement.of(p), machine) for p in placements]
    spaces = {"a": [machine.space(s) for s in ("global", "readonly")]}
    form = write_agnostic(read.case, read.view, machine, spaces, wanted)
    for version in form.versions:
        assert same_outputs(read, run(form.version(version).case)), version.placement
