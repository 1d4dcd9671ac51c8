"""Forms whose machine code is that of the present form are neither run nor timed again."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.forms.same_code import is_same_launch
from placewise.kernel.cases.prepare_case import compile_case

PLAIN = """
__global__ void add(const float *__restrict__ x, float *__restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1.0f;
}
"""
LOADED = PLAIN.replace("x[i] + 1", "__ldg(&x[i]) + 1")


def case_of(source, n=1000, out=None):
    x = np.zeros(1000, np.float32) if out is None else out
    return make_case(
        "add", source, [x, np.zeros(1000, np.float32), np.int32(n)], block=128, problem=1000
    )


@pytest.fixture(scope="module")
def plain():
    case = case_of(PLAIN)
    return case, compile_case(case)


def beside(case, source):
    """The same launch of another source, as rewriting leaves it."""
    written = replace(case, source=source)
    return written, compile_case(written)


def test_a_load_that_the_compiler_makes_read_only_by_itself_changes_nothing(plain):
    case, kernel = plain
    written, form = beside(case, LOADED)
    assert form.cubin != kernel.cubin  # lines and names differ
    assert is_same_launch(form, written, kernel, case)


def test_another_instruction_is_another_form(plain):
    case, kernel = plain
    written, form = beside(case, PLAIN.replace("1.0f", "2.0f"))
    assert not is_same_launch(form, written, kernel, case)


def test_arguments_copied_by_a_rewriter_are_the_same_launch(plain):
    case, kernel = plain
    copied = tuple(replace(a) for a in case.inputs.arguments)
    written = replace(case, inputs=replace(case.inputs, arguments=copied))
    assert is_same_launch(kernel, written, kernel, case)


@pytest.mark.parametrize(
    "other",
    [
        case_of(PLAIN, n=999),
        case_of(PLAIN, out=np.ones(1000, np.float32)),
    ],
    ids=["scalar", "array"],
)
def test_other_arguments_are_another_launch(plain, other):
    case, kernel = plain
    assert not is_same_launch(kernel, other, kernel, case)


def test_another_grid_is_another_launch(plain):
    case, kernel = plain
    written = replace(case, launch=replace(case.launch, grid=(4, 1, 1)))
    assert not is_same_launch(kernel, written, kernel, case)


def test_kernels_without_machine_code_are_not_compared(plain):
    case, kernel = plain
    assert not is_same_launch(replace(kernel, cubin=None), case, kernel, case)
