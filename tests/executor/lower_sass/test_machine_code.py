"""Machine code against PTX: the same outputs, and the same bytes of every array touched.

ptxas may merge equal accesses, so that bytes are touched less often, and leaves out components of
vector loads that nobody uses; it touches no others, and stores to the same.
"""

from dataclasses import replace

import numpy as np
import pytest
from both_engines import compare
from constructs import CONSTRUCTS, SCHEDULED
from hypothesis import HealthCheck, given, settings
from programs import kernels

from placewise.cases.library import load_case
from placewise.errors import ExecutionError, UnsupportedError
from placewise.executor import execute, translate
from placewise.executor.codegen.module import compile_program
from placewise.executor.lower_sass import program
from placewise.kernel.binary import machine_code
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import (
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
    TextureArgument,
)

ARCHS = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
FAST = ("sm_80", *(pytest.param(a, marks=pytest.mark.slow) for a in ARCHS if a != "sm_80"))
TEXTURES = {"textures"}
"""Constructs that use textures; they have tests of their own."""
CONTRACTED = {"bfloat16": 2**-4, "half": 2**-6}
"""Constructs in whose PTX ptxas may join products and sums, and how far that may take a result:
some units in the last place of 8 or 11 bits, more where the terms nearly cancel."""
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.fixture(autouse=True, scope="module")
def quick_code():
    """What is compared is the lowering, so code that is made fast will do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "compile_program", compile_program)
        yield


def argument(name, value):
    if isinstance(value, np.ndarray):
        return ArrayArgument(name, value)
    return value if isinstance(value, TextureArgument) else ScalarArgument(name, value)


def options_for(arch):
    """Volta is compiled for by the compilers of CUDA 12, the others by the default one."""
    return CompileOptions(arch=arch, **({"nvrtc": "12.9"} if arch == "sm_70" else {}))


@pytest.mark.parametrize("name", ["guards", "divisions", "warp_matches", "atomics"])
def test_volta_is_read_as_turing(name):
    source, launch, values, constants = CONSTRUCTS[name]
    kernel = compile_kernel(source, "construct.cu", "k", options_for("sm_70"))
    inputs = Inputs(tuple(argument(n, v) for n, v in values.items()), constants)
    assert not compare(kernel, Launch(*launch), inputs).different


@pytest.mark.parametrize("arch", FAST)
@pytest.mark.parametrize("name", sorted(set(CONSTRUCTS) - TEXTURES))
def test_constructs_agree(name, arch):
    source, launch, values, constants = CONSTRUCTS[name]
    if arch in ("sm_70", "sm_75") and "bf16" in source:
        pytest.skip(f"no bfloat16 on {arch}")
    if arch == "sm_70" and name == "cache_hints":
        pytest.skip("prefetch sizes came with sm_75")
    kernel = compile_kernel(source, "construct.cu", "k", options_for(arch))
    inputs = Inputs(tuple(argument(n, v) for n, v in values.items()), constants)
    found = compare(kernel, Launch(*launch), inputs)
    if name in CONTRACTED:
        assert found.worst <= CONTRACTED[name]
    else:
        assert not found.different
    if name not in SCHEDULED:
        assert not found.only_machine_code
        assert {kind for _, kind, _ in found.only_ptx} <= {"load"}


@pytest.mark.parametrize("arch", ["sm_80", *FAST[1:]])
@pytest.mark.parametrize("name", ["spmv", "matmul", "convolution-rows", "convolution-columns"])
def test_bundled_cases_agree(name, arch):
    case = load_case(name)
    wanted = options_for(arch)
    options = replace(case.options, arch=arch, nvrtc=wanted.nvrtc)
    kernel = compile_kernel(case.source, case.filename, case.kernel, options)
    outputs = [
        dict(execute(replace(kernel, machine_code=chosen), case.launch, case.inputs).outputs)
        for chosen in (False, True)
    ]
    for array, values in outputs[0].items():
        assert values.tobytes() == outputs[1][array].tobytes(), array


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
def test_random_kernels_agree(arch):
    @settings(relaxed, max_examples=60)
    @given(kernels(arch))
    def run(drawn):
        options = options_for(arch)
        kernel = compile_kernel(drawn.source, "random.cu", "k", options)
        if compare(kernel, drawn.launch, drawn.inputs, trace=False).different:
            # ptxas may join a product and a sum of PTX, such as one of those in a * b - c * d.
            options = replace(options, flags=("--fmad=false",))
            kernel = compile_kernel(drawn.source, "random.cu", "k", options)
            assert not compare(kernel, drawn.launch, drawn.inputs, trace=False).different

    run()


PRODUCTS = """
extern "C" __global__ void k(const double* x, double* y) {
    int i = threadIdx.x;
    y[i] = x[i] * x[i + 1] - x[i + 2] * x[i + 3];
}
"""


def test_joined_products_are_those_of_the_machine_code():
    x = np.random.default_rng(1).normal(size=67)
    inputs = Inputs((ArrayArgument("x", x), ArrayArgument("y", np.zeros(64))))
    launch = Launch((1, 1, 1), (64, 1, 1))
    joined, apart = (
        compile_kernel(PRODUCTS, "p.cu", "k", CompileOptions(arch="sm_80", flags=flags))
        for flags in ((), ("--fmad=false",))
    )
    assert compare(joined, launch, inputs, trace=False).different
    assert not compare(apart, launch, inputs, trace=False).different
    out = dict(execute(apart, launch, inputs).outputs)["y"]
    np.testing.assert_array_equal(out, x[:64] * x[1:65] - x[2:66] * x[3:67])


COUNTED = """
extern "C" __global__ void k(const int* a, int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i] * 3 + (a[i] >> 2) - blockIdx.x;
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_every_instruction_up_to_the_exit_is_counted(arch):
    kernel = compile_kernel(COUNTED, "counted.cu", "k", options_for(arch))
    a = np.arange(256, dtype=np.int32)
    inputs = Inputs((ArrayArgument("a", a), ArrayArgument("b", np.zeros_like(a))))
    run = execute(replace(kernel, machine_code=True), Launch((4, 1, 1), (64, 1, 1)), inputs)
    facts = program.read_cubin(kernel.cubin, "k")
    # Straight-line code: all that stands before the only EXIT, and that.
    (leave,) = facts.exits
    assert run.warp_instructions == 8 * (leave // 16 + 1)
    assert run.thread_instructions == 32 * run.warp_instructions
    loads = [site for site in run.sites if site.kind == "load" and site.space == "global"]
    assert [site.opcode.split(".")[0] for site in loads] == ["LDG"]
    assert loads[0].source_line == 4
    np.testing.assert_array_equal(run.output("b"), a * 3 + (a >> 2) - np.arange(256) // 64)


DRIVER = """#include <cassert>
extern "C" __global__ void k(int* out) {
    int i = threadIdx.x;
    int* p = (int*)malloc(8);
    p[0] = 3 * i;
    p[1] = 1;
    out[i] = p[0] + p[1];
    free(p);
    assert(i < 40);
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_functions_of_the_driver(arch):
    kernel = compile_kernel(DRIVER, "driver.cu", "k", CompileOptions(arch=arch))
    kernel = replace(kernel, machine_code=True)
    inputs = Inputs((ArrayArgument("out", np.zeros(64, np.int32)),))
    run = execute(kernel, Launch((1, 1, 1), (32, 1, 1)), inputs)
    np.testing.assert_array_equal(run.output("out")[:32], 3 * np.arange(32) + 1)
    with pytest.raises(ExecutionError, match=r"i ?< ?40.*thread \(40, 0, 0\)"):
        execute(kernel, Launch((1, 1, 1), (64, 1, 1)), inputs)


def changed(monkeypatch, old, new):
    """Make nvdisasm's answer another one."""
    real = machine_code.disassemble
    monkeypatch.setattr(
        machine_code, "disassemble", lambda cubin, flags: real(cubin, flags).replace(old, new)
    )
    # What was read before stays known for the other tests.
    monkeypatch.setattr(machine_code, "listing_of", machine_code.listing_of.__wrapped__)
    monkeypatch.setattr(program, "listing_of", machine_code.listing_of)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"LDG.E"', '"LDG.E.FUTURE"', "FUTURE"),
        ('"IMAD.WIDE"', '"IMAD.WIDE.FUTURE"', "FUTURE"),
        ('"IMAD.WIDE"', '"WONDER"', "WONDER"),
        ('"EXIT"', '"EXIT.FUTURE"', "FUTURE"),
        ("SR_CTAID.X", "SR_FUTURE", "SR_FUTURE"),
        ("c[0x0][0x160]", "c[0x0][0x44]", "0x44"),
    ],
)
def test_what_is_not_known_is_refused_before_anything_runs(monkeypatch, old, new, named):
    kernel = compile_kernel(COUNTED, "counted.cu", "k", CompileOptions(arch="sm_80"))
    # Translations are kept by kernel: one of another name is another one.
    kernel = replace(kernel, name=f"k with {new}")
    changed(monkeypatch, old, new)
    a = np.arange(64, dtype=np.int32)
    inputs = Inputs((ArrayArgument("a", a), ArrayArgument("b", a.copy())))
    with pytest.raises(UnsupportedError, match=named) as error:
        execute(replace(kernel, machine_code=True), Launch((1, 1, 1), (64, 1, 1)), inputs)
    assert "counted.cu:" in str(error.value)


def test_targets_and_kernels_without_machine_code_are_refused(monkeypatch):
    monkeypatch.setattr(program, "COVERED", tuple(t for t in program.COVERED if t != 88))
    kernel = compile_kernel(COUNTED, "counted.cu", "k", CompileOptions(arch="sm_88"))
    a = np.arange(64, dtype=np.int32)
    inputs = Inputs((ArrayArgument("a", a), ArrayArgument("b", a.copy())))
    launch = Launch((1, 1, 1), (64, 1, 1))
    with pytest.raises(UnsupportedError, match="sm_88"):
        execute(replace(kernel, machine_code=True), launch, inputs)
    with pytest.raises(UnsupportedError, match="no machine code"):
        execute(replace(kernel, machine_code=True, cubin=None), launch, inputs)


GUARDED = """
extern "C" __global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (a[i] > 0) a[i] = 0;
}
"""


def test_guards_are_counted_by_thread():
    """Of 96 threads 70 are in range and 20 of these store: guards hold in so many threads."""
    kernel = compile_kernel(GUARDED, "guarded.cu", "k", CompileOptions(arch="sm_75"))
    a = np.zeros(70, np.float32)
    a[::7] = a[1::7] = 1
    kernel = replace(kernel, machine_code=True)
    inputs = Inputs((ArrayArgument("a", a), ScalarArgument("n", np.int32(70))), ())
    run = execute(kernel, Launch((3, 1, 1), (32, 1, 1), 0), inputs)
    from placewise.kernel.binary.machine_code import machine_code

    opcodes = {i.offset: i for i in machine_code(kernel).instructions}
    counts = [(opcodes[c.place], c) for c in run.instruction_counts()]
    stores = [c.active for i, c in counts if i.parts[0] == "STG"]
    assert stores == [20]
    early, late = (c for i, c in counts if i.parts[0] == "EXIT" and i.guard is not None)
    assert (early.threads, early.active) == (96, 26)
    assert (late.threads, late.active) == (70, 50)
    assert all(c.active == c.threads for i, c in counts if i.guard is None)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
def test_half_of_a_word_that_the_driver_writes(arch):
    source = """extern "C" __global__ void f(int *y, int n) {
        short size = (short)blockDim.x;
        y[threadIdx.x] = 2 * size + (n < size);
    }"""
    kernel = compile_kernel(source, "half.cu", "f", CompileOptions(arch=arch))
    listing = machine_code.listing_of(kernel.cubin, "f")
    assert "LDC.U16" in {i.opcode for i in listing.instructions}
    inputs = Inputs((argument("y", np.zeros(64, np.int32)), argument("n", np.int32(3))))
    done = execute(replace(kernel, machine_code=True), Launch((1, 1, 1), (64, 1, 1)), inputs)
    assert (done.output("y") == 2 * 64 + 1).all()
