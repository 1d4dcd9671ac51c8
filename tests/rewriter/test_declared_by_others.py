"""Parameters that macros declare, and templates whose instances the file names itself."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source, find_matrices
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

A100 = load_machine("A100")
BODY = """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * w[i % 5];
}
"""
TEMPLATE = (
    "template <typename T, int N> __global__ void k(const T *a, const T *w, T *out, int n) {"
    + BODY.replace("5", "N")
)
OWN = "template __global__ void k<float, 5>(const float *, const float *, float *, int);\n"
OTHER = OWN.replace("float", "double")


def case_of(source: str, kernel: str = "k"):
    arrays = [np.arange(70, dtype="f4"), np.arange(9, dtype="f4"), np.zeros(70, "f4")]
    return named_case(make_case(kernel, source, [*arrays, np.int32(70)], block=32, grid=3))


def assert_written(one, array: str, space: str, buffers: int = 1, chunk: int | None = None):
    placement = Placement(((array, space),), chunk, buffers)
    form = rewrite(one, placement, A100, analyse_source(one)).case
    expected = execute(compile_case(one), one.launch, one.inputs).output("out")
    found = execute(compile_case(form), form.launch, form.inputs).output("out")
    assert found.tobytes() == expected.tobytes()
    return form


@pytest.mark.parametrize(
    "declared",
    [
        "#define ALL const float *a, const float *w, float *out, int n\n__global__ void k(ALL) {",
        "#define IN(T, x) const T *__restrict__ x\n"
        "__global__ void k(IN(float, a), IN(float, w), float *out, int n) {",
    ],
)
def test_parameters_of_macros_are_not_replaced(declared):
    one = case_of(declared + BODY)
    view = analyse_source(one)
    for space in ("texture", "constant"):
        with pytest.raises(UnsupportedError, match="its declaration comes from a macro"):
            rewrite(one, Placement.of({"w": space}), A100, view)
    assert find_matrices(one) == ()
    assert_written(one, "w", "shared")


def test_qualifiers_of_macros_are_no_part_of_an_elements_type():
    head = "#define IN const float\n__global__ void k(IN *a, IN *w, float *out, int n) {"
    for space in ("texture", "shared"):
        assert_written(case_of(head + BODY), "w", space)


@pytest.mark.parametrize("named", [OWN, OWN + OTHER])
def test_named_instances_keep_their_parameters(named):
    one = case_of(TEMPLATE + named, "k<float, 5>")
    with pytest.raises(UnsupportedError, match="the kernel is declared again"):
        rewrite(one, Placement.of({"a": "texture"}), A100, analyse_source(one))


def test_tiles_beside_the_same_instance():
    assert_written(case_of(TEMPLATE + OWN, "k<float, 5>"), "a", "shared")


def test_tiles_and_load_functions_beside_other_instances():
    one = case_of(TEMPLATE + OWN + OTHER, "k<float, 5>")
    form = assert_written(one, "a", "no_allocate")
    assert "template <typename T> static __device__" in form.source
    with pytest.raises(UnsupportedError, match="line 6 has another"):
        rewrite(one, Placement.of({"a": "shared"}), A100, analyse_source(one))


def test_launches_in_host_functions_are_no_instances():
    host = "template <> void launch<float>(float *p) { k<float, 5><<<1, 2>>>(p, p, p, 1); }\n"
    assert_written(case_of(TEMPLATE + host, "k<float, 5>"), "a", "texture")


def test_an_include_in_a_comment_includes_nothing():
    source = """// #include <cuda_pipeline.h> is missing
__global__ void k(const float *a, const float *w, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int j = 0; j < 9; j++) s += w[j];
    if (i < n) out[i] = s;
}
"""
    assert_written(case_of(source), "w", "shared", buffers=2, chunk=4)


def test_loads_of_what_is_written_keep_their_order_beside_others():
    source = """__global__ void k(const float *a, float *w, float *out, int n) {
    w[threadIdx.x % 9] = a[threadIdx.x];
    out[threadIdx.x] = w[threadIdx.x % 9];
}
"""
    one = case_of(source)
    placement = Placement.of({"a": "no_allocate", "w": "no_allocate"})
    text = rewrite(one, placement, A100, analyse_source(one)).case.source
    assert "= load_no_allocate(&a[" in text
    assert "= load_no_allocate_in_order(&w[" in text
    assert text.count('"memory"') == 1


def test_macros_named_like_variables_of_a_load_function():
    head = (
        "#define p 3\n#define v 4\n__global__ void k(const float *a, const float *w, float *out, "
    )
    assert_written(case_of(f"{head} int n) {{{BODY}".replace("* w", "* p * v * w")), "a", "once")
