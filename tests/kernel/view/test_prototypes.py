"""A kernel that is declared before it is defined."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

DEFINITION = """__global__ void k(const float *a, const float *b, float *o, const int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = a[i] * 2 + b[n - 1 - i];
}
"""
PROTOTYPE = "__global__ void k(const float *, const float *in_b, float *o, int n);\n"


def case(source):
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, 100).astype(np.float32) for _ in range(3)]
    return make_case("k", source, [*arrays, np.int32(100)], block=64, problem=100)


def outputs(one):
    named = named_case(one)
    return execute(compile_case(one), named.launch, named.inputs).output("o")


def written(one, **moves):
    return rewrite(one, Placement.of(moves), load_machine("A100"), analyse_source(one))


@pytest.mark.parametrize(
    ("moves", "declared"),
    [
        (
            {"a": "texture"},
            "void k(cudaTextureObject_t a_tex, const float *in_b, float *o, int n);",
        ),
        ({"a": "constant"}, "void k(const float *in_b, float *o, int n);"),
        ({"b": "constant"}, "void k(const float *, float *o, int n);"),
        ({"a": "constant", "b": "texture"}, "void k(cudaTextureObject_t b_tex, float *o, int n);"),
        ({"a": "shared"}, PROTOTYPE.removeprefix("__global__ ").strip()),
    ],
)
def test_a_prototype_of_the_file_changes_along(moves, declared):
    one = case(PROTOTYPE + DEFINITION)
    new = written(one, **moves)
    assert new.case.source.splitlines()[0] == f"__global__ {declared}"
    assert np.array_equal(outputs(new.case), outputs(one))


@pytest.mark.parametrize("space", ["texture", "constant"])
def test_a_prototype_of_a_header_stays_and_the_host_s_part_names_it(space, tmp_path):
    (tmp_path / "k.h").write_text("\n" + PROTOTYPE)
    (tmp_path / "k.cu").write_text('#include "k.h"\n' + DEFINITION)
    one = case(tmp_path / "k.cu")
    new = written(one, a=space)
    assert "// k.h:2 declares k with the parameters that it had" in new.host
    assert np.array_equal(outputs(new.case), outputs(one))
    assert "k.h:2" not in written(one, a="shared").host


@pytest.mark.parametrize(
    ("header", "kernel"),
    [
        ('extern "C" ' + PROTOTYPE, 'extern "C" ' + DEFINITION),
        ("template <class T> " + PROTOTYPE, "template <class T> " + DEFINITION),
    ],
)
def test_beside_some_prototypes_a_kernel_keeps_its_parameters(header, kernel, tmp_path):
    (tmp_path / "k.h").write_text(header)
    (tmp_path / "k.cu").write_text('#include "k.h"\n' + kernel)
    one = case(tmp_path / "k.cu")
    if "template" in kernel:
        one = replace(one, kernel="k<float>")
    with pytest.raises(UnsupportedError, match=r"declared again \(k.h:1\)"):
        written(one, a="texture")
    assert np.array_equal(outputs(written(one, a="shared").case), outputs(one))
