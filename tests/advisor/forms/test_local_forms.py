"""Advice on kernels whose threads have arrays of their own."""

import numpy as np
import pytest

from placewise import advise, make_case, rewrite, verify
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import CaseError

SOURCE = """
__global__ void count(const unsigned char *in, int *out, int n, int per) {
    int counts[16] = {0};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < per; k++) counts[in[k * n + i] & 15]++;
    for (int k = 0; k < 16; k++) out[k * n + i] = counts[k];
}
"""


def count(n=1 << 14, per=32):
    data = np.random.default_rng(1).integers(0, 256, (per, n)).astype(np.uint8)
    arguments = [data, np.zeros((16, n), np.int32), np.int32(n), np.int32(per)]
    return make_case("count", SOURCE, arguments, block=256, problem=n)


@pytest.mark.slow
def test_counters_of_each_thread_go_to_shared_memory():
    found = advise(count(), "A100", finalists=1)
    best = found.recommended
    assert best is not None
    present = found.present.placement
    assert best.placement.moved(present) == (("counts", "local", "shared"),)
    assert best.verification.identical
    assert 1 / best.ratio > 2
    assert found.verdict.startswith("Move counts → shared: predicted")
    again = rewrite(count(), best.placement, "A100")
    assert again.case.source == best.rewritten.case.source


def test_the_array_that_the_user_names_goes_to_shared_memory():
    small = count(n=1024)
    found = write_placement(small, "A100", {"counts": "shared"})
    assert "__shared__ int counts[16][256];" in found.rewritten.case.source
    assert found.verification.identical
    assert verify(rewrite(small, {"counts": "shared"}, "A100"), small).identical
    with pytest.raises(CaseError, match="can go to shared, nowhere else"):
        rewrite(small, {"counts": "constant"}, "A100")


WALK = """
__global__ void walk(const float *in, float *out, int rounds) {
    float ring[96];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 96; k++) ring[k] = in[i];
    float sum = 0.0f;
    for (int r = 0, at = 0; r < rounds; r++, at = (at + 5) % 96) ring[at] += sum += ring[at];
    out[i] = sum;
}
"""


def walk(block, n=1 << 16, source=WALK):
    data = np.random.default_rng(1).random(n, np.float32)
    arguments = [data, np.zeros_like(data), np.int32(100)]
    return make_case("walk", source, arguments, block=block, problem=n)


def test_smaller_blocks_are_named_where_a_block_s_arrays_do_not_fit():
    found = advise(walk(256), "RTX2080Ti", finalists=1)
    (refused,) = [c for c in found.illegal if c.array == "ring"]
    # 96 floats of each thread; a kernel may declare 48 KB.
    assert refused.space == "shared"
    assert refused.reason.startswith("the arrays of a block's 256 threads take 96 KB, 48 KB of")
    assert refused.reason.endswith("those of 128 threads would fit")
    # 256 blocks of 256 threads at a time: 24 MB.
    assert "each thread's own 'ring' in local memory: those of the 65,536 threads" in found.why
    assert found.why.endswith("take 24 MB, more than L2 holds (5.5 MB).")
    advice = "Ask again with blocks of at most 128 threads: then each thread's 'ring' fits"
    assert found.verdict.endswith(f"{advice} shared memory.")


def test_an_array_that_cannot_move_is_named_with_the_reason():
    source = WALK.replace("float ring[96];", "float ring[96] = {1.0f};")
    found = advise(walk(128, source=source), "RTX2080Ti", finalists=1)
    (refused,) = [c for c in found.illegal if c.array == "ring"]
    assert refused.reason == "it is set to other values than zero where it is declared (line 3)"
    assert found.why.endswith("accesses each thread's own 'ring' in local memory.")


@pytest.mark.slow
def test_blocks_of_the_size_that_was_named_gain():
    found = advise(walk(128), "RTX2080Ti", finalists=1)
    assert not [c for c in found.illegal if c.array == "ring"]
    assert found.verdict.startswith("Move ring → shared: predicted")
    assert "Ask again" not in found.verdict
