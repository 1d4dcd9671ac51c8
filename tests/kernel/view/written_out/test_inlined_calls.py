"""Calls of device functions written out: the same bits, and arrays that can be moved."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.source import source_obstacle
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement, Way

MACHINE = load_machine("A100")
N, M = 96, 8
FUNCTIONS = """
#define TWO 2
__device__ float at(const float *a, int i, int n)
{
    // Zero outside.
    if (i < 0 || i >= n)
        return 0;
    return a[i];
}
__device__ float dot(const float *a, const float *__restrict__ b, int n) {
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[k] * b[k];
    return s;
}
__device__ void add(float *sum, const float a[], int i) { const int n = TWO * i; *sum += at(a, n, 64) + a[i]; }
__device__ void put(float &to, const float *a, int i) { if (a[i] < 0) return; to = a[i]; }
static __device__ float2 pair(const float *a, int i) { float2 p; p.x = a[i]; p.y = a[i + 1]; return p; }
__device__ int count;
__device__ float counted(const float *a, int i) { return a[i] + count; }
"""  # noqa: E501
KERNEL = """
extern "C" __global__ void k(const float *x, const float *y, float *o, int n, int m) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    {statement}
    if (i < n) o[i] = s;
}}
"""


def made(statement, functions=FUNCTIONS):
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(-1, 1, N + 2 * M + 64).astype(np.float32) for _ in range(2))
    arguments = [x, y, np.zeros(N, np.float32), np.int32(N), np.int32(M)]
    source = functions + KERNEL.format(statement=statement)
    return named_case(make_case("k", source, arguments, block=32, grid=3, arch="sm_80"))


def output(case):
    return execute(compile_case(case), case.launch, case.inputs).output("o").tobytes()


STATEMENTS = [
    "s = at(x, i, n);",
    "s = at(x, i - 1, n) + at(y, i + 1, n) * at(&x[2], i, m);",
    "s = dot(x + i, y, m);",
    "s += dot(&x[i], y + 2 * (i % 4), m) * 2;",
    "float d = dot(x, y + i, m); s = d * d;",
    "const float n2 = at(x, 1, n), m2 = at(y, 2, n); s = n2 + m2;",
    "if (i > 7) s = dot(x, y, m); else s = dot(y, x, i % 8);",
    "if (dot(x, y, i % 3) > 0.1f) s = 1; else if (at(x, i, n) > 0) s = 2;",
    "for (int k = 0; k < m; k++) s += at(x, i + k, n);",
    "for (int k = 0; k < at(x, i, n) * 4; k++) s += 1;",
    "while (s < 3 && at(y, i, n) > 0) s += at(y, i, n) + 1;",
    "s = i & 1 ? at(x, i, n) : dot(x, y, m);",
    "add(&s, x, i / 4);",
    "if (i & 2) add(&s, y, i / 4);",
    "put(s, x, i); put(s, y + 1, i);",
    "const float *p = x + i; p += 2; s = at(p, 1, n) + dot(p, p, 2);",
    "float2 v = pair(x, i); s = v.x - v.y + pair(y, i).x;",
    "s = counted(x, i);",
    "int a = i; s = at(x, a, n);",
    "do s += at(x, i, n) + 1; while (s < 2);",
    "s = fmaxf(at(x, i, n), -at(y, i, n)); // largest",
    "#pragma unroll\n    for (int k = 0; k < 4; k++)\n        s += dot(x + k, y, m);",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_arrays_move_inside_functions_and_the_bits_stay(statement):
    case = made(statement)
    view = analyse_source(case)
    expected = output(case)
    assert view.inlined is not None
    assert output(replace(case, source=view.inlined.source)) == expected
    moved = [a for a in ("x", "y") if view.array(a).accesses]
    assert moved
    assert all(source_obstacle(view, array, Way.INTRINSIC) is None for array in moved)
    for space in ("readonly", "texture", "constant", "shared"):
        placement = Placement.of(
            {
                array: space
                for array in moved
                if source_obstacle(view, array, MACHINE.space(space).way) is None
            }
        )
        written = rewrite(case, placement, MACHINE, view)
        assert output(written.case) == expected, space


@pytest.mark.parametrize(
    "function",
    [
        "__device__ float f(const float *a, int i) { return i ? f(a, i - 1) : a[0]; }",
        "__device__ float f(const float *a, int i) { static int c; c = i; return a[c]; }",
        "__device__ float f(const float *a, int i) { __shared__ int c; c = 1; return a[c]; }",
        "__device__ float f(const float *a, int i) { auto g = [&] { return a[i]; }; return g(); }",
        "__device__ float f(const float *a, int i) { e: if (a[i] < -2) goto e; return a[i]; }",
        "__device__ float f(const float *a, int i = 1, int = 2) { return a[i]; }",
        "__device__ int m; __device__ float f(const float *a, int i) { return a[i + m]; }",
        "#define C 1\n__device__ float f(const float *a, int i) { return a[i + C]; }\n"
        "#undef C\n#define C 2",
        "struct F { __device__ float f(const float *a, int i) const { return a[i]; } };\n"
        "__device__ F g;\n#define f g.f",
    ],
)
def test_what_cannot_be_written_out_stays_an_obstacle(function):
    view = analyse_source(made("s = f(x, i);", function))
    assert view.inlined is None
    assert "passed to function 'f'" in source_obstacle(view, "x", Way.INTRINSIC)


def test_accesses_keep_their_lines():
    case = made("s = dot(x, y, m) +\n        at(x, i, n);\n    s += x[i];")
    lines = case.source.splitlines()
    view = analyse_source(case)
    found = {lines[a.line - 1].strip() for a in view.array("x").accesses}
    assert found == {"s += a[k] * b[k];", "return a[i];", "s += x[i];"}


def test_functions_stay_and_calls_say_what_they_were():
    text = analyse_source(made("s = dot(x, y, m);")).inlined.source
    assert FUNCTIONS in text
    assert "float dot_result; // dot(x, y, m), written out" in text
    assert "s = dot_result;" in text
