"""Headers that decide how often, and how long, a source is compiled."""

import re

import pytest

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, compiler_version, device_source
from placewise.kernel.host_code.known_headers import FEW_HEADERS
from placewise.kernel.toolchain.nvrtc_library import NvrtcLibrary

GROUPS = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void total(const float *a, float *out, int n) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    float sum = 0;
    for (int i = warp.thread_rank(); i < n; i += warp.size()) sum += a[blockIdx.x * n + i];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) out[blockIdx.x] = sum;
}
"""
HOST = "void launch(float *a) { total<<<1, 32>>>(a, a, 1); }\n"


@pytest.fixture
def compiled(monkeypatch):
    """The options of each compilation, in order."""
    made = []
    compile_text = NvrtcLibrary.compile

    def noting(library, text, *more, flags, **options):
        made.append(tuple(flags))
        return compile_text(library, text, *more, flags=flags, **options)

    monkeypatch.setattr(NvrtcLibrary, "compile", noting)
    return made


def _code(kernel):
    """The kernel's own PTX, without the places of its source lines."""
    start = kernel.ptx.index(f".entry {kernel.entry}(")
    return re.sub(r"\n\s*\.loc.*", "", kernel.ptx[start : kernel.ptx.index("\n}", start)])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("text", [GROUPS, GROUPS + HOST], ids=["kernel", "application"])
def test_cooperative_groups_come_without_the_library_and_make_the_same_code(text, arch, compiled):
    # A mention of the library, in a comment, brings it back.
    few = compile_kernel(text, "few.cu", "total", CompileOptions(arch=arch))
    assert any(FEW_HEADERS in flag for flag in compiled[-1])
    all_of_it = compile_kernel(
        text + "// cuda::std\n", "all.cu", "total", CompileOptions(arch=arch)
    )
    assert not any(FEW_HEADERS in flag for flag in compiled[-1])
    assert _code(few) == _code(all_of_it)
    assert len(few.ptx) < len(all_of_it.ptx)


def test_a_source_that_needs_what_groups_include_gets_it(compiled):
    # numeric_limits of the host's library comes with CUDA's own, whose name stands nowhere.
    needs = GROUPS.replace("float sum = 0;", "float sum = LIMITS<float>::min();")
    needs = (
        "#define JOINED(a, b) a##b\n#define LIMITS JOINED(cu, da)::std::numeric_limits\n" + needs
    )
    kernel = compile_kernel(needs, "needs.cu", "total", CompileOptions())
    assert kernel.entry.startswith("_Z5total")
    assert any(FEW_HEADERS in flag for flag in compiled[0])
    assert not any(FEW_HEADERS in flag for flag in compiled[-1])


def test_a_header_that_is_nowhere_costs_no_compilation(tmp_path, compiled):
    (tmp_path / "common.h").write_text(
        "#ifndef COMMON_H\n#define COMMON_H\n#include <cublas_v2.h>\n#define TWO 2\n#endif\n"
    )
    text = '#include <stdio.h>\n#include "common.h"\n__global__ void f(int *a) { a[0] = TWO; }\n'
    path = str(tmp_path / "source.cu")
    compile_kernel(text + 'void host() { printf(""); }\n', path, "f", CompileOptions())
    assert len(compiled) == 1


def test_headers_under_a_condition_that_does_not_hold_change_nothing_else(tmp_path):
    (tmp_path / "own.h").write_text("#define ONE 1\n")
    text = (
        "#ifdef WITH_CUDNN\n#include <cudnn.h>\n#endif\n#include <limits>\n"
        '#include "own.h"\nvoid host() {}\n'
        "__global__ void f(int *a) { a[0] = ONE + std::numeric_limits<int>::max(); }\n"
    )
    path = str(tmp_path / "source.cu")
    kept = device_source(text, path, "f", CompileOptions()).text
    assert "cudnn.h" not in kept
    assert "#include <limits>" in kept


@pytest.mark.parametrize(
    ("used", "header"),
    [
        ("std::numeric_limits<int>::max()", "limits"),
        ("std::max(1, 2)", "algorithm"),
        ("std::make_pair(1, 2).second", "utility"),
        ("std::is_same<int, float>::value", "type_traits"),
    ],
)
def test_what_host_headers_bring_along_needs_no_full_library(used, header, tmp_path):
    text = (
        f"#include <iostream>\nvoid host() {{}}\n__global__ void f(int *a) {{ a[0] = {used}; }}\n"
    )
    device = device_source(text, str(tmp_path / "source.cu"), "f", CompileOptions())
    assert header in device.preincludes
    assert "PLACEWISE_FULL_STD" not in dict(device.defines)


def test_helpers_of_the_host_in_an_include_path_are_left_out_with_what_they_include(tmp_path):
    helpers = tmp_path / "Common"
    helpers.mkdir()
    (helpers / "helper_string.h").write_text("#include <fstream>\ninline int a() { return 1; }\n")
    (helpers / "helper_image.h").write_text("#include <helper_string.h>\n")
    (helpers / "helper_cuda.h").write_text("#pragma once\n#include <helper_image.h>\n")
    text = (
        "#include <cuda_runtime.h>\n#include <helper_cuda.h>\n#include <helper_string.h>\n"
        "__global__ void f(int *a) { a[0] = 1; }\nint main() { return a(); }\n"
    )
    options = CompileOptions(include_paths=(helpers,))
    kept = device_source(text, str(tmp_path / "source.cu"), "f", options).text
    assert "helper" not in kept
    assert "#include <cuda_runtime.h>" in kept


def test_a_source_that_asks_for_the_version_of_cuda_is_told_the_compilers(tmp_path):
    text = (
        "#include <cuda.h>\nvoid host() { cuInit(0); }\n__global__ void f(int *a) {\n"
        "#if CUDA_VERSION >= 12000\n a[0] = 1;\n#else\n missing(a);\n#endif\n}\n"
    )
    path = str(tmp_path / "source.cu")
    told = dict(device_source(text, path, "f", CompileOptions()).defines)
    major, minor = compiler_version().split(".")[:2]
    assert told["CUDA_VERSION"] == f"{major}{int(minor):02}0"
    own = CompileOptions(defines=(("CUDA_VERSION", "12345"),))
    assert "CUDA_VERSION" not in dict(device_source(text, path, "f", own).defines)
    without = text.replace("#include <cuda.h>\n", "").replace("missing(a)", "a[0] = 2")
    assert "CUDA_VERSION" not in dict(device_source(without, path, "f", CompileOptions()).defines)
