"""Standard headers behind which ordinary kernels hide."""

from pathlib import Path

import numpy as np
import pytest

from placewise.errors import CompileError, ExecutionError
from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, device_source
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

HEADERS = sorted(
    p.name
    for p in (Path(__file__).parents[3] / "src/placewise/kernel/host_code/headers").iterdir()
    if p.name != "placewise_implicit.h"
)
LIBRARY = "algorithm array cfloat climits cmath cstddef cstdint cstdlib limits type_traits utility"
PLAIN = "__global__ void plain(float *a) { a[threadIdx.x] = 1; }\n"
EMPTY = CompileOptions()


def run(source, dtype, lanes=1, **options):
    kernel = compile_kernel(source, "case.cu", "k", CompileOptions(**options))
    out = np.zeros(lanes, dtype)
    result = execute(kernel, Launch((1, 1, 1), (lanes, 1, 1)), Inputs((ArrayArgument("out", out),)))
    return result.output("out")


def test_every_header_is_found_and_all_go_together():
    source = "".join(f"#include <{name}>\n" for name in HEADERS)
    compile_kernel(source + PLAIN, "case.cu", "plain", EMPTY)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY.split())
@pytest.mark.parametrize("full", [False, True])
def test_headers_agree_with_the_library_of_cuda(name, full):
    defines = (("PLACEWISE_FULL_STD", "1"),) if full else ()
    both = f"#include <{name}>\n#include <cuda/std/{name}>\n"
    other = f"#include <cuda/std/{name}>\n#include <{name}>\n"
    for source in (both, other):
        compile_kernel(source + PLAIN, "case.cu", "plain", CompileOptions(defines=defines))


@pytest.mark.parametrize("std", ["c++11", "c++17", "c++20"])
def test_limits_are_those_of_numpy(std):
    names = [f"{u}{w}" for w in ("int8", "int16", "int32", "int64") for u in ("", "u")]
    expected, code = [], []
    for name in names:
        info = np.iinfo(name)
        expected += [info.min, info.max]
        c_type = f"{name}_t"
        code += [f"std::numeric_limits<{c_type}>::min()", f"std::numeric_limits<{c_type}>::max()"]
    for macro, dtype in (("CHAR", "int8"), ("SHRT", "int16"), ("INT", "int32"), ("LONG", "int64")):
        expected += [np.iinfo(dtype).min, np.iinfo(dtype).max]
        code += [f"{macro}_MIN", f"{macro}_MAX"]
    expected += [np.iinfo("uint32").max, np.iinfo("uint64").max, np.iinfo("int64").max]
    code += ["UINT_MAX", "ULONG_MAX", "INT64_MAX"]
    lines = "".join(f"    out[{i}] = (unsigned long long)({c});\n" for i, c in enumerate(code))
    source = (
        "#include <limits>\n#include <climits>\n#include <cstdint>\n"
        f'extern "C" __global__ void k(unsigned long long *out) {{\n{lines}}}\n'
    )
    kernel = compile_kernel(source, "case.cu", "k", CompileOptions(std=std))
    inputs = Inputs((ArrayArgument("out", np.zeros(len(code), "uint64")),))
    found = execute(kernel, Launch((1, 1, 1), (1, 1, 1)), inputs).output("out")
    assert found.tolist() == [int(v) % 2**64 for v in expected]


@pytest.mark.parametrize("std", ["c++11", "c++14", "c++17", "c++20"])
@pytest.mark.parametrize("name", LIBRARY.split())
def test_headers_compile_without_the_full_library(name, std):
    host = "void host() {}\n"
    source = f"#include <{name}>\n{host}{PLAIN}"
    device = device_source(source, "case.cu", "plain", CompileOptions(std=std))
    assert f"#include <{name}>" in device.text
    assert "PLACEWISE_FULL_STD" not in dict(device.defines)


@pytest.mark.parametrize("std", ["c++14", "c++17"])
def test_facts_of_real_numbers_are_those_of_numpy(std):
    members = ("max", "min", "lowest", "epsilon", "infinity", "quiet_NaN", "denorm_min")
    code = [f"std::numeric_limits<float>::{m}()" for m in members]
    code += ["FLT_MAX", "FLT_MIN", "FLT_EPSILON", "HUGE_VALF", "INFINITY", "(float)M_PI"]
    f = np.finfo(np.float32)
    expected = [f.max, f.tiny, f.min, f.eps, np.inf, np.nan, f.smallest_subnormal]
    expected += [f.max, f.tiny, f.eps, np.inf, np.inf, np.pi]
    lines = "".join(f"    out[{i}] = {c};\n" for i, c in enumerate(code))
    source = f"#include <limits>\n#include <math.h>\n__global__ void k(float *out) {{\n{lines}}}\n"
    found = run(source, np.float32, len(code), std=std)
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


def test_functions_of_std_compute_what_they_say():
    source = """\
#include <algorithm>
#include <cmath>
#include <utility>
using namespace std;
__global__ void k(float *out) {
    out[0] = std::min(3.f, 2.f);
    out[1] = std::max<float>(3, 2);
    out[2] = std::clamp(7.f, 0.f, 5.f);
    out[3] = std::abs(-1.5f) + std::sqrt(4.f) + fabsf(-2.f);
    float a = 1, b = 2;
    std::swap(a, b);
    out[4] = a;
    auto p = std::make_pair(3.f, 4);
    out[5] = p.first * p.second;
    out[6] = max(2, 3) + pow(2.f, 3.f);
}
"""
    found = run(source, np.float32, 7)
    np.testing.assert_allclose(found, [2, 3, 5, 5.5, 2, 12, 11], rtol=1e-6)


def test_a_type_trait_selects_code():
    source = """\
#include <type_traits>
template <class T>
__device__ std::enable_if_t<std::is_floating_point_v<T>, int> kind(T) { return 1; }
template <class T>
__device__ std::enable_if_t<std::is_integral<T>::value, int> kind(T) { return 2; }
static_assert(std::is_same<std::remove_cv_t<const volatile int>, int>::value, "");
static_assert(std::is_unsigned_v<unsigned> && !std::is_signed_v<const unsigned>, "");
static_assert(std::is_signed_v<const int> && std::is_pointer_v<int *const>, "");
__global__ void k(int *out) { out[0] = kind(1.f); out[1] = kind(1u); }
"""
    assert run(source, np.int32, 2).tolist() == [1, 2]


def test_a_failed_assertion_stops_the_kernel():
    source = (
        "#include <cassert>\n"
        "__global__ void k(int *out) {{ assert(threadIdx.x < {}); out[0] = 1; }}"
    )
    assert run(source.format(4), np.int32, 4)[0] == 1
    with pytest.raises(ExecutionError, match="assert"):
        run(source.format(3), np.int32, 4)


@pytest.mark.slow
def test_what_the_small_headers_lack_comes_from_the_library_of_cuda():
    source = """\
#include <tuple>
#include <numeric>
__global__ void k(int *out) {
    std::tuple<int, float> t(3, 4.f);
    out[0] = std::get<0>(t) + std::gcd(12, 18);
}
"""
    assert run(source, np.int32)[0] == 9


def test_a_header_of_the_user_wins(tmp_path: Path):
    (tmp_path / "limits").write_text("#define OF_THE_USER 1\n")
    (tmp_path / "iostream").write_text("#define NUMBER 5\n")
    source = (
        "#include <limits>\n#include <iostream>\n#ifndef OF_THE_USER\n#error the other\n#endif\n"
        "__global__ void k(int *out) { out[0] = NUMBER; }\nint main() { return 0; }\n"
    )
    assert run(source, np.int32, include_paths=(tmp_path,))[0] == 5


def test_every_header_serves_old_standards():
    source = "".join(f"#include <{name}>\n" for name in HEADERS)
    compile_kernel(source + PLAIN, "case.cu", "plain", CompileOptions(std="c++11"))


def test_an_unknown_header_is_missed():
    with pytest.raises(CompileError, match="of_nobody"):
        compile_kernel("#include <of_nobody.h>\n" + PLAIN, "case.cu", "plain", EMPTY)
