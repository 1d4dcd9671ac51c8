"""Load functions with cache hints that a rewritten file declares: they compile, their hints survive
and they load the same bits, for every type that has them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.binary.surviving_hints import Fate, hint_fates
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.elements import dtype_of
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

MACHINE = load_machine("A100")
HINTS = [s.name for s in MACHINE.spaces if s.hint and s.name not in ("l2only", "streaming")]
BETWEEN = ["sm_86", "sm_89", "sm_90", "sm_100"]
"""Architectures between the oldest and the newest with these hints."""
SCALARS = {
    "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8,
    "float": 4, "double": 8,
}  # fmt: skip
VECTORS = {
    "char2": 2, "uchar4": 4, "char4": 4, "short2": 4, "ushort4": 8, "int2": 8, "uint4": 16,
    "longlong2": 16, "ulonglong2": 16, "long2": 16, "float2": 8, "float4": 16, "double2": 16,
}  # fmt: skip
COPY = """
extern "C" __global__ void k(const {type} *a, {type} *o) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = a[i];
}}
"""


def random_bytes(size):
    """Words of random bits below the exponents of NaN, which loads would not keep apart."""
    return np.random.default_rng(size).integers(0, 0x7F, size, dtype=np.uint8)


def copied(type_, size, arch="sm_80"):
    dtype = np.dtype(dtype_of(type_) or f"V{size}")
    data = random_bytes(256 * size).view(dtype)
    arguments = [data, np.zeros_like(data)]
    return make_case("k", COPY.format(type=type_), arguments, block=64, grid=4, arch=arch)


def moved(case, space, array="a"):
    return rewrite(case, Placement.of({array: space}), MACHINE, analyse_source(case))


@pytest.mark.parametrize(("type_", "size"), [*SCALARS.items(), *VECTORS.items()])
def test_every_type_is_loaded_as_it_is(type_, size):
    case = copied(type_, size)
    written = moved(case, "no_allocate")
    kernel = compile_case(written.case)
    (fate,) = hint_fates(kernel)
    assert fate.fate is Fate.SURVIVED
    for machine_code in (False, True):
        run = execute(replace(kernel, machine_code=machine_code), case.launch, written.case.inputs)
        assert run.output("o").tobytes() == random_bytes(256 * size).tobytes()


@pytest.mark.parametrize("type_", ["__half", "__half2", "__nv_bfloat16"])
def test_halves(type_):
    size = 4 if type_.endswith("2") else 2
    header = "cuda_bf16.h" if "bf" in type_ else "cuda_fp16.h"
    case = copied(type_, size)
    case = replace(case, source=f"#include <{header}>\n{case.source}")
    written = moved(case, "evict_last")
    run = execute(compile_case(written.case), case.launch, written.case.inputs)
    assert run.output("o").tobytes() == random_bytes(256 * size).tobytes()


@pytest.mark.parametrize(
    "arch",
    ["sm_80", "sm_120", *(pytest.param(a, marks=pytest.mark.slow) for a in BETWEEN)],
)
@pytest.mark.parametrize("space", HINTS)
def test_every_hint_survives_on_every_architecture(space, arch):
    written = moved(copied("float4", 16, arch), space)
    (fate,) = hint_fates(compile_case(written.case))
    assert (fate.asked, fate.fate) == (MACHINE.space(space).hint, Fate.SURVIVED)


SOURCE = """
extern "C" __global__ void k(const float *a, const int2 *b, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *row = a + n;
    o[i] = a[i] + row[-i - 1] + b[i].x * b[i].y;
    o[i] += *(a + i);
}
"""


def several(source=SOURCE):
    rng = np.random.default_rng(1)
    arguments = [
        rng.random(256, dtype=np.float32),
        rng.integers(0, 9, 512, dtype=np.int32),
        np.zeros(256, np.float32),
        np.int32(256),
    ]
    return make_case("k", source, arguments, block=64, grid=4, arch="sm_80")


@pytest.mark.parametrize("space", HINTS)
def test_gpus_without_a_hint_load_plainly(space):
    """A program may be compiled for several GPUs at once; Turing has no prefetch of 256 bytes."""
    case = moved(copied("float4", 16, arch="sm_75"), space).case
    result = execute(compile_case(case), case.launch, case.inputs)
    assert result.output("o").tobytes() == case.inputs.arrays[0].data.tobytes()


def test_a_function_is_declared_once_for_each_type():
    case = several()
    placement = Placement.of({"a": "once", "b": "once"})
    written = rewrite(case, placement, MACHINE, analyse_source(case))
    text = written.case.source
    heads = re.findall(r"static __device__ __forceinline__ (\w+) (\w+)\(const (\w+)", text)
    # Of a struct the members are loaded.
    assert heads == [(t, "load_once_prefetch_256", t) for t in ("float", "int")]
    expected = execute(compile_case(case), case.launch, named_case(case).inputs).output("o")
    found = execute(compile_case(written.case), case.launch, written.case.inputs).output("o")
    assert found.tobytes() == expected.tobytes()


def test_loads_of_what_is_not_written_may_pass_stores():
    text = moved(several(), "no_allocate").case.source
    assert 'asm volatile("ld' in text
    assert '"memory"' not in text


def test_loads_stay_behind_the_condition_that_keeps_them_in_bounds():
    # A compiler that may move the statement loads the next pair ahead of the loop's condition.
    source = """
extern "C" __global__ void k(float *o, const unsigned *a, const float *b, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = 0;
        for (int k = threadIdx.x % 4; k < m; k += 4) {
            if ((float)a[k - (k & 1)] < 3) s += 1;
            s += b[i + 2];
        }
        o[i] = s;
    }
}
"""
    words, row = np.arange(8, dtype=np.uint32), np.ones(23, np.float32)
    arguments = [np.zeros(21, np.float32), words, row, np.int32(21), np.int32(8)]
    case = make_case("k", source, arguments, block=96, grid=1, arch="sm_80")
    written = moved(case, "prefetch_256")
    checker = Checker()
    inputs = written.case.inputs
    execute(compile_case(written.case), written.case.launch, inputs, check=checker)
    assert not checker.findings


def test_loads_of_memory_that_another_argument_shares_keep_their_order():
    case = several()
    first, *rest, n = case.inputs.arguments
    rest[-1] = replace(rest[-1], data=first.data)
    shared = replace(case, inputs=replace(case.inputs, arguments=(first, *rest, n)))
    text = moved(shared, "no_allocate").case.source
    assert 'asm volatile("ld' in text
    assert '"memory"' in text


def test_a_name_that_is_taken_is_not_used():
    source = "__device__ int load_no_allocate;\n" + SOURCE
    text = moved(several(source=source), "no_allocate").case.source
    assert "load_no_allocate2(&a[i])" in text


def test_what_was_rewritten_is_found_there():
    written = moved(several(), "no_allocate").case
    view = analyse_source(written)
    assert view.array("a").load_function == "load_no_allocate"
    again = rewrite(written, Placement.of({"a": "no_allocate"}), MACHINE, view)
    assert again.case.source == written.source
    back = rewrite(written, Placement.of({"a": "global"}), MACHINE, view)
    assert "load_no_allocate(&" not in back.case.source.split("extern")[1]


def test_an_array_that_the_kernel_writes():
    source = """
extern "C" __global__ void k(const float *a, const int2 *b, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = a[i];
    o[i] = o[i] + a[i] + b[i].x;
    o[i] = o[i] * 2.0f;
}
"""
    case = several(source=source)
    written = moved(case, "evict_last", "o")
    assert 'asm volatile("ld' in written.case.source
    expected = execute(compile_case(case), case.launch, named_case(case).inputs).output("o")
    found = execute(compile_case(written.case), case.launch, written.case.inputs).output("o")
    assert found.tobytes() == expected.tobytes()
