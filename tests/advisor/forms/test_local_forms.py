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
