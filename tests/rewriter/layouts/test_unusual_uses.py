"""Names and expressions that a layout's own code must not meet: other bits are never written."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.view import find_struct_arrays
from placewise.rewriter.layouts import original_arrays, rewrite_layout
from placewise.space.layout import parse_layout

N = 40
HEAD = "__global__ void k(P *p, const P *q, float *out, int n) { int i = threadIdx.x; "
TWO = "struct P { float x, y; };\n"


def relaid_of(source: str, layout: str = "soa"):
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-9, 9, (N, 2)).astype("f4") for _ in range(2)]
    arguments = [*arrays, np.zeros(N, "f4"), np.int32(N)]
    read = read_case(make_case("k", source, arguments, block=32, grid=1))
    (structs,) = find_struct_arrays(read.case)
    record = structs.record
    return read, rewrite_layout(read.case, read.view, structs, parse_layout(layout, record))


WRITTEN = {
    "a number before the pointer": (TWO, "out[i] = (i + q)->x + (*(1 + q)).y;"),
    "a comma in the index": (TWO, "out[i] = q[n, i].x + q[min(i, n - 1)].y;"),
    "a variable of a parameter's name": (TWO, "float p_x = p[i].x; out[i] = p_x + q[i].y;"),
    "a macro of a parameter's name": (TWO + "#define q_y 3\n", "out[i] = q[i].y * q_y;"),
    "fields named as the layout's functions": (
        "struct P { float load, store; };\n",
        "p[i] = q[i]; const P *t = q + i; out[i] = t->load + p[i].store;",
    ),
    "fields named as the layout's variables": (
        "struct P { float i, at; };\n",
        "p[i] = q[i]; const P *t = q + i; out[i] = t->at + p[i].i;",
    ),
    "a choice that is copied": (TWO, "P t = i & 1 ? p[i] : q[i]; p[i] = i & 2 ? t : q[i];"),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_unusual_uses_compute_the_same_bits(what):
    declared, body = WRITTEN[what]
    read, relaid = relaid_of(f"{declared}{HEAD}{body} }}\n")
    truth = execute(read.kernel, read.case.launch, read.case.inputs)
    outputs = dict(
        execute(compile_case(relaid.case), relaid.case.launch, relaid.case.inputs).outputs
    )
    found = outputs | original_arrays(relaid, outputs)
    for name, expected in truth.outputs:
        assert found[name].tobytes() == expected.tobytes(), name


OWN_COPY = (
    "struct P { float x, y; __device__ P &operator=(const P &o) { x = o.x; y = o.y > 8 ? 8 : o.y;"
    " return *this; } };\n"
)
ADDED = "struct P { float x, y; __device__ void operator+=(const P &o) { x += o.x; y += o.y; } };\n"
REFUSED = {
    "a copy of the struct's own": (OWN_COPY, "p[i] = q[i];", "'operator=' of its own"),
    "no element without arguments": (
        "struct P { float x, y; __device__ P(float a) : x(a), y(a) {} };\n",
        "P t = q[i]; out[i] = t.x;", "cannot be made without arguments",
    ),
    "an update by a function of the struct": (ADDED, "p[i] += q[i];", r"'p\[i\] \+= q\[i\]'"),
    "a store to one of two": (TWO, "(i & 1 ? p[i] : p[i + 1]).x = 1;", "no rewrite is known"),
    "a null pointer": (TWO, "const P *t = n ? q : nullptr; out[i] = t->x;", "no rewrite is known"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_copy_of_the_fields_cannot_do_is_refused(what):
    declared, body, why = REFUSED[what]
    with pytest.raises(UnsupportedError, match=why):
        relaid_of(f"{declared}{HEAD}{body} }}\n")


def test_a_copy_of_the_structs_own_does_not_hinder_its_members():
    _, relaid = relaid_of(f"{OWN_COPY}{HEAD}p[i].x = q[i].y; }}\n")
    assert "p.x(i) = q.y(i);" in relaid.case.source
