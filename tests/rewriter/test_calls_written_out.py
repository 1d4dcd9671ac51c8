"""Calls written out in a kernel mean what they meant in their functions: names, order, types."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

A100 = load_machine("A100")
HEAD = (
    "__global__ void k(const float *a, const float *w, float *out, int n) { int i = threadIdx.x; "
)


def outcome(before: str, body: str, space: str = "texture", kernel: str = "k") -> str:
    """ "same", or why there is no form."""
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-8, 8, size).astype("f4") for size in (80, 40, 40)]
    source = f"{before}{HEAD}{body} }}\n"
    made = make_case(kernel, source, [*arrays, np.int32(40)], block=32, grid=1)
    one = named_case(made)
    try:
        form = rewrite(one, Placement.of({"a": space}), A100, analyse_source(one)).case
    except UnsupportedError as error:
        return error.message
    expected = execute(compile_case(one), one.launch, one.inputs).output("out")
    found = execute(compile_case(form), form.launch, form.inputs).output("out")
    return "same" if found.tobytes() == expected.tobytes() else "other"


GET = "__device__ float get(const float *p, int i) { return p[i + K] * K; }\n"
REAL = "__device__ real get(const float *p, int i) { real x = p[i] * 0.1; return x * 3; }\n"
HIDDEN = {
    "a local type": ("typedef float real;\n" + REAL, "typedef double real; real x = get(a, i);"),
    "a local struct": (
        "struct Q { float x; };\n__device__ float get(const float *p, int i)"
        " { Q q; q.x = 0.1; return p[i] * (q.x * 1.0); }\n",
        "struct Q { double x; }; float x = get(a, i);",
    ),
    "a local enumerator": ("const int K = 1;\n" + GET, "enum { K = 3 }; float x = get(a, i) + K;"),
    "a namespace": (
        f"namespace z {{ const int K = 2; {GET} }}\nconst int K = 1;\nusing z::get;\n",
        "float x = get(a, i);",
    ),
    "an enumerator of a namespace": (
        f"namespace z {{ enum {{ K = 2 }}; {GET} }}\nenum {{ K = 1 }};\nusing z::get;\n",
        "float x = get(a, i);",
    ),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_names_that_mean_something_else_in_the_kernel(what):
    before, body = HIDDEN[what]
    assert "passed to function 'get'" in outcome(before, body + " out[i] = x;")


def test_names_of_the_kernels_template():
    before = f"const int K = 1;\n{GET}template <int K> "
    assert "passed to function 'get'" in outcome(before, "out[i] = get(a, i) + K;", kernel="k<3>")
    before = "__device__ float get(const float *p, int K) { return p[K] * K; }\ntemplate <int K> "
    assert outcome(before, "out[i] = get(a, i) + K;", kernel="k<3>") == "same"


def test_names_of_a_namespace_that_the_kernel_uses():
    before = f"namespace z {{ const int K = 2; {GET} }}\nusing namespace z;\n"
    assert outcome(before, "out[i] = get(a, i);") == "same"


ORDER = {
    "a change before the call": (
        "__device__ int bump(int &x) { return x++; }\n",
        "int j = i; out[i] = bump(j) + twice(a, j);",
    ),
    "an increment before the call": ("", "int j = i; out[i] = (j++, 2) * twice(a, j);"),
    "a number that the call changes": (
        "__device__ float add(const float *p, int i, float &s) { s += 2; return p[i]; }\n",
        "float s = 1; out[i] = s * add(a, i, s) + s;",
    ),
    "the stored number": ("", "int j = i; out[i] = j++; out[j - 1] += twice(a, j);"),
}


@pytest.mark.parametrize("what", ORDER)
def test_a_call_stays_behind(what):
    before, body = ORDER[what]
    twice = "__device__ float twice(const float *p, int i) { float x = p[i]; return x * 2; }\n"
    assert outcome(before + twice, body) == "same"


def test_elements_that_references_of_unknown_kind_are_bound_to():
    assert outcome("", "const float &x = a[i]; out[i] = x;") == "same"
    assert "bound to the reference 'x'" in outcome("", "auto &x = a[i]; out[i] = x;")


@pytest.mark.parametrize("space", ["readonly", "no_allocate", "texture"])
def test_loads_by_volatile_pointers_stay(space):
    body = "const volatile float *p = a; out[i] = p[i];"
    assert "becomes 'const volatile float *'" in outcome("", body, space)
