"""Forms on the executor: textures and constants are filled from the arrays of each launch."""

import numpy as np
import pytest

from placewise import kernel_from
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.launch import Launch
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.runtime.devices.executor_place import ExecutorPlace
from placewise.runtime.form import (
    Form,
    Texels,
    compile_form,
    form_document,
    form_from_document,
    form_of,
)
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.values import read_value, typed_scalar
from placewise.space import Placement

ORIGINAL = """__global__ void f(const float *x, const double *w, float *y, float a) {
    int i = threadIdx.x;
    y[i] = a * x[31 - i] + (float)w[i];
}"""
PLACED = """__constant__ float x_const[32];
__global__ void f(cudaTextureObject_t w, float *y, float a) {
    int i = threadIdx.x;
    int2 v = tex1Dfetch<int2>(w, i);
    y[i] = a * x_const[31 - i] + (float)__hiloint2double(v.y, v.x);
}"""
FORM = Form(
    language=Language.CUDA,
    source=PLACED,
    filename="placed.cu",
    kernel="f",
    options=CompileOptions(),
    shared_bytes=0,
    parameters=(Texels(1, "int32", 2), 2, 3),
    constants=(("x_const", 0, 0),),
    bound=((3, 7),),
)


def call(x, w, y, a):
    return Call(Launch((1, 1, 1), (32, 1, 1)), tuple(read_value(v) for v in (x, w, y, a)))


def test_form_reads_the_arrays_of_each_launch():
    original = kernel_from(ORIGINAL, "f")
    place = ExecutorPlace()
    ready = place.prepare(FORM, original)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, w = rng.random(32, dtype=np.float32), rng.random(32)
        y, expected = np.zeros(32, np.float32), np.zeros(32, np.float32)
        place.run_original(call(x, w, expected, np.float32(3)), original)
        before = place.snapshot(call(x, w, y, np.float32(3)), original)
        outputs = dict(place.attempt(ready, call(x, w, y, np.float32(3)), before))
        assert not y.any()
        np.testing.assert_array_equal(outputs[2], expected)
        place.launcher(ready, call(x, w, y, np.float32(3)))()
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_allclose(expected, 3 * x[::-1] + w, rtol=1e-6)


def test_form_comes_back_from_its_document():
    assert form_from_document(form_document(FORM)) == FORM


def test_form_is_compiled_for_the_originals_target():
    original = kernel_from(ORIGINAL, "f", options=CompileOptions(arch="sm_90"))
    assert compile_form(FORM, original).arch == "sm_90"


SCALARS = "__global__ void f(double *y, int i, char c, double d, long long l, float f) { *y = i; }"


@pytest.mark.parametrize(
    ("number", "given", "made"),
    [
        (1, 7, np.int32(7)),
        (1, -1, np.int32(-1)),
        (1, 1 << 31, np.int32(-(1 << 31))),
        (2, 200, np.int8(-56)),
        (3, 1.5, np.float64(1.5)),
        (4, 1 << 40, np.int64(1 << 40)),
        (5, np.float32(2), np.float32(2)),
    ],
)
def test_python_numbers_become_the_parameters_types(number, given, made):
    found = typed_scalar(given, kernel_from(SCALARS, "f"), number)
    assert found == made
    assert found.dtype == made.dtype


TWO = """extern "C" __global__ void two(const float *a, const double *b, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i % 3] * 2 + (float)b[i % 5];
}"""


def test_arrays_that_share_a_constant_buffer_are_filled_at_each_launch():
    rng = np.random.default_rng(8)
    a, b, n = rng.random(3, dtype=np.float32), rng.random(5), np.int32(64)
    case = named_case(make_case("two", TWO, [a, b, np.zeros(64, np.float32), n], block=32, grid=2))
    placement = Placement.of({"a": "constant", "b": "constant"})
    form = form_of(
        rewrite(case, placement, load_machine("A100"), analyse_source(case)), case,
        bind_numbers=False,
    )  # fmt: skip
    assert [symbol for symbol, _, _ in form.constants] == ["constant_arrays"] * 2
    original, place = compile_case(case), ExecutorPlace()
    ready = place.prepare(form_from_document(form_document(form)), original)
    for _ in range(2):
        a, b = rng.random(3, dtype=np.float32), rng.random(5)
        y, expected = np.zeros(64, np.float32), np.zeros(64, np.float32)
        made, made_by_original = (
            Call(case.launch, tuple(read_value(v) for v in (a, b, out, n))) for out in (y, expected)
        )
        place.run_original(made_by_original, original)
        place.launcher(ready, made)()
        assert y.any()
        assert y.tobytes() == expected.tobytes()
