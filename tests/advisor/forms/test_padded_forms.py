"""Advice on kernels whose own shared arrays have bank conflicts."""

import numpy as np
import pytest

from benchmarks.own_arrays.__main__ import cases
from placewise import Placement, advise, make_case, rewrite
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import CaseError

SOURCE = """
__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
"""


def transpose(source=SOURCE, n=1024):
    arguments = [np.ones((n, n), np.float32), np.zeros((n, n), np.float32), np.int32(n)]
    return make_case("transpose", source, arguments, block=(32, 32), grid=(n // 32, n // 32))


@pytest.mark.slow
def test_rows_of_a_transpose_are_padded():
    found = advise(transpose(), "A100", finalists=1)
    best = found.recommended
    assert best is not None
    assert best.placement.padded == ("tile",)
    assert "float tile[32][32 + 1];" in best.rewritten.case.source
    assert best.verification.identical
    assert found.verdict.startswith("Pad tile in shared memory: predicted")
    assert found.present.timed.conflicts
    assert not best.timed.conflicts
    (document,) = (o for o in found.to_dict()["options"] if o["padded"])
    assert document["padded"] == ["tile"]
    assert document["moves"] == []


@pytest.mark.slow
def test_rows_without_conflicts_stay():
    found = advise(transpose(SOURCE.replace("[32][32]", "[32][33]")), "A100", finalists=1)
    assert not any(o.placement.padded for o in found.options)


@pytest.mark.slow
def test_elements_of_a_scan_are_spread():
    """A work-efficient prefix sum, whose strides of 2, 4, 8 … meet in the same banks."""
    case = next(one for one in cases() if one.kernel == "scan")
    best = advise(case, "A100", finalists=1).recommended
    assert best is not None
    assert best.placement.padded == ("temp",)
    assert best.rewritten.case.launch.shared_bytes == 4096 + 128
    assert best.verification.identical


def test_a_shared_array_is_padded_where_the_user_asks_for_it():
    found = write_placement(transpose(n=64), "A100", {"tile": "padded"})
    assert "float tile[32][32 + 1];" in found.rewritten.case.source
    assert found.verification.identical


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        ({"in": "padded"}, "A100 has no space 'padded'"),
        ({"tile": "constant"}, "go back to global, or be padded, nowhere else"),
        ({"tile": "padded", "in": "readonly"}, "it moves alone"),
        ({"other": "padded"}, "no space 'padded'"),
    ],
)
def test_what_cannot_be_padded_is_an_error(moves, reason):
    with pytest.raises(CaseError, match=reason):
        write_placement(transpose(n=64), "A100", moves)


@pytest.mark.parametrize(
    "placement",
    [
        {"tile": "padded"},
        Placement((("in", "global"), ("out", "global"), ("tile", "shared")), padded=("tile",)),
    ],
)
def test_a_recommended_padding_can_be_written_again(placement):
    found = rewrite(transpose(n=64), placement, "A100")
    assert "float tile[32][32 + 1];" in found.case.source
    with pytest.raises(CaseError, match="it moves alone"):
        rewrite(transpose(n=64), {"tile": "padded", "in": "readonly"}, "A100")
