"""Forms on the executor: textures and constants are filled from the arrays of each launch."""

import numpy as np
import pytest

from placewise import kernel_from
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.launch import Launch
from placewise.runtime.call import Call
from placewise.runtime.executor_place import ExecutorPlace
from placewise.runtime.form import Form, Texels, compile_form, form_document, form_from_document
from placewise.runtime.values import read_value, typed_scalar

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
    constants=(("x_const", 0),),
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
        place.launch(ready, call(x, w, y, np.float32(3)))
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
