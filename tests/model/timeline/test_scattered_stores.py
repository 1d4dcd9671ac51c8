"""What an SM needs for stores that write only a part of each sector."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case, predict_time
from placewise.executor.trace import Site
from placewise.machine import load_machine
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.model.timeline.scattered_stores import SCATTERED_STORES, scattered_cycles

A100 = load_machine("A100")
EACH = next(m.detail.partial_store_cycles for m in A100.memories if m.detail.partial_store_cycles)
NONE = Estimate(0.0, 0.0)


def store(*, lanes=32, lane_bytes=4, sectors, lines, merged=0.0, kind="store", space="global"):
    """A hundred requests of an instruction."""
    return SiteTraffic(
        Site("STG.E", space, kind, lane_bytes, 0, None), "out", 100.0, 100.0 * lanes,
        100.0 * sectors, 100.0 * lines, 0.0, NONE, NONE, NONE, merged=merged,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "cycles"),
    [
        (store(sectors=32, lines=32), 32 * EACH),
        (store(sectors=16, lines=16), 16 * EACH / 2),
        (store(sectors=16, lines=4), 4 * EACH / 8),
        (store(sectors=32, lines=32, lane_bytes=1), 32 * EACH),
        (store(sectors=8, lines=2, merged=400.0), 0.0),
        (store(sectors=4, lines=1), 0.0),
        (store(sectors=5, lines=2), 0.0),
        (store(sectors=32, lines=32, lane_bytes=16, lanes=64), 0.0),
        (store(sectors=32, lines=32, kind="load"), 0.0),
        (store(sectors=32, lines=32, space="shared"), 0.0),
    ],
    ids=[
        "4 bytes of 32 lines", "8 bytes of 16 lines", "four sectors a line",
        "a byte costs as much as 4", "whole sectors with the store before", "whole sectors",
        "a row that begins within a sector", "wide lanes", "a load", "shared memory",
    ],
)  # fmt: skip
def test_a_line_costs_in_proportion_to_the_lines_of_its_store(one, cycles):
    assert scattered_cycles(one, A100, 32) == pytest.approx(100 * cycles)


def test_gpus_before_volta_say_nothing_about_such_stores():
    assert scattered_cycles(store(sectors=32, lines=32), load_machine("K20c"), 32) == 0.0


SOURCE = """
__global__ void transpose(const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[STORED] = in[y * 512 + x];
}"""


def timed(stored):
    values = [np.zeros((512, 512), np.float32), np.zeros((512, 512), np.float32)]
    case = make_case(
        "transpose", SOURCE.replace("STORED", stored), values, problem=(512, 512), block=(32, 8)
    )
    case = replace(case, options=replace(case.options, arch="sm_80"))
    return predict_time(case, "A100").prediction


def test_a_plain_transpose_takes_longer_by_its_stores_and_a_copy_does_not():
    """512 x 512 / 32 requests of 32 lines each, shared out to 108 SMs. Their time comes on top of
    what the others need."""
    plain, copy = timed("x * 512 + y"), timed("y * 512 + x")
    assert plain.parts[0].path == SCATTERED_STORES
    assert plain.parts[0].cycles >= 512 * 512 * EACH / 108
    others = max(p.cycles for p in plain.parts if p.path not in (SCATTERED_STORES, "launch"))
    assert plain.total >= plain.parts[0].cycles + others
    assert plain.parts[0].lines[0][0].endswith(":4")
    assert SCATTERED_STORES not in {part.path for part in copy.parts}
    assert plain.total > 2 * copy.total
