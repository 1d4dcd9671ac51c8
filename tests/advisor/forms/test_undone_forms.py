"""Advice on kernels that have arrays in constant or shared memory themselves."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import CaseError, UnsupportedError

SOURCE = """__constant__ float table[4096];
__global__ void k(const int *at, const float *a, float *o, int n)
{
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    __syncthreads();
    float s = tile[threadIdx.x];
    for (int r = 0; r < 16; r++) s += table[at[(i * 16 + r) % n] & 4095];
    o[i] = s;
}
"""


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(1)
    n = 128 * 64
    arguments = [
        rng.integers(0, 4096, n, dtype=np.int32), rng.uniform(size=n).astype("f4"),
        np.zeros(n, np.float32), np.int32(n),
    ]  # fmt: skip
    constants = {"table": rng.uniform(size=4096).astype("f4")}
    return make_case("k", SOURCE, arguments, block=128, grid=64, constants=constants)


@pytest.mark.slow
def test_a_table_read_at_scattered_places_goes_back_to_global_memory(case):
    found = advise(case, "A100")
    assert found.present.placement["table"] == "constant"
    assert found.present.placement["tile"] == "shared"
    undone = {
        name: option
        for option in found.options
        for name, _, to in option.placement.moved(found.present.placement)
        if name in ("table", "tile") and to == "global"
    }
    assert set(undone) == {"table", "tile"}
    assert all(o.proven for o in undone.values())
    # Lanes that read different words of constant memory are served one after the other.
    assert undone["table"].ratio < 0.9
    assert found.recommended is not None
    assert "table → global" in found.verdict
    assert "__device__ float table" in found.recommended.rewritten.case.source


def test_nothing_is_undone_where_that_is_not_asked_for(case):
    found = advise(case, "A100", undo=False, finalists=1)
    assert "table" not in dict(found.present.placement.spaces)


def test_one_is_written_by_name(case):
    written = write_placement(case, "A100", {"tile": "global"})
    assert written.verification.identical
    assert "__shared__" not in written.rewritten.case.source


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ({"table": "texture"}, "it can go back to global"),
        ({"table": "global", "a": "readonly"}, "it moves alone"),
        ({"tables": "global"}, "no array 'tables'"),
    ],
)
def test_other_moves_of_them_are_refused(case, moves, message):
    with pytest.raises(CaseError, match=message):
        write_placement(case, "A100", moves)


def test_the_reason_has_its_line(case):
    changed = replace(case, source=SOURCE.replace("= a[i]", "= 2 * a[i]"))
    with pytest.raises(UnsupportedError, match=r"more than elements of an array \(line 6\)"):
        write_placement(changed, "A100", {"tile": "global"})
