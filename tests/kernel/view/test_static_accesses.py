"""The accesses of one thread, read off a source: elements as a whole, references, pointers, calls.

What each line accesses is written down by hand.
"""

import numpy as np
import pytest

from placewise import make_case
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.static_accesses import StaticLoop
from placewise.kernel.view.static_accesses import static_accesses

STRUCT = "struct S { float x, y; int n; float f[3]; };\n"
FIELDS = ("x", "y", "n", "f")


def read(body, above=""):
    source = (
        f"{STRUCT}{above}\n__global__ void k(S *a, float *out, double *d, int n) {{\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    {body}\n}}\n"
    )
    given = [np.zeros(72, np.uint8), np.zeros(8, np.float32), np.zeros(8), np.int32(4)]
    return static_accesses(named_case(make_case("k", source, given, grid=2, block=64)))


def found(program):
    """(array, field, stores, thread's coefficient, constant) of all accesses."""
    rows, todo = [], list(program.body)
    while todo:
        one = todo.pop(0)
        if isinstance(one, StaticLoop):
            todo = [*one.body, *todo]
        else:
            rows.append((one.array, one.field, one.is_store, one.index.thread, one.index.constant))
    return rows


def of_a(field, *, store=False, at=0):
    return ("a", field, store, 1, at)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("S s = a[i]; out[i] = s.x;", [of_a(f) for f in FIELDS] + [("out", "", True, 1, 0)]),
        ("S s; a[i + 2] = s;", [of_a(f, store=True, at=2) for f in FIELDS]),
        ("S &r = a[i + 1]; r.y = 3;", [of_a("y", store=True, at=1)]),
        ("S *p = a + i; p->y += p->x;", [of_a("x"), of_a("y"), of_a("y", store=True)]),
        ("(*(a + i)).x = 1;", [of_a("x", store=True)]),
        ("a[i].n++;", [of_a("n"), of_a("n", store=True)]),
        ("atomicAdd(&a[i].n, 1);", [of_a("n")]),
        ("float *o = &out[i]; *o = 1;", [("out", "", True, 1, 0)]),
        ("a[i].f[1] = 2;", [of_a("f", store=True)]),
        ("out[i] = __ldg(&out[i + 3]);", [("out", "", False, 1, 3), ("out", "", True, 1, 0)]),
        ("__shared__ float t[64]; t[threadIdx.x] = a[i].x;", [of_a("x")]),
    ],
)
def test_what_a_statement_accesses(body, expected):
    assert found(read(body)) == expected


def test_functions_that_get_an_array_are_followed():
    above = "__device__ float twice(const S *q) { return q->x * 2; }"
    program = read("out[i] = twice(a + i);", above)
    assert found(program) == [of_a("x"), ("out", "", True, 1, 0)]
    assert program.assumed == ()


def test_elements_have_the_size_of_their_type():
    sizes = {a.array: a.element_bytes for a in read("d[i] = out[i];").body}
    assert sizes == {"d": 8, "out": 4}


def test_pointers_that_are_not_followed_are_told():
    program = read("float *o = i ? out : (float *)a; out[i] = o[i];")
    assert found(program) == [("out", "", True, 1, 0)]
    assert any("points into is not followed" in said for said in program.assumed)
