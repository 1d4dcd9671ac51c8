from pathlib import Path

import pytest

from placewise.errors import CaseError, CompileError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.kernel_from import kernel_from
from placewise.kernel.frontends.nvrtc import compile_kernel, supported_archs
from placewise.kernel.frontends.nvrtc_options import parse_options
from placewise.kernel.target import target_for

SCALE = """\
template <typename T>
__global__ void scale(T* a, T s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= s;
}
__global__ void shared_sum(float* a) {
    __shared__ float s[96];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[95 - threadIdx.x];
}
"""


def compile_text(source, kernel, **options):
    return compile_kernel(source, "scale.cu", kernel, CompileOptions(**options))


def test_a_template_instance_is_compiled_to_its_mangled_entry():
    kernel = compile_text(SCALE, "scale<double>")
    assert kernel.entry == "_Z5scaleIdEvPT_S0_i"
    assert f".entry {kernel.entry}(" in kernel.ptx
    assert kernel.registers is not None
    assert 4 <= kernel.registers <= 255


def test_static_shared_memory_is_read_from_the_machine_code():
    assert compile_text(SCALE, "shared_sum", arch="sm_80").static_shared_bytes == 96 * 4


@pytest.mark.parametrize("arch", [f"sm_{a}" for a in supported_archs()])
def test_every_supported_target_compiles(arch):
    assert f".target {arch}" in compile_text(SCALE, "shared_sum", arch=arch).ptx


def test_an_unknown_kernel_is_named_with_those_that_exist():
    with pytest.raises(CaseError) as caught:
        compile_text(SCALE, "shared_mus")
    assert caught.value.where == "scale.cu"
    assert "shared_sum" in (caught.value.hint or "")


def test_a_template_without_arguments_is_an_unknown_kernel():
    with pytest.raises(CaseError, match="no kernel named 'scale'"):
        compile_text(SCALE, "scale")


def test_a_source_error_carries_file_and_line():
    with pytest.raises(CompileError) as caught:
        compile_text("__global__ void f(int* a)\n{\n  a[0] = b;\n}\n", "f")
    assert caught.value.where == "scale.cu:3"
    assert '"b" is undefined' in caught.value.message


def test_a_missing_header_gets_a_hint_about_include_paths():
    with pytest.raises(CompileError) as caught:
        compile_text('#include "nothing_here.h"\n' + SCALE, "shared_sum")
    assert "include path" in (caught.value.hint or "")


def test_defines_includes_and_standard_reach_the_compiler(tmp_path: Path):
    (tmp_path / "two.h").write_text("#define TWO 2\n")
    source = (
        "#include <two.h>\n#include <cooperative_groups.h>\n#include <cuda/std/array>\n"
        "static_assert(TWO * N == 14 && __cplusplus >= 202002L);\n"
        "__global__ void f(float* a) { a[0] = N; }\n"
    )
    compile_text(source, "f", defines=(("N", "7"),), include_paths=(tmp_path,), std="c++20")


def test_an_include_path_that_does_not_exist_is_refused(tmp_path: Path):
    with pytest.raises(CaseError) as caught:
        compile_text(SCALE, "shared_sum", include_paths=(tmp_path / "gone",))
    assert caught.value.where == "include"


def test_an_unknown_target_is_refused():
    with pytest.raises(CaseError, match="sm_35"):
        compile_text(SCALE, "shared_sum", arch="sm_35")


def test_targets_of_machines():
    assert target_for((8, 0)) == ("sm_80", None)
    arch, note = target_for((3, 5))
    assert arch == f"sm_{min(supported_archs())}"
    assert "sm_35" in (note or "")
    arch, note = target_for((12, 9))
    assert int(arch.removeprefix("sm_")) <= 129
    assert note is not None


def test_compiling_leaves_python_s_own_objects_alone():
    compile_text(SCALE, "shared_sum")
    assert bytes([32]) == b"\x20"


@pytest.mark.parametrize("flag", ["-default-device", "--device-as-default-execution-space"])
def test_functions_of_no_space_are_the_devices_where_a_flag_says_so(flag):
    source = """float twice(float x) { return x + x; }
    extern "C" __global__ void f(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }"""
    options = parse_options([flag], arch="sm_80", where="here")
    assert compile_kernel(source, "f.cu", "f", options).entry == "f"


@pytest.mark.parametrize(
    "source",
    [
        "template <class T> __global__ void f(T *a) { *a = 1; }",
        "namespace inner { __global__ void f(int *a) { *a = 1; } }",
        "__global__ void f(int *a) { *a = 1; }\n__global__ void f(float *a) { *a = 1; }",
        "#ifdef NEVER\n__global__ void f(int *a) { *a = 1; }\n#endif",
    ],
)
def test_a_kernel_that_the_name_alone_does_not_mean(source):
    with pytest.raises(CaseError, match="no kernel named 'f'") as caught:
        compile_kernel(source, "f.cu", "f", CompileOptions())
    hint = caught.value.hint or ""
    assert all(word in hint for word in ("'f<float>'", "'space::f'", "more than once", "condition"))


@pytest.mark.parametrize("name", ["exp", "pow", "max", "abs"])
def test_a_kernel_may_be_called_like_a_function_of_the_library(name):
    source = f"__global__ void {name}(float *x) {{ x[0] = sqrtf(x[0]); }}"
    options = CompileOptions(arch="sm_80")
    assert compile_kernel(source, "f.cu", name, options).entry == f"_Z{len(name)}{name}Pf"


def test_a_kernel_in_a_namespace_is_found_beside_a_declaration_with_other_parameters():
    source = """namespace space {
        __global__ void f(float *x); __global__ void f(int *x) { *x = 1; }
        __global__ void fI(int *x) { *x = 1; }
    }"""
    options = CompileOptions(arch="sm_80")
    assert compile_kernel(source, "f.cu", "space::f", options).entry == "_ZN5space1fEPi"


class TestWhatTheCompilerFailsOn:
    """Sources on which NVIDIA's compiler itself ends."""

    MISSING = (
        "template <class T>\n"
        "__global__ void k(missing::Accessor<T, 2> a, T *o) {\n    o[0] = a[0];\n}\n"
    )

    def test_an_undeclared_name_is_shown_with_its_line(self):
        with pytest.raises(CompileError, match=r"<k-float>:2: .*'missing'"):
            kernel_from(self.MISSING, "k<float>")

    def test_where_nothing_is_found_both_causes_are_named(self, monkeypatch):
        nothing = "placewise.kernel.view.tree.first_error.first_error"
        monkeypatch.setattr(nothing, lambda *_: None)
        with pytest.raises(CompileError, match="itself failed") as caught:
            kernel_from(self.MISSING, "k<float>")
        assert "before it is declared" in str(caught.value)
        assert "very long" in str(caught.value)
