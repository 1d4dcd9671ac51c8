"""One-dimensional shared arrays of the source itself with unused elements in between."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.staging.own_elements import OwnElements, own_elements
from placewise.kernel.view.staging.own_rows import OwnRows
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.rewriter.own.padding import pad, paddable
from placewise.rewriter.own.spread_elements import spread_elements

SCAN = """
__global__ void scan(const int *in, int *out, int n) {
    __shared__ int temp[256];
    int t = threadIdx.x, offset = 1;
    in += blockIdx.x * n, out += blockIdx.x * n;
    temp[2 * t] = in[2 * t];
    temp[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) temp[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, x = temp[left];
            temp[left] = temp[right];
            temp[right] += x;
        }
    }
    __syncthreads();
    out[2 * t] = temp[2 * t];
    out[2 * t + 1] = temp[2 * t + 1];
}
"""
DECLARED = "__shared__ int temp[256];"
DYNAMIC = "extern __shared__ int temp[];"


def scan(source=SCAN, n=256, dtype=np.int32, kernel="scan", dynamic_bytes=0):
    data = np.random.default_rng(n).integers(0, 100, (4, n)).astype(dtype)
    arguments = [data, np.zeros_like(data), np.int32(n)]
    return make_case(kernel, source, arguments, block=n // 2, grid=4, shared_bytes=dynamic_bytes)


def spread(case, name="temp"):
    return spread_elements(case, analyse_source(case), own_elements(case, name))


def result(case):
    named, checker = named_case(case), Checker()
    found = execute(
        compile_case(named), named.launch, named.inputs, check=checker, with_buffers=True
    )
    assert checker.clean, checker.findings
    return found.output("out")


def scanned(case):
    data = named_case(case).inputs.arrays[0].data
    return np.cumsum(data, axis=1) - data


def wavefronts(case):
    """Wavefronts of all accesses to shared memory on an A100."""
    named = named_case(case)
    run = simulate_launch(compile_case(case), named.launch, named.inputs, load_machine("A100"))
    return sum(s.wavefronts for s in run.traffic.sites if s.site.space == "shared")


@pytest.mark.parametrize("n", [256, 64, 2])
def test_the_scan_computes_the_same_for_other_lengths(n):
    after = spread(scan()).case
    assert "temp[256 + 256 / 32];" in after.source
    assert "temp[spread(2 * t + 1)] = in[2 * t + 1];" in after.source
    other = scan(n=n)
    changed = replace(other, source=after.source)
    np.testing.assert_array_equal(result(changed), scanned(other))


def test_fewer_lanes_meet_in_a_bank():
    assert wavefronts(spread(scan()).case) < 0.6 * wavefronts(scan())


def test_dynamic_memory_grows_with_the_array():
    told = "/* extern __shared__ memory; */ "
    case = scan(SCAN.replace(DECLARED, told + DYNAMIC), dynamic_bytes=1024)
    found = spread(case)
    assert found.case.launch.shared_bytes == 1024 + 32
    assert "temp[];" in found.case.source
    assert "1056 bytes of dynamic shared memory instead of 1024" in found.host
    np.testing.assert_array_equal(result(found.case), scanned(case))


def test_a_file_that_launches_with_less_memory_is_refused():
    source = (
        SCAN.replace(DECLARED, DYNAMIC) + "void go(int *a) { scan<<<4, 128, 1024>>>(a, a, 256); }"
    )
    with pytest.raises(UnsupportedError, match="launches in this file do not ask"):
        spread(scan(source, dynamic_bytes=1024))


@pytest.mark.parametrize(
    ("dtype", "type_", "text"),
    [
        (np.float64, "double", "(at >> 4)"),
        (np.int16, "short", "(at >> 6) * 2"),
        (np.uint8, "unsigned char", "(at >> 7) * 4"),
    ],
)
def test_elements_of_other_sizes_fill_a_row_of_banks(dtype, type_, text):
    source = SCAN.replace("int *in, int *out", f"{type_} *in, {type_} *out")
    source = source.replace(DECLARED, f"__shared__ {type_} temp[512 + 0];")
    case = scan(source, dtype=dtype)
    after = spread(case).case
    assert f"return at + {text};" in after.source
    np.testing.assert_array_equal(result(after), result(case))


def test_indices_within_indices_and_arguments_of_macros():
    source = SCAN.replace("__syncthreads();\n    out", (
        "__syncthreads();\n    SWAP(temp[temp[t] * 0 + t], temp[t + 128])\n"
        "    __syncthreads();\n    atomicAdd(&temp[t], 1); --temp[t];\n"
        "    __syncthreads();\n    out"
    ))  # fmt: skip
    source = "#define SWAP(a, b) { int c = a; a = b; b = c; }\n" + source
    case = scan(source)
    after = spread(case).case
    assert "SWAP(temp[spread(temp[spread(t)] * 0 + t)], temp[spread(t + 128)])" in after.source
    np.testing.assert_array_equal(result(after), result(case))


def test_a_block_of_c_functions_may_hold_the_kernel():
    case = scan('extern /* C */ "C" // functions\n{' + SCAN + "}")
    np.testing.assert_array_equal(result(spread(case).case), scanned(case))


def test_indices_with_commas_and_macros_named_as_the_function_s_own_names():
    source = "#define T int\n#define at 5\n#define N 128 << 1\n" + SCAN
    source = source.replace("temp[256]", "temp[N]").replace("temp[n - 1] =", "temp[t, n - 1] =")
    case = scan(source)
    after = spread(case).case
    assert "temp[(N) + (N) / 32];" in after.source
    assert "temp[spread((t, n - 1))] = 0;" in after.source
    np.testing.assert_array_equal(result(after), scanned(case))


def test_an_array_that_does_not_fit_is_refused():
    with pytest.raises(UnsupportedError, match="50688 bytes of static shared memory"):
        spread(scan(SCAN.replace("[256]", "[12288]")))


@pytest.mark.parametrize(
    "other",
    [
        "extern __shared__ int other[];",
        "struct M { __device__ operator int *() { extern __shared__ int m[]; return m; } };",
        "struct M { int *p; __device__ M() { extern __shared__ int m[]; p = m; } };",
    ],
)
def test_dynamic_memory_that_the_file_names_elsewhere_is_refused(other):
    source = f"{other}\n" + SCAN.replace(DECLARED, DYNAMIC)
    with pytest.raises(UnsupportedError, match="another array of the file may begin"):
        spread(scan(source, dynamic_bytes=1024))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (DECLARED, DYNAMIC + ' asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(n));', "may ask how"),
        (DECLARED, "SHARED temp[];", "another array of the file"),
        ("temp[n - 1] = 0", "temp[n - 1 // last\n] = 0", "comment or directive"),
        ("temp[n - 1] = 0", "temp[\n#if 1\nn - 1\n#endif\n] = 0", "comment or directive"),
        ("if (t == 0)", "const int &r = temp[0]; out[0] = (&r)[t]; if (t == 0)", "passed on"),
        ("temp[n - 1] = 0", "*(temp + n - 1) = 0", "used as a pointer"),
        ("temp[n - 1] = 0", "*(int2 *)&temp[n - 2] = int2()", "passed on"),
        ("temp[n - 1] = 0", "LAST(n) = 0", "inside a macro"),
        ("temp[n - 1] = 0", "temp[sizeof(temp) / 4 - 1] = 0", "used as a pointer"),
        (
            "    if (t == 0) temp[n - 1]",
            "#if __CUDA_ARCH__ < 700\n    temp[0]++;\n#endif\n    if (t == 0) temp[n - 1]",
            "another use of the name in line",
        ),
        (DECLARED, "typedef int Temp[256]; __shared__ Temp temp;", "not declared as"),
        (DECLARED, DYNAMIC + " extern __shared__ int more[]; more[0] = 0;", "begins where it does"),
    ],
)
def test_other_uses_are_refused(old, new, reason):
    source = "#define SHARED extern __shared__ int\n" if "SHARED" in new else ""
    source += "#define LAST(n) temp[n - 1]\n" + SCAN.replace(old, new)
    case = scan(source, dynamic_bytes=2048)
    with pytest.raises(UnsupportedError, match=f"cannot be spread.*{reason}"):
        own_elements(case, "temp")


def test_an_array_of_two_dimensions_has_rows_instead():
    case = scan(SCAN.replace(DECLARED, DECLARED + " __shared__ int grid[4][4]; grid[0][0] = n;"))
    with pytest.raises(UnsupportedError, match="not one dimension of fixed size"):
        own_elements(case, "grid")


def test_an_array_of_one_row_of_banks_is_refused():
    case = scan(SCAN.replace("[256]", "[32]"), n=32)
    with pytest.raises(UnsupportedError, match="no more than 32 elements"):
        spread(case)


def test_arrays_of_any_dimension_are_padded_in_their_way():
    case = scan(
        SCAN.replace(DECLARED, DECLARED + " __shared__ int grid[4][64]; grid[0][n & 63] = 0;")
    )
    view = analyse_source(case)
    assert isinstance(paddable(case, view, "temp"), OwnElements)
    assert isinstance(paddable(case, view, "grid"), OwnRows)
    assert "grid[4][64 + 1]" in pad(case, view, paddable(case, view, "grid")).case.source
    with pytest.raises(UnsupportedError, match=r"'other' of its own"):
        paddable(case, view, "other")
