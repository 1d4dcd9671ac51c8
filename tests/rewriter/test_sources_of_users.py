"""Sources as people have them: what is written must be right for every instance and branch."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case, read_case
from placewise.kernel.cases.values import PointerTo
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement

BODY = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] * 2; }"
TEMPLATE = f"template <typename T> __global__ void k(const T *a, T *o, int n) {BODY}"
SIZED = (
    "template <int STEP> __global__ void k(const float *a, float *o, int n) "
    "{ int i = threadIdx.x; if (i + STEP < n) o[i] = a[i + STEP]; }"
)
BRANCH = """__global__ void k(const float *a, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if __CUDA_ARCH__ >= 300
    if (i < n) o[i] = a[i] * 2;
#else
    if (i < n) o[i] = a[i] + a[i];
#endif
}"""


def case(source, kernel="k", dtype=np.float32):
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, 200).astype(dtype) for _ in range(2)]
    return make_case(kernel, source, [*arrays, np.int32(200)], block=64, problem=200)


def outputs(one):
    named = named_case(one)
    return execute(compile_case(one), named.launch, named.inputs).output("o")


def moved(one, machine, array, space):
    return rewrite(one, Placement.of({array: space}), machine, analyse_source(one)).case


@pytest.mark.parametrize("space", ["readonly", "shared", "texture"])
def test_a_template_rewritten_for_one_type_is_right_for_another_or_does_not_compile(space, machine):
    written = moved(case(TEMPLATE, "k<float>"), machine, "a", space)
    assert np.array_equal(outputs(written), outputs(case(TEMPLATE, "k<float>")))
    other = case(TEMPLATE, "k<double>", np.float64)
    if space == "texture":
        with pytest.raises(PlacewiseError):
            compile_case(replace(written, kernel="k<double>"))
    else:
        instance = replace(other, source=written.source)
        assert np.array_equal(outputs(instance), outputs(other))


def test_a_template_has_no_buffer_at_file_scope(machine):
    with pytest.raises(UnsupportedError, match="one type for all"):
        moved(case(TEMPLATE, "k<float>"), machine, "a", "constant")


def test_tiles_of_a_template_of_numbers_are_made_for_one_instance(machine):
    written = moved(case(SIZED, "k<3>"), machine, "a", "shared")
    assert np.array_equal(outputs(written), outputs(case(SIZED, "k<3>")))
    with pytest.raises(PlacewiseError, match="tiles are made for STEP = 3"):
        compile_case(replace(written, kernel="k<4>"))


@pytest.mark.parametrize("space", ["texture", "constant", "shared"])
def test_a_branch_that_the_preprocessor_left_out_is_not_left_behind(space, machine):
    with pytest.raises(UnsupportedError, match=r"left out by the preprocessor \(line 5\)"):
        moved(case(BRANCH), machine, "a", space)
    assert "__ldg" in moved(case(BRANCH), machine, "a", "readonly").source


def test_a_thread_that_ends_in_assembly_has_no_tile(machine):
    source = BRANCH.replace("int i =", 'if (threadIdx.x > 70) asm volatile("exit;"); int i =')
    source = source.replace("#if __CUDA_ARCH__ >= 300\n", "").split("#else")[0] + "}"
    with pytest.raises(UnsupportedError, match="assembly may end a thread"):
        moved(case(source), machine, "o", "shared")


@pytest.mark.parametrize("space", ["readonly", "texture", "constant", "shared"])
def test_a_parameter_in_brackets_is_a_pointer(space, machine):
    source = f"__global__ void k(const float a[], float o[], int n) {BODY}"
    one = case(source)
    assert np.array_equal(outputs(moved(one, machine, "a", space)), outputs(one))


def test_a_comparison_that_wraps_says_nothing_of_a_tile(machine):
    # For i >= 2, i + 0xfffffffe wraps to i - 2: the tile must begin there, or not be made.
    source = """__global__ void k(const float *a, float *o, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        const unsigned at = (unsigned)i + 0xfffffffeu;
        float s = 0;
        if (at < (unsigned)n) s += a[at];
        if (i + 1 < n) s += a[i + 1];
        if (i < n) o[i] = s;
    }"""
    one = replace(case(source), launch=replace(case(source).launch, grid=(4, 1, 1)))
    try:
        written = moved(one, machine, "a", "shared")
    except UnsupportedError:
        return
    assert np.array_equal(outputs(written), outputs(one))


def test_tiles_beside_shared_arrays_of_the_kernel_fit_static_memory_together(machine):
    source = """__global__ void k(const float *a, float *o, int n) {
        __shared__ float own[64];
        own[threadIdx.x] = threadIdx.x;
        __syncthreads();
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float s = own[63 - threadIdx.x];
        for (int k = 0; k < 192; k++) s += a[i * 192 + k];
        o[i] = s;
    }"""
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, n).astype(np.float32) for n in (128 * 192, 128)]
    one = make_case("k", source, [*arrays, np.int32(128)], block=64, grid=2)
    # 48 KiB of tile: all that static shared memory has, but for the kernel's own array.
    written = moved(one, machine, "a", "shared")
    assert "extern __shared__" in written.source
    assert np.array_equal(outputs(written), outputs(one))


SECOND = """__global__ void k(float *a, const float *before, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = i;
    __syncthreads();
    if (i < n) o[i] = before[i];
}"""


@pytest.mark.parametrize(("first", "word"), [(0, "as passed"), (80, "memory behind it"), (240, "")])
def test_arrays_that_share_memory_are_not_copied_apart_without_a_word(first, word):
    memory = np.zeros(400, np.float32)
    arrays = [memory[:200], memory[first : first + 160], np.zeros(200, np.float32)]
    one = make_case("k", SECOND, [*arrays, np.int32(160)], block=64, problem=160)
    found = [note for note in read_case(one).notes if "memory" in note]
    assert bool(found) == bool(word)
    assert not word or any(word in note for note in found)


def test_an_array_that_is_only_read_may_be_passed_twice():
    x, o = np.ones(200, np.float32), np.zeros(200, np.float32)
    source = SECOND.replace("a[i] = i", "o[i] = a[i]").replace("o[i] = before", "o[i] += before")
    one = make_case("k", source, [x, x, o, np.int32(160)], block=64, problem=160)
    assert not any("share memory" in note for note in read_case(one).notes)


@pytest.mark.parametrize("space", ["readonly", "texture", "constant", "shared"])
def test_a_second_pointer_into_an_array_keeps_it_in_place(space, machine):
    a, o = np.zeros(200, np.float32), np.zeros(200, np.float32)
    given = [a, PointerTo("a", 3), o, np.int32(160)]
    one = make_case("k", SECOND, given, block=64, problem=160)
    assert outputs(one)[0] == 3
    with pytest.raises(UnsupportedError, match=r"'before' points into it, too|written"):
        moved(one, machine, "a", space)
    assert np.array_equal(outputs(moved(one, machine, "o", "shared")), outputs(one))
