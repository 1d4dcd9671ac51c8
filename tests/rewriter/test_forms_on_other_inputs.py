"""Forms of kernels that leave, store and count in unusual ways, on inputs no proof has seen."""

from dataclasses import replace

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
struct __align__(8) Two { float x, y; };
__global__ void k(const float *a, const float *w, const int *at, float *out, Two *two, int n, int m)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; """


def case(body: str, seed: int, n: int = 90, m: int = 24, blocks: int = 3):
    rng = np.random.default_rng(seed)
    arguments = [
        rng.integers(-4, 8, n + 8).astype("f4"), rng.integers(-4, 8, 4 * m + 64).astype("f4"),
        rng.permutation(n).astype("i4"), rng.integers(50, 99, n).astype("f4"),
        rng.integers(50, 99, 2 * n).astype("f4").reshape(n, 2), np.int32(n), np.int32(m),
    ]  # fmt: skip
    one = make_case("k", HEAD + body + " }", arguments, block=32, grid=blocks, arch="sm_80")
    return named_case(replace(one, options=replace(one.options, flags=("--fmad=false",))))


def form_of(one, placement):
    return rewrite(one, placement, A100, analyse_source(one)).case


def outcome(body: str, array: str, chunk: int | None = None, space: str = "shared", **other) -> str:
    """What a form written for one input of ``body`` does on another one."""
    return outcome_on(case(body, 2, **other), case(body, 1), Placement.of({array: space}, chunk))


def outcome_on(second, first, placement) -> str:
    """What a form written for the ``first`` case does on the ``second``: "same", "other" or
    "unclean"; "trap" where it refuses that input, "refused" where there is no such form."""
    try:
        written = form_of(first, placement).source
    except UnsupportedError:
        return "refused"
    expected = execute(compile_case(second), second.launch, second.inputs)
    form = replace(second, source=written)
    checker = Checker()
    found = execute(compile_case(form), form.launch, form.inputs, check=checker)
    if not checker.clean:
        message = checker.findings[0].message
        return "trap" if "trapped" in message else f"unclean: {message}"
    same = all(np.array_equal(value, found.output(name)) for name, value in expected.outputs)
    return "same" if same else "other"


STORES = {
    "of one member": ("if (i < n) two[i].x = a[i];", "two"),
    "behind a return under two conditions": (
        "if (i >= n) return; if (a[i] < 2) { float q = a[i]; if (q < 0) return; } out[i] = a[i];",
        "out",
    ),
    "behind a return with an else": (
        "if (i >= n) return; if (a[i] < 0) return; else s = a[i]; out[i] = s;", "out",
    ),
    "behind a return in a loop": (
        "if (i >= n) return; for (int j = 0; j < m; j++) if (w[j] > a[i] + 7) return; out[i] = 1;",
        "out",
    ),
    "behind a return in a switch": (
        "if (i >= n) return; switch (i % 3) { case 0: return; default:; } out[i] = 1;", "out",
    ),
    "behind a return with a variable": (
        "if (i >= n) return; if (int z = i % 3) return; out[i] = 1;", "out",
    ),
    "past a goto": ("if (i < n) { if (a[i] < 0) goto end; out[i] = 1; } end:;", "out"),
    "in a window of unsigned numbers": (
        "unsigned u = i, r = 3; if (u - r < n - 2 * r) out[u] = a[u - r] + a[u + r];", "out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STORES)
def test_elements_that_are_not_stored_stay(what):
    body, array = STORES[what]
    assert outcome(body, array) == "same"


def test_plain_stores_fill_their_tile_themselves():
    one = case("if (i >= n) return; out[i] = a[i];", 1)
    written = form_of(one, Placement.of({"out": "shared"})).source
    assert "out[out_begin" not in written.partition("out_tile[")[0]
    assert outcome("if (i >= n) return; out[i] = a[i];", "out", n=70, blocks=5) == "same"


def test_a_scattered_store_of_one_block_is_for_one_block():
    body = "if (i < n) out[at[i]] = a[i];"
    first = case(body, 1, n=30, blocks=1)
    written = form_of(first, Placement.of({"out": "shared"}))
    assert "gridDim.x != 1" in written.source
    assert "exactly 30" in written.source


def test_a_length_that_only_the_grid_tells_is_for_that_grid():
    body = "if (a[i] > 0) s = a[i] + a[i + 1]; out[i] = s;"
    plain = HEAD.replace(", int n, int m", "")
    made = case(body, 1, n=96)
    first, *others = made.inputs.arguments[:-2]
    short = first.data[:96].copy()
    short[-1] = -1
    one = replace(made, source=plain + body + " }")
    arguments = (replace(first, data=short), *others)
    one = replace(one, inputs=replace(one.inputs, arguments=arguments))
    written = form_of(one, Placement.of({"a": "shared"}))
    assert "gridDim.x != 3" in written.source


LOOPS = {
    "two loops with tiles of other lengths": (
        "for (int k = 0; k < m; k++) s += w[k];"
        "for (int k = 1; k < m - 1; k++) s += w[k - 1] * w[k + 1]; if (i < n) out[i] = s;",
        "same",
    ),
    "a variable from outside, under a condition": (
        "int k = 77; if (i % 3 == 0) { for (k = 0; k < m; k++) s += w[k] * 2; }"
        "if (i < n) out[i] = s + k;",
        "same",
    ),
    "a step that changes another variable": (
        "int t = 0; for (int k = 0; k < m; t += 2 * k++) s += w[k]; if (i < n) out[i] = s + t;",
        "refused",
    ),
    "a step of an outer loop that stores": (
        "if (i < n) { for (int j = 0; j < 3; out[i] = s + j++)"
        " { for (int k = 0; k < m; k++) s += w[k]; } }",
        "refused",
    ),
    "an outer variable that another one hides": (
        "for (int j = 0; j < 3; j++) { int b = j * 8; { int j = 50;"
        " for (int k = 0; k < m; k++) s += w[b + k] * j; } } if (i < n) out[i] = s;",
        "refused",
    ),
    "a comment in the head": (
        "int k; for (k = 0 /* a; b */; k < m; k++) s += w[k]; if (i < n) out[i] = s + k;",
        "same",
    ),
}


@pytest.mark.parametrize("what", LOOPS)
def test_loops_in_chunks(what):
    body, expected = LOOPS[what]
    assert outcome(body, "w", 4, m=31, n=80) == expected


def test_conditions_that_a_goto_passes_say_nothing():
    body = "if (i < 5) goto in; if (i >= 40) return; { in: s = w[i]; } if (i < n) out[i] = s;"
    assert outcome(body, "w") in ("refused", "same")


CHANGED = {
    "by assembly": 'int j = threadIdx.x; asm("add.s32 %0, %0, 5;" : "+r"(j)); s = w[j];',
    "chosen by a condition": "int j = threadIdx.x, q = 1; ((i & 1) ? j : q) = 40; s = w[j] + q;",
    "by a reference to one of two": (
        "int j = threadIdx.x, q = 1; int &r = (i & 1) ? j : q; r = 40; s = w[j] + q;"
    ),
    "by a reference in braces": "int j = threadIdx.x; int &r{j}; r += 20; s = w[j];",
    "by a struct of a reference": (
        "struct R { int &x; }; int j = threadIdx.x; R r{j}; r.x += 20; s = w[j];"
    ),
    "by a constructor": (
        "struct R { int &x; __device__ R(int &y) : x(y) { x += 20; } };"
        "int j = threadIdx.x; R r(j); s = w[j];"
    ),
    "by a lambda's own name for it": (
        "int j = threadIdx.x; auto f = [&z = j]() { z += 20; }; f(); s = w[j];"
    ),
    "by a lambda's pointer": (
        "int j = threadIdx.x; auto f = [z = &j]() { *z += 20; }; f(); s = w[j];"
    ),
    "behind another name of it": "int j = 0; const int &r = j; j = threadIdx.x + 9; s = w[r];",
    "in a loop, by a lambda": (
        "int k; auto f = [&]() { k += 2; }; for (k = 0; k < 9; k++) { f(); s += w[k]; }"
    ),
    "after its reference was made": ("int j = 0; int &r = j; j = threadIdx.x; r += 20; s = w[j];"),
    "after its address was taken": ("int j = 0; int *r = &j; j = threadIdx.x; *r += 20; s = w[j];"),
    "in the declaration before": "int j = threadIdx.x; float x = w[j++], y = w[j]; s = x + 2 * y;",
    "by the condition of its loop": (
        "int k; for (k = 0; w[k] < a[0] + 9 && k < 7; k++) s += 1; s += k;"
    ),
    "by the step of its loop": "for (int k = 0; k < 8; k++, s += w[k]) s += 1;",
    "to less than nothing, then widened": ("s = w[min((long long)(unsigned)(i - 4), 60LL)];"),
    "to less than nothing, then chosen": (
        "long long j = (unsigned)i - 4u; if (j > 60) j = 60; s = w[j];"
    ),
}


@pytest.mark.parametrize("how", CHANGED)
def test_tiles_hold_indices_that_change(how):
    body = f"{CHANGED[how]} if (i < n) out[i] = s;"
    assert outcome(body, "w") in ("same", "refused")


CONDITIONS = {
    "an unsigned limit of a start below zero": "for (int k = -3; k < u; k++) s += w[k + 3];",
    "a difference of unsigned numbers": "for (unsigned k = 0; k - 2u < 5u; k++) s += w[k];",
    "an unsigned difference as the limit": (
        "for (unsigned k = 0; k < u - 20u && k < 9; k++) s += w[k];"
    ),
    "a multiple of the variable": "for (int k = -9; 2 * k < m - 30; k++) s += w[k + 9];",
}


@pytest.mark.parametrize("what", CONDITIONS)
def test_whole_chunks_need_a_condition_that_holds_up_to_its_limit(what):
    body = f"unsigned u = m; {CONDITIONS[what]} if (i < n) out[i] = s;"
    assert outcome(body, "w", 4) == "refused"


INDICES = {
    "a struct": "int2 q; q.x = i; q.y = 0; const int to = q.x * 16 + (m & 3); q.x = 0; s = w[to];",
    "an array": "int q[2] = {i & 3, 0}; const int to = q[0] * 16 + (m & 3); q[0] = 0; s = w[to];",
    "the head of a loop": ("for (int k = i & 3, b = k * 16 + (m & 3); k < 4; k++) s += w[b];"),
}


@pytest.mark.parametrize("what", INDICES)
def test_rows_and_columns_are_those_of_the_index_when_it_was_made(what):
    body = f"{INDICES[what]} if (i < n) out[i] = s;"
    assert outcome(body, "w", space="texture2d") == "refused"


NEIGHBOURS = {
    "ends told apart": (
        "if (i >= n) return; s = i == 0 ? 0 : at[i - 1]; s += i != n - 1 ? at[i + 1] : 0;"
        " out[i] = s + at[i];"
    ),
    "ends told apart in one condition": (
        "if (i >= n) return; if (i != 0 && i + 1 != n) s = at[i - 1] + at[i + 1];"
        " out[i] = s + at[i];"
    ),
    "an unsigned number": (
        "unsigned j = i; if (j >= n) return; if (j != 0u) s = at[j - 1]; out[i] = s + at[j];"
    ),
}


@pytest.mark.parametrize("what", NEIGHBOURS)
@pytest.mark.parametrize("n", [66, 96])
def test_conditions_that_leave_out_one_end_hold_for_arrays_of_any_length(what, n):
    assert outcome(NEIGHBOURS[what], "at", n=n) == "same"


def case_of_rows(columns: int, pitch: int):
    """Rows whose neighbours in a row are added, with no element behind the last row's pitch."""
    source = """
    __global__ void k(const float *x, float *out, int n, int p) {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        float s = 0;
        for (int c = 0; c < n; c++) {
            s += x[row * p + c];
            if (c + 1 != n) s += x[row * p + c + 1] / 2;
            if (c != 0) s -= x[row * p + c - 1];
        }
        out[row] = s; }"""
    x = np.random.default_rng(columns).integers(-9, 9, 64 * pitch).astype("f4")
    arguments = [x, np.zeros(64, "f4"), np.int32(columns), np.int32(pitch)]
    return make_case("k", source, arguments, block=32, grid=2, arch="sm_80")


def test_a_chunk_at_the_end_of_a_row_stays_in_the_row():
    first = named_case(case_of_rows(64, 72))
    for columns in (64, 61):
        second = named_case(case_of_rows(columns, columns))
        assert outcome_on(second, first, Placement.of({"x": "shared"}, 8)) == "same"


def test_atomics_that_steer_a_loop_are_not_merged():
    body = "for (int t = 0; t < 9 && atomicSub(&bins[i & 3], 1) > 0; t++) s += 2; out[i] = s;"
    source = "__global__ void k(int *bins, float *out) { int i = threadIdx.x; float s = 0; "
    other = "for (int t = 0; atomicSub(&bins[i & 3], 1) > 0; t++) s += 2; out[i] = s; }"
    for text in (f"{source}{body} }}", source + other):
        arguments = [np.full(4, 20, np.int32), np.zeros(32, np.float32)]
        one = named_case(make_case("k", text, arguments, block=32, grid=1, arch="sm_80"))
        use = analyse_source(one).array("bins")
        assert use.tile is None or not use.tile.merge


def test_assembly_in_a_called_function_may_end_a_thread():
    leave = '__device__ void leave(float x) { if (x < 0) asm("exit;"); }'
    body = "if (i < n) { leave(a[i]); out[i] = 2 * a[i]; }"
    one = replace(case("out[0] = 0;", 1), source=leave + HEAD + body + " }")
    with pytest.raises(UnsupportedError, match="may end a thread"):
        form_of(one, Placement.of({"a": "shared"}))
