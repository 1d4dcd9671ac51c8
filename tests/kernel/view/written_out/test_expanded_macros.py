"""Macros whose text accesses an array are written out where the kernel uses them."""

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

MACROS = {
    "an access": ("#define AT(x) a[(x) * 2]", "o[i] = AT(i / 2) - AT(i / 3);"),
    "the array": ("#define IN a", "o[i] = IN[i] + *(IN + 1);"),
    "a sum of pointers": ("#define AT(x) (x) + 3", "o[i] = *(a + AT(i)) - (a + AT(i))[1];"),
    "an access of its argument": ("#define LD(from, at) from[at]", "o[i] = LD(a, i) + LD(b, i);"),
    "a local pointer": ("#define LD(x) p[x]", "const float *p = a + 1; o[i] = LD(i);"),
    "a statement": ("#define SET(v) do { o[i] = v; \\\n  o[i] += b[i]; } while (0)", "SET(a[i]);"),
    "another macro": ("#define AT(x) a[x]\n#define TWICE(x) (AT(x) + AT(x + 1))",
                      "o[i] = TWICE(i) * TWICE(TWICE(0) > 9);"),
    "its own name": ("#define a(x) (*(a + (x) * 2))", "o[i] = a(i / 2) + a(1);"),
    "signs": ("#define NEG -a[i]", "o[i] = 1 -NEG; o[i] = -NEG-NEG;"),
    "any number of arguments": ("#define SUM(f, ...) f(a[i], __VA_ARGS__)",
                                "o[i] = SUM(fmaxf, a[(i + 1)]);"),
    "strings and comments": ("#define PICK(text, x) a[x /* it's, here */] // there",
                             "o[i] = PICK(\"),(\", /* 1, */ i);"),
}  # fmt: skip


@pytest.fixture(scope="module")
def machine():
    return load_machine("A100")


def case(macros, line, guard="if (i >= n) return;"):
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, 300).astype(np.float32) for _ in range(3)]
    source = f"""{macros}
__global__ void k(const float *a, const float *b, float *o, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {guard}
    {line}
}}
"""
    return make_case("k", source, [*arrays, np.int32(150)], block=64, problem=150)


def run(one):
    named = named_case(one)
    return execute(compile_case(one), named.launch, named.inputs).output("o")


@pytest.mark.parametrize("form", MACROS)
def test_the_array_moves_with_the_same_bits(form, machine):
    one = case(*MACROS[form])
    view = analyse_source(one)
    for array, space in (("a", "readonly"), ("a", "texture"), ("a", "shared"), ("o", "shared")):
        written = rewrite(one, Placement.of({array: space}), machine, view).case
        assert np.array_equal(run(written), run(one)), (array, space)
        assert MACROS[form][0].splitlines()[0] in written.source


def test_only_macros_that_hide_an_array_are_written_out(machine):
    one = case("#define AT(x) a[x]\n#define ROW(x) ((x) * 2)", "o[i] = AT(ROW(i / 2)) + ROW(1);")
    written = rewrite(one, Placement.of({"a": "texture"}), machine, analyse_source(one)).case
    assert "o[i] = tex1Dfetch<float>(a_tex, ROW(i / 2)) + ROW(1);" in written.source
    kept = rewrite(one, Placement.of({"o": "shared"}), machine, analyse_source(one)).case
    assert "AT(ROW(i / 2))" in kept.source


def test_lines_stay_those_of_the_source():
    one = case("#define SET(v) o[i] = v; \\\n o[i] += a[i]", "SET(b[i]);\n    o[i] += a[i + 1];")
    found = analyse_source(one).array("a")
    assert found.inlined
    assert [place.line for place in found.accesses] == [7, 8]


@pytest.mark.parametrize(
    "macro",
    ["#define AT(x) a##x", "#define AT(x) a[sizeof(#x) + x - x]", "#define AT(x) a[i]; AT"],
)
def test_a_macro_whose_text_alone_does_not_tell_is_refused_with_its_line(macro, machine):
    line = {"a##": "o[i] = AT()[i];", "#x": "o[i] = AT(i);"}.get(
        next((k for k in ("a##", "#x") if k in macro), ""), "float AT = 2; o[i] = AT(0) + AT;"
    )
    one = case(macro, line)
    with pytest.raises(UnsupportedError, match=r"macro \(line 6\)"):
        rewrite(one, Placement.of({"a": "texture"}), machine, analyse_source(one))
