"""Arrays of types that are neither plain numbers nor structs."""

from dataclasses import replace

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
SOURCE = """__global__ void k(const {type} *a, double *out, int n) {{
    int i = threadIdx.x;
    if (i < n) out[i] = (double){value};
}}
"""


def case_of(type_: str, dtype: str, value: str = "a[i]"):
    a = np.random.default_rng(1).integers(1, 99, 64).astype(dtype)
    source = SOURCE.format(type=type_, value=value)
    made = named_case(make_case("k", source, [a, np.zeros(64), np.int32(30)], block=32, grid=1))
    return replace(made, options=replace(made.options, flags=("--std=c++17",)))


@pytest.mark.parametrize("space", ["constant", "shared"])
@pytest.mark.parametrize(
    ("type_", "dtype", "elements"),
    [("wchar_t", "i4", 64), ("char16_t", "u2", 64), ("__int128", "i8", 32)],
)
def test_elements_of_rare_types(type_, dtype, elements, space):
    one = case_of(type_, dtype, "(long long)a[i]")
    assert analyse_source(one).array("a").elements == elements
    form = rewrite(one, Placement.of({"a": space}), A100, analyse_source(one)).case
    expected = execute(compile_case(one), one.launch, one.inputs).output("out")
    found = execute(compile_case(form), form.launch, form.inputs).output("out")
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("space", ["constant", "shared"])
@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        ("long double", "a[i]", "the size of its elements, long double, is not known"),
        ("float *const", "(a[i] != nullptr)", "its elements are pointers"),
    ],
)
def test_elements_that_do_not_move(type_, value, why, space):
    one = case_of(type_, "u8", value)
    with pytest.raises(UnsupportedError, match=why):
        rewrite(one, Placement.of({"a": space}), A100, analyse_source(one))
