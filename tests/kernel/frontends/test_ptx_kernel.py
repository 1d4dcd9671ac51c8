"""PTX files as kernels."""

from pathlib import Path

import numpy as np
import pytest

from placewise import execute
from placewise.advisor import advise
from placewise.errors import CaseError, CompileError, UnsupportedError
from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.frontends.ptx_kernel import null_scratch, ptx_kernel, readable_name
from placewise.kernel.launch import Launch

SOURCE = """
namespace ns {
template <class T, int N> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a * N; }
}
template <bool B> __global__ void flag(int *x) { x[0] = B; }
struct Twice { __device__ int operator()(int v) const { return 2 * v; } };
template <class F> __global__ void apply(F f, int *x) { x[threadIdx.x] = f(x[threadIdx.x]); }
extern "C" __global__ void plain(int *x) { x[0] = 1; }
namespace { __global__ void hidden(int *x) { x[0] = 2; } }
__global__ void overloaded(int *x) { x[0] = 3; }
__global__ void overloaded(float *x) { x[0] = 4; }
"""
NAMES = (
    "ns::scale<float,4>", "ns::scale<double,2>", "flag<true>", "apply<Twice>", "plain", "hidden",
    "(void (*)(int *))overloaded",
)  # fmt: skip

BY_HAND = """
//
.version 7.0
.target sm_52
.address_size 64
.visible .entry twice(.param .u64 p, .param .f32 factor)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.f32 %f2, [%rd2];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd2], %f2;
    ret;
}
"""


@pytest.fixture(scope="module")
def module() -> tuple[str, dict[str, str]]:
    """PTX, and entries by the name they were asked for with."""
    kernels = compile_module(SOURCE, "names.cu", NAMES, CompileOptions())
    return kernels[0].ptx, {k.name: k.entry for k in kernels}


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("ns::scale<float, 4>", "ns::scale<float,4>"),
        ("ns::scale< double,2 >", "ns::scale<double,2>"),
        ("flag", "flag<true>"),
        ("flag<true>", "flag<true>"),
        ("void flag<true>(int*)", "flag<true>"),
        ("apply<Twice>", "apply<Twice>"),
        ("apply", "apply<Twice>"),
        ("plain", "plain"),
        ("hidden", "hidden"),
        ("(anonymous namespace)::hidden", "hidden"),
        ("overloaded(int *)", "(void (*)(int *))overloaded"),
    ],
)
def test_kernels_by_their_names_in_cuda(
    module: tuple[str, dict[str, str]], name: str, same: str
) -> None:
    text, entries = module
    kernel = ptx_kernel(text, name)
    assert kernel.entry == entries[same]
    assert kernel.name == name
    assert ptx_kernel(text, kernel.entry).entry == kernel.entry


def test_machine_code_is_that_of_the_source(module: tuple[str, dict[str, str]]) -> None:
    (compiled,) = compile_module(SOURCE, "names.cu", ("plain",), CompileOptions(arch="sm_86"))
    again = ptx_kernel(compiled.ptx, "plain")
    assert again.arch == "sm_86"
    assert again.registers == compiled.registers
    assert readable_name("_ZN2ns5scaleIfLi4EEEvPT_S1_") == "ns::scale<float, 4>"
    assert readable_name("plain") == "plain"


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "twice.ptx"
    path.write_text(BY_HAND)
    kernel = ptx_kernel(path)
    assert (kernel.name, kernel.filename) == ("twice", str(path))
    # There is machine code for no target as old as the PTX's.
    assert kernel.arch == "sm_75"
    memory = DeviceMemory()
    x = memory.upload("x", np.arange(8, dtype=np.float32))
    memory.launch(kernel, Launch((1, 1, 1), (8, 1, 1)), [x, np.float32(2)])
    assert np.array_equal(x.download(), 2 * np.arange(8))
    assert ptx_kernel(BY_HAND, arch="sm_90").arch == "sm_90"


@pytest.mark.parametrize(
    ("text", "name", "arch", "message"),
    [
        (BY_HAND, "once", None, r"t.ptx: the PTX has no kernel 'once'\n  hint: kernels: twice"),
        (
            BY_HAND.replace(".entry", ".func"),
            None,
            None,
            r"t.ptx: the PTX has no kernel \(.entry\)",
        ),
        (BY_HAND.replace(".version 7.0", ""), None, None, "t.ptx: no PTX: it has no .version"),
        ("int main()\n{}", None, None, r"t.ptx \(PTX line 1\): unexpected 'int' in PTX"),
        (BY_HAND.replace("sm_52", "sm_99x"), None, None, "the PTX is for 'sm_99x', not for a GPU"),
        (BY_HAND.replace(".target sm_52", ""), None, None, r"the PTX has no \.target"),
        (
            BY_HAND.replace("sm_52", "sm_90"),
            None,
            "sm_80",
            "is for sm_90, it does not run on sm_80",
        ),
        (BY_HAND.replace("sm_52", "sm_90a"), None, "sm_100", "is for sm_90a, it does not run on"),
        (BY_HAND, None, "ampere", "there is no target 'ampere'"),
        (BY_HAND[: BY_HAND.index("mad.wide")], None, None, r"PTX line 13\): .* is never closed"),
    ],
)
def test_what_is_no_such_kernel(
    text: str, name: str | None, arch: str | None, message: str
) -> None:
    with pytest.raises(CaseError, match=message):
        ptx_kernel(text, name, filename="t.ptx", arch=arch)


TRITON = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry double_kernel(
\t.param .u64 .ptr .global .align 1 double_kernel_param_0,
\t.param .u32 double_kernel_param_1,
\t.param .u64 .ptr .global .align 1 double_kernel_param_2,
\t.param .u64 .ptr .global .align 1 double_kernel_param_3
)
.reqntid 128
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [double_kernel_param_0];
    ld.param.u32 %r1, [double_kernel_param_1];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 128, %r3;
    setp.ge.s32 %p1, %r4, %r1;
    @%p1 bra END;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f1, %f1, %f1;
    st.global.f32 [%rd4], %f1;
END:
    ret;
}
"""
"""In the manner of Triton for an H100: two pointers to scratch memory come last."""


def test_a_target_with_a_suffix_runs_on_its_own_number() -> None:
    assert ptx_kernel(TRITON, arch="sm_90").arch == "sm_90a"
    assert ptx_kernel(TRITON).arch == "sm_90a"
    for arch in ("sm_80", "sm_100", "sm_120"):
        with pytest.raises(CaseError, match=f"is for sm_90a, it does not run on {arch}"):
            ptx_kernel(TRITON, arch=arch)


def test_scratch_pointers_that_are_not_used_are_null() -> None:
    assert null_scratch(TRITON, None, "t.ptx", 2) == 2
    assert null_scratch(TRITON, "double_kernel", "t.ptx", 3) == 1
    assert null_scratch(TRITON, None, "t.ptx", 4) == 0
    # Three are too many, and a number is no pointer.
    assert null_scratch(TRITON, None, "t.ptx", 1) == 0
    number = TRITON.replace(".u64 .ptr .global .align 1 double_kernel_param_3", ".u32 param_3")
    assert null_scratch(number, None, "t.ptx", 3) == 0
    used = TRITON.replace(
        "ld.param.u32", "ld.param.u64 %rd5, [double_kernel_param_3];\n    ld.param.u32"
    )
    assert null_scratch(used, None, "t.ptx", 2) == 0


def test_a_case_of_triton_runs_and_is_advised_on_without_scratch_pointers() -> None:
    x = np.arange(1000, dtype=np.float32)
    case = make_case("", TRITON, [x, np.int32(1000)], block=128, grid=8, name="double")
    assert case.options.arch == "sm_90a"
    (one,) = (values for name, values in execute(case).execution.outputs if name == "argument1")
    assert np.array_equal(one, 2 * x)
    assert advise(case, "H100", finalists=1).present.timed.ms > 0
    with pytest.raises(CaseError, match="sm_90a, it does not run on sm_80"):
        advise(case, "A100")
    with pytest.raises(CaseError, match="argument"):
        execute(make_case("", TRITON, [x], block=128, grid=8, name="double"))


def test_what_the_assembler_refuses_is_told_with_its_line() -> None:
    wrong = BY_HAND.replace("mul.f32 %f2, %f2, %f1", "mul.f32 %f2, %f2, %rd1")
    line = wrong.split("\n").index("    mul.f32 %f2, %f2, %rd1;") + 1
    with pytest.raises(CompileError) as caught:
        ptx_kernel(wrong, filename="t.ptx")
    assert caught.value.where == f"t.ptx:{line}"
    with pytest.raises(UnsupportedError, match="32-bit addresses"):
        ptx_kernel(BY_HAND.replace("size 64", "size 32"), filename="t.ptx")
    with pytest.raises(CaseError, match="no such file"):
        ptx_kernel("nowhere.ptx")


def test_several_kernels_and_no_name(module: tuple[str, dict[str, str]]) -> None:
    with pytest.raises(CaseError, match=r"8 kernels, and none is named\n  hint: .*overloaded\(int"):
        ptx_kernel(module[0])
    with pytest.raises(CaseError, match=r"'ns::scale' may be any of 2 kernels"):
        ptx_kernel(module[0], "ns::scale")
