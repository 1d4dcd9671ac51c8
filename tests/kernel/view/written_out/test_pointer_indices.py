"""Local pointers that are assigned, chosen, compared or subtracted become indices."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.source import source_obstacle
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

SPACES = ("readonly", "texture", "constant", "shared")
HEAD = """struct Pair { float x, y; };
static __device__ float first(const float *p, int n) { return p[n]; }
#define AT(x) (x) + 3
__global__ void k(const float *a, const float *b, const Pair *c, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
"""


def case(*lines):
    rng = np.random.default_rng(1)
    a, b, o = (rng.uniform(-1, 1, size).astype(np.float32) for size in (300, 300, 150))
    c = np.zeros(300, np.dtype([("x", "f4"), ("y", "f4")]))
    c["x"], c["y"] = a[::-1], b[::-1]
    source = HEAD + "".join(f"    {line}\n" for line in lines) + "}\n"
    return make_case("k", source, [a, b, c, o, np.int32(150)], block=64, problem=150)


def run(one):
    named = named_case(one)
    return execute(compile_case(one), named.launch, named.inputs).output("o")


def spelled(one):
    view = analyse_source(one)
    assert view.inlined is not None
    return " ".join(view.inlined.source.partition("return;")[2].split())


ASSIGNED = {
    "later": ("const float *p;", "p = a + i;", "o[i] = *p + p[3];"),
    "by a branch": ("const float *p;", "if (i & 1) p = a; else p = a + n;", "o[i] = p[i / 2];"),
    "again": ("const float *p = a + i;", "o[i] = *p;", "p = a;", "o[i] += p[i + 1];"),
    "in a chain": ("const float *p, *q;", "p = q = &a[i];", "o[i] = p[0] - q[n / 2];"),
    "null at first": ("const float *p = nullptr;", "if (n) p = a + 1;", "o[i] = p[i];"),
    "from one another": (
        "const float *p = a, *q = a + 5, *t = p;", "if (i % 3) { t = q; q = p; p = t; }",
        "o[i] = p[i] * 2 - q[i];",
    ),
    "in a loop": (
        "const float *p = a;", "float s = 0;",
        "for (int j = 0; j < 4; j++) { p = &a[i + j]; s = s * 2 + *p; }", "o[i] = s;",
    ),
    "to the parameter": ("if (i & 1) a = a + 7;", "o[i] = a[i];"),
    "with a step": ("const float *p;", "p = a + i;", "o[i] = *p++;", "o[i] += *++p - p[-1];"),
    "in a lambda": (
        "const float *p; p = a + i;", "auto f = [&](int j) { return p[j]; };", "o[i] = f(2);",
    ),
}  # fmt: skip
CHOSEN = {
    "at its declaration": ("const float *p = i & 1 ? a : a + n;", "o[i] = p[i / 3];"),
    "in place": ("o[i] = (i & 1 ? a + 2 : a)[i] + *(i > 5 ? &a[i] : a);",),
    "of pointers": ("const float *p = a + 1, *q = a + i;", "o[i] = *(i & 2 ? p : q);"),
    "of none and one": ("const float *p = i < 5 ? 0 : a + i;", "if (i >= 5) o[i] = *p;"),
}
TOGETHER = {
    "of two arrays": ("const float *p = a + i, *q = b + i;", "o[i] = *p - *q;"),
    "beside a number": ("const float k = 2, *p = a + i;", "o[i] = *p * k;"),
    "a later one": ("const float *p = a + i, *q;", "q = p + 1;", "o[i] = *p - *q;"),
    "of a loop": (
        "float s = 0;", "for (const float *p = a + i, *e = a + i + 5; p != e; ++p) s = s * 2 + *p;",
        "o[i] = s;",
    ),
}  # fmt: skip
RECKONED = {
    "a difference": ("const float *p = a + i / 2;", "o[i] = a[p - a] + (p + 2 - a) / 2;"),
    "a bound": ("const float *p = a + i, *e = a + 100;", "o[i] = p < e ? *p : a[e - a - 1];"),
    "a search": (
        "const float *p = a + i, *e = a + i + 20;", "while (p < e && *p < 0) p++;",
        "o[i] = p - (a + i);",
    ),
    "unsigned terms": (
        "unsigned u = i; long long w = -2; const float *p; p = a + 2 + u;",
        "o[i] = *(p + w) + p[-2] + (p - 2 + u)[w + 2];",
    ),
}  # fmt: skip
PASSED = {
    "to a function": ("const float *p; p = i & 1 ? a : a + 3;", "o[i] = first(p, i);"),
    "to a load function": ("const float *p; p = a + i;", "o[i] = __ldg(p) + __ldg(p + 1);"),
}
FORMS = {
    f"{kind} {name}": lines
    for kind, forms in (
        ("assigned", ASSIGNED), ("chosen", CHOSEN), ("declared beside", TOGETHER),
        ("reckoned with", RECKONED), ("passed", PASSED),
    )
    for name, lines in forms.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def machine():
    return load_machine("A100")


@pytest.mark.parametrize("form", FORMS)
def test_its_array_moves_with_the_same_bits(form, machine):
    one = case(*FORMS[form])
    view = analyse_source(one)
    expected = run(one)
    for space in SPACES:
        written = rewrite(one, Placement.of({"a": space}), machine, view).case
        assert np.array_equal(run(written), expected), space


def test_elements_reached_by_an_arrow(machine):
    one = case("const Pair *p = c + i;", "o[i] = p->x - (p + 1)->y;", "p = c;", "o[i] += p->y;")
    view = analyse_source(one)
    for space in ("readonly", "constant", "shared"):
        written = rewrite(one, Placement.of({"c": space}), machine, view).case
        assert np.array_equal(run(written), run(one))
    assert "c[p_at].x - c[p_at + 1].y; p_at = 0; o[i] += c[p_at].y;" in spelled(one)


def test_a_written_array_is_followed(machine):
    one = case("float *p; p = i & 1 ? o + i : &o[i];", "*p = a[i]; p[0] += 2;", "atomicAdd(p, 1);")
    written = rewrite(one, Placement.of({"o": "shared"}), machine, analyse_source(one)).case
    assert np.array_equal(run(written), run(one))


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (ASSIGNED["by a branch"], "int p_at; if (i & 1) p_at = 0; else p_at = n; o[i] = a[p_at"),
        (CHOSEN["at its declaration"], "const int p_at = i & 1 ? 0 : n; o[i] = a[p_at + i / 3]"),
        (TOGETHER["beside a number"], "const float k = 2; const int p_at = i; o[i] = a[p_at] * k"),
        (TOGETHER["of a loop"], "for (int p_at = i, e_at = i + 5; p_at != e_at; ++p_at)"),
        (RECKONED["a difference"], "a[((long long)p_at)] + (((long long)(p_at + 2))) / 2"),
    ],
)
def test_what_is_written(lines, text):
    assert text in spelled(case(*lines))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("const float *p = i & 1 ? a : b;", "o[i] = p[i] + c[i].x;"),
         "one of several pointers that a condition chooses (line 8)"),
        (("const float *p; p = a;", "if (i) p = b;", "o[i] = p[i] + c[i].x;"),
         "assigned to 'p', which is more than an index (line 8)"),
        (("const float *t = a; a = b; b = t;", "o[i] = a[i] - b[i] + c[i].x;"),
         "assigned another pointer (line 8)"),
    ],
)  # fmt: skip
def test_a_pointer_into_either_of_two_arrays_stops_these_alone(lines, why, machine):
    one = case(*lines)
    view = analyse_source(one)
    with pytest.raises(UnsupportedError) as refused:
        rewrite(one, Placement.of({"a": "texture"}), machine, view)
    assert why in refused.value.message
    with pytest.raises(UnsupportedError):
        rewrite(one, Placement.of({"b": "shared"}), machine, view)
    written = rewrite(one, Placement.of({"c": "shared"}), machine, view).case
    assert np.array_equal(run(written), run(one))


@pytest.mark.parametrize(
    "lines",
    [
        ("const float *p; p = a + AT(i);", "o[i] = p[0];"),
        ("const float *p; p = a; const float *&r = p;", "o[i] = r[i];"),
        ("const float *p; p = a; auto f = [p](int j) { return p[j]; };", "o[i] = f(i);"),
        ("const float *p; p = a; { float a = 3; o[i] = p[i] + a; }",),
        ("__shared__ const float *p; p = a;", "o[i] = p[i];"),
        ("const float *p = nullptr; if (i & 1) p = a;", "o[i] = p ? p[i] : 2;"),
    ],
)
def test_what_cannot_be_an_index_is_refused_or_right(lines, machine):
    one = case(*lines)
    view = analyse_source(one)
    for space in SPACES:
        obstacle = source_obstacle(view, "a", machine.space(space).way)
        if obstacle is None:
            written = rewrite(one, Placement.of({"a": space}), machine, view).case
            assert np.array_equal(run(written), run(one)), space
        else:
            assert "(line " in obstacle


STEPS = {
    "once": ("a += i;", "o[i] = a[0] + *(a + 3) + (&a[1])[2];"),
    "back": ("a += n;", "b -= -i;", "o[i] = a[-i] + b[1];"),
    "in 64 bits": ("a += (size_t)i;", "const float *p = a + 4;", "o[i] = p[2] + a[1];"),
    "beside others": ("a += i; o += i;", "const float q = *a++;", "*o = q + a[1];"),
}


@pytest.mark.parametrize("form", STEPS)
def test_an_array_that_the_body_moves_first_moves_with_the_same_bits(form, machine):
    one = case(*STEPS[form])
    view, expected = analyse_source(one), run(one)
    for space in SPACES:
        written = rewrite(one, Placement.of({"a": space}), machine, view).case
        assert np.array_equal(run(written), expected), space


def test_the_only_step_of_an_array_becomes_a_constant():
    one = case(
        "a += blockIdx.x; b += 2;", "if (n > 3) b -= 1;",
        "for (int k = 0; k < 80; k++) o[i] += a[k] + b[i];",
    )  # fmt: skip
    text = "const int a_at = blockIdx.x; b += 2; if (n > 3) b -= 1; for (int k = 0; k < 80; k++)"
    assert f"{text} o[i] += a[a_at + k] + b[i];" in spelled(one)


NO_STEPS = {
    "used before": ("o[i] = a[1];", "a += 2;", "o[i] += a[3];"),
    "in a branch": ("if (i & 1) a += 2;", "o[i] = a[3];"),
    "by itself": ("a += a[0] > 2 ? 1 : 0;", "o[i] = a[3];"),
}


@pytest.mark.parametrize("form", NO_STEPS)
def test_other_steps_stay(form):
    view = analyse_source(case(*NO_STEPS[form]))
    assert view.inlined is None or "const int a_at" not in view.inlined.source


def test_an_array_that_the_body_moves_first_has_tiles_by_chunks(machine):
    lines = (
        "a += blockIdx.x * 3;", "o += blockIdx.x * 64;", "float s = 0;",
        "for (int k = 0; k < n; k++) s = s * 2 + a[k];", "o[threadIdx.x] = s;",
    )  # fmt: skip
    one = case(*lines)
    view = analyse_source(one)
    assert ("a",) in [plan.arrays for plan in view.chunk_plans]
    written = rewrite(one, Placement.of({"a": "shared"}, 16), machine, view).case
    assert "a_tile[" in written.source
    assert np.array_equal(run(written), run(one))
