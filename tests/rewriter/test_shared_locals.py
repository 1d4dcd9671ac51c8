"""Arrays of each thread's own, moved to shared memory."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import ExecutionError, UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.local_arrays import local_array, local_array_names
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.rewriter.own.shared_locals import share_local

SOURCE = """
#define BINS 16
template <typename T>
__global__ void count(const unsigned char *in, T *out, int n, int per) {
    T counts[BINS] = {0};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < per; k++) counts[in[k * n + i] % BINS]++;
    counts[counts[0] > 3 ? 1 : 2] += 5;
    for (int k = 0; k < BINS; k++) out[k * n + i] = counts[k];
}
"""
DECLARED = "T counts[BINS] = {0};"
INDEX = """
struct X { int at; __device__ operator int() const { return at; } };
__device__ X operator*(X a, int) { return a; }
"""
N, PER = 150, 20


def case(source=SOURCE, block=(64, 1, 1), kernel="count<int>", dtype=np.int32, n=N):
    data = np.random.default_rng(4).integers(0, 256, (PER, n)).astype(np.uint8)
    arguments = [data, np.zeros((16, n), dtype), np.int32(n), np.int32(PER)]
    grid = -(-n // block[0])
    return make_case(kernel, source, arguments, block=block, grid=grid)


def shared(given):
    found = share_local(given, analyse_source(given), local_array(given, "counts"), "shared")
    assert found.checks
    return found.case


def result(given):
    named, checker = named_case(given), Checker()
    found = execute(
        compile_case(named), named.launch, named.inputs, check=checker, with_buffers=True
    )
    assert checker.clean, checker.findings
    return found.output("out")


def counted(given):
    bins = named_case(given).inputs.arrays[0].data % 16
    counts = (bins[None] == np.arange(16)[:, None, None]).sum(axis=1)
    counts[np.where(counts[0] > 3, 1, 2), np.arange(counts.shape[1])] += 5
    return counts


def test_each_thread_has_its_elements_in_shared_memory():
    before = case()
    after = shared(before)
    assert "__shared__ T counts[BINS][64];" in after.source
    assert "for (int at = 0; at < (BINS); ++at) counts[at][this_thread] = 0;" in after.source
    assert "counts[in[k * n + i] % BINS][this_thread]++;" in after.source
    np.testing.assert_array_equal(result(before), counted(before))
    np.testing.assert_array_equal(result(after), counted(before))
    other = case(n=70)
    np.testing.assert_array_equal(result(replace(other, source=after.source)), counted(other))


def test_lanes_meet_in_no_bank_and_local_memory_is_left():
    def sites(given):
        named = named_case(given)
        run = simulate_launch(compile_case(given), named.launch, named.inputs, load_machine("A100"))
        return run.traffic.sites

    assert any(s.site.space == "local" and s.requests for s in sites(case()))
    after = [s for s in sites(shared(case())) if s.requests]
    assert not any(s.site.space == "local" for s in after)
    own = [s for s in after if s.site.space == "shared"]
    assert sum(s.wavefronts for s in own) == sum(s.requests for s in own) > 0


def test_macros_that_stand_for_sums_stay_one_index():
    source = SOURCE.replace("#define BINS 16", "#define BINS 8 + 8\n#define AT k % 8 + k / 8 * 8")
    source = source.replace("% BINS", "% (BINS)").replace("k < BINS", "k < (BINS)")
    source = source.replace("out[k * n + i] = counts[k]", "out[k * n + i] = counts[AT]")
    after = shared(case(source))
    assert "counts[BINS][64];" in after.source
    assert "= counts[AT][this_thread];" in after.source
    np.testing.assert_array_equal(result(after), counted(case()))


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(UnsupportedError, match="65536 bytes of static shared memory"):
        shared(case(block=(1024, 1, 1)))


@pytest.mark.parametrize(
    ("block", "thread"),
    [
        ((16, 4, 1), "threadIdx.x + 16 * threadIdx.y"),
        ((8, 4, 2), "(threadIdx.y + 4 * threadIdx.z)"),
    ],
)
def test_blocks_of_more_dimensions(block, thread):
    source = SOURCE.replace(
        "blockIdx.x * blockDim.x + threadIdx.x;",
        "blockIdx.x * 64 + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
    )
    given = case(source, (64, 1, 1))
    given = replace(given, launch=replace(given.launch, block=block))
    after = shared(given)
    assert thread in after.source
    np.testing.assert_array_equal(result(after), counted(given))


def test_blocks_of_another_shape_trap():
    after = shared(case())
    named = named_case(replace(after, launch=replace(after.launch, block=(32, 1, 1))))
    kernel = compile_case(named)
    with pytest.raises(ExecutionError, match="trap"):
        execute(kernel, named.launch, named.inputs)


def test_an_array_of_a_block_within_a_loop_begins_anew():
    source = (
        SOURCE.replace(DECLARED, "").replace(
            "for (int k = 0; k < per; k++) counts",
            "for (int round = 0; round < 2; round++) { T counts[BINS] = {};\n"
            "    for (int k = 0; k < per; k++) counts",
        )
        + "}"
    )
    source = source.replace("out[k * n + i] = counts[k];", "out[k * n + i] = counts[k]; }", 1)
    given = case(source[: source.rindex("}")])
    assert local_array_names(given) == ("counts",)
    np.testing.assert_array_equal(result(shared(given)), counted(given))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (DECLARED, "T counts[BINS] = {1};", "other values than zero"),
        (DECLARED, "T counts[BINS] = {0}, more = 0;", "has other variables"),
        (DECLARED, "const int zero = 0; static T counts[BINS] = {0};", "type name|of its threads"),
        (DECLARED, "typedef T Counts[BINS]; Counts counts = {0};", "type name"),
        (DECLARED, "T counts[BINS] = {0}; T *p = counts; p[0] = 0;", "used as a pointer"),
        (DECLARED, "T counts[BINS] = {0}; auto f = [=]() { return counts[0]; };", "lambda"),
        (DECLARED, DECLARED + " atomicAdd(&counts[0], 0); T &r = counts[1];", "passed on"),
        (DECLARED, "T counts[] = {0};", "not declared as"),
        (DECLARED, "T counts[BINS // bins\n] = {0};", "not declared as"),
        (
            DECLARED,
            "struct S { int v = 7; } s; S counts[BINS] = {};",
            "neither numbers nor vectors",
        ),
        (DECLARED, "float4 counts[BINS] = {};", "has no numbers"),
        (DECLARED, "KEPT counts[BINS];", "not declared as"),
        (DECLARED, DECLARED + " { T counts[2]; counts[0] = n; }", "several arrays"),
        ("+= 5;", "+= 5; const T &r = counts[1]; out[0] = (&r)[n % 2];", "passed on"),
        ("+= 5;", "+= 5; counts[X{1}]++;", "index is no number"),
        ("in[k * n + i] % BINS]", "in[k * n + i] % BINS // bin\n]", "comment or directive"),
    ],
)
def test_other_uses_are_refused(old, new, reason):
    source = "#define KEPT static int\n" + INDEX + SOURCE.replace(old, new)
    if "float4" in new or "struct" in new:
        member = "x" if "float4" in new else "v"
        source = (
            source.replace("BINS]++", f"BINS].{member}++")
            .replace("counts[counts[0] > 3 ? 1 : 2] += 5;", "")
            .replace("= counts[k]", f"= counts[k].{member}")
        )
    with pytest.raises(UnsupportedError, match=reason):
        local_array(case(source), "counts")


def test_arrays_of_two_dimensions():
    source = SOURCE.replace(DECLARED, "T counts[4] [BINS / 4] = {};").replace(
        "counts[in[k * n + i] % BINS]++", "counts[in[k * n + i] % BINS / 4][in[k * n + i] % 4]++"
    )
    source = source.replace("counts[counts[0] > 3 ? 1 : 2] += 5", (
        "counts[0][counts[0][0] > 3 ? 1 : 2] += 5"
    )).replace("= counts[k]", "= counts[k / 4][k % 4]")  # fmt: skip
    given = case(source)
    after = shared(given)
    assert "__shared__ T counts[4] [BINS / 4][64];" in after.source
    assert "counts[0][counts[0][0][this_thread] > 3 ? 1 : 2][this_thread] += 5" in after.source
    np.testing.assert_array_equal(result(after), counted(given))
