"""Tiles of arrays that are updated by atomic functions: by pointers, and by functions of the source
that are named like CUDA's."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

A100 = load_machine("A100")
HEAD = """
__global__ void k(const int *d, int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    """


def case_of(body: str, before: str = ""):
    rng = np.random.default_rng(1)
    arrays = [rng.integers(1, 14, 70), rng.integers(50, 99, 96), np.zeros(70)]
    arguments = [*(a.astype("i4") for a in arrays), np.int32(70)]
    source = f"{before}{HEAD}{body}\n}}\n"
    return named_case(make_case("k", source, arguments, block=32, grid=3))


def outcome(body: str, before: str = "") -> str:
    one = case_of(body, before)
    try:
        form = rewrite(one, Placement.of({"b": "shared"}), A100, analyse_source(one)).case
    except UnsupportedError as error:
        return error.message
    expected = execute(compile_case(one), one.launch, one.inputs)
    checker = Checker()
    found = execute(compile_case(form), form.launch, form.inputs, check=checker)
    assert not checker.findings
    assert all(found.output(n).tobytes() == data.tobytes() for n, data in expected.outputs)
    return "same"


UPDATES = {
    "a local pointer": "int *h = b + 3; if (i < n) { atomicAdd(h, 1); atomicSub(h + 1, d[i]); }",
    "a pointer to an element": "int *const h = &b[d[i % n]]; if (i < n) atomicMax(h, i + 60);",
    "a pointer that walks": (
        "int *h = b; if (i < n) { h += d[i]; atomicAdd(h, 1); atomicAdd(h++, 2); atomicAdd(h, 3); }"
    ),
    "the parameter, moved": "b += 2; if (i < n) { atomicAdd(b, 1); atomicAdd((b), 2); }",
}


@pytest.mark.parametrize("what", UPDATES)
def test_updates_by(what):
    assert outcome(UPDATES[what]) == "same"


def test_an_overload_of_an_atomic_function_is_no_such_function():
    own = "__device__ void atomicAdd(int *p, int v, int w) { atomicMax(p, v * 100 + w); }"
    assert outcome("if (i < n) atomicAdd(&b[d[i]], 1, 2);", own) == "same"


@pytest.mark.parametrize(
    ("own", "call"),
    [
        (
            "namespace z { __device__ int atomicPeek(int *p) { return p[0] + p[5]; } }",
            "z::atomicPeek",
        ),
        ("template <int N> __device__ int atomicPeek(int *p) { return p[N]; }", "atomicPeek<5>"),
    ],
)
def test_an_own_atomic_function_may_go_beyond_its_element(own, call):
    assert "passed to function 'atomicPeek'" in outcome(f"if (i < n) out[i] = {call}(&b[i]);", own)
