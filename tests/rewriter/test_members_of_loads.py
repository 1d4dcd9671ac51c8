"""Members of elements that are dereferenced, or loaded by a function, in forms that need care."""

import numpy as np
import pytest

from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement

KERNEL = """
struct Cell {{ float x; float y; }};
__global__ void k(const {type} *a, float *out) {{
    int i = threadIdx.x;
    out[i] = {value};
}}
"""
VALUES = {
    "a load function in front of a member": ("float2", "__ldg(a + i).x"),
    "a load function behind a division": ("float2", "8.0f/__ldg(&a[i]).x"),
    "a dereference in parentheses": ("float2", "(*(a + i)).x"),
    "the same of a structure": ("Cell", "(*(a + i)).x"),
    "a dereferenced address": ("Cell", "(*(&a[i])).x"),
}


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("space", ["constant", "readonly", "streaming", "shared", "texture"])
def test_what_is_written_computes_the_same(what, space, machine):
    kind, value = VALUES[what]
    a = np.arange(1, 65, dtype=np.float32).reshape(32, 2)
    source = KERNEL.format(type=kind, value=value)
    one = make_case("k", source, [a, np.zeros(32, np.float32)], block=32, grid=1)
    view = analyse_source(one)
    use = view.array("a")
    if use.obstacle(machine.space(space).way) is not None:
        assert kind == "Cell"
        return
    runs = []
    for made in (one, rewrite(one, Placement.of({"a": space}), machine, view).case):
        named = named_case(made)
        runs.append(execute(compile_case(made), named.launch, named.inputs).output("out"))
    assert np.array_equal(*runs)
