"""Accesses that scatter are named, with the transactions that their lanes need at least."""

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor import advise
from placewise.report.advice.files import as_text

N = 4096
SOURCE = """
struct Body { float x, y, z, vx, vy, vz, m, q; };
__constant__ float table[N];
__global__ void rows(const float *m, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float t = 0;
    for (int k = 0; k < 64; ++k) t += m[i * 64 + k];
    s[i] = t; }
__global__ void columns(const float *m, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float t = 0;
    for (int k = 0; k < 64; ++k) t += m[k * N + i];
    s[i] = t; }
__global__ void bodies(const Body *b, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; s[i] = b[i].x * b[i].m; }
__global__ void vectors(const float4 *v, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; s[i] = v[i].x + v[i].y + v[i].z + v[i].w; }
__global__ void look(const int *index, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; s[i] = table[index[i]]; }
"""


def patterns(kernel, data, **further):
    case = make_case(
        kernel,
        SOURCE,
        [data, np.zeros(N, np.float32)],
        block=128,
        problem=N,
        defines={"N": str(N)},
        **further,
    )
    return advise(case, "A100", finalists=0)


def test_a_row_for_each_lane_is_named():
    found = patterns("rows", np.ones(64 * N, np.float32))
    (sentence,) = found.patterns
    assert sentence.startswith("m, line 6: 32 sectors of 32 bytes for each access of a warp, 4 if")
    assert "Access patterns" in as_text(found)


@pytest.mark.parametrize(("kernel", "size"), [("columns", 64 * N), ("vectors", 4 * N)])
def test_neighbouring_lanes_are_not(kernel, size):
    found = patterns(kernel, np.ones(size, np.float32))
    assert found.patterns == ()
    assert "Access patterns" not in as_text(found)


def test_an_array_of_structs_is_named():
    # 32 bodies of 32 bytes lie in as many sectors.
    (sentence,) = patterns("bodies", np.ones(8 * N, np.float32)).patterns
    assert sentence.startswith("b, line 13: 32 sectors of 32 bytes")


# An array of which every block's tile is the whole, and one that is too large for a tile.
@pytest.mark.parametrize("elements", [N, 64 * N])
def test_where_data_say_the_place_no_layout_is_promised(elements):
    source = """
__global__ void gather(const int *at, const float *x, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[i] = x[at[i]]; }
"""
    at = np.random.default_rng(1).integers(0, elements, N, dtype=np.int32)
    data = [at, np.ones(elements, np.float32), np.zeros(N, np.float32)]
    case = make_case("gather", source, data, block=128, problem=N)
    (sentence,) = advise(case, "A100", finalists=0).patterns
    assert sentence.startswith("x, line 4: ")
    assert "loaded data say where" in sentence
    assert "placewise layout" not in sentence


@pytest.mark.parametrize(("different", "named"), [(1, False), (16, True)])
def test_scattered_look_ups_in_constant_memory_are_named(different, named):
    index = (np.arange(N) % different).astype(np.int32)
    found = patterns("look", index, constants={"table": np.ones(N, np.float32)}).patterns
    assert [s.startswith("table, line 17: the lanes of a warp ask for 16") for s in found] == (
        [True] if named else []
    )


INTERLEAVED = """
__global__ void sum(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        if (2 * k * t < blockDim.x) s[2 * k * t] += s[2 * k * t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
"""


def test_bank_conflicts_of_the_sources_own_shared_memory_are_named():
    data = [np.ones(16 * 256, np.float32), np.zeros(16, np.float32)]
    case = make_case("sum", INTERLEAVED, data, block=256, grid=16)
    loads, stores = advise(case, "A100", finalists=1).patterns
    # By hand: 4, 2, 1, 1 … 1 warps access with 2, 4, 8, 8, 8, 4, 2 and 1 lanes in a bank.
    taken = (4 * 2 + 2 * 4 + 8 + 8 + 8 + 4 + 2 + 1) / 12
    for kind, sentence in (("load", loads), ("store", stores)):
        assert sentence.startswith(f"line 8: {taken:.3g} wavefronts for each warp's {kind} of")
        assert "1 without bank conflicts" in sentence
