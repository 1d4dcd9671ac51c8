"""Sources nested so deeply that libclang or Python would run out of stack."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.analyse import bound_case
from placewise.kernel.view.tree.clang import DEEPEST

TERMS = "b[i] = " + " + ".join(["a[i]"] * 30_000) + ";"
ARMS = " else ".join(f"if (n == {k}) b[i] = {k};" for k in range(1000))


def case_of(statement):
    source = "__global__ void k(const float *a, float *b, int n) {{\n int i = threadIdx.x;\n{}\n}}"
    arrays = [np.ones(32, np.float32), np.zeros(32, np.float32), np.int32(32)]
    return make_case("k", source.format(statement), arrays, grid=1, block=32)


@pytest.mark.parametrize("statement", [TERMS, ARMS], ids=["sum", "else if"])
def test_parameters_are_found_and_the_analysis_says_what_is_too_deep(statement):
    case = case_of(statement)
    assert [a.name for a in bound_case(case)[0].inputs.arguments] == ["a", "b", "n"]
    with pytest.raises(UnsupportedError, match=f"more than {DEEPEST} levels") as caught:
        analyse_source(case)
    assert caught.value.where.endswith(":3")


def test_what_is_less_deep_is_analysed():
    terms = DEEPEST // 2
    view = analyse_source(case_of("b[i] = " + " + ".join(["a[i]"] * terms) + ";"))
    assert len(view.array("a").accesses) == terms
