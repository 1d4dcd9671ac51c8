"""Which blocks are looked at, and that edges are put together as the whole launch has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.memory.occupancy import occupancy
from placewise.model.base import Sampling
from placewise.model.evidence.block_kinds import blocks_by_kind, every_block
from placewise.model.evidence.evidence import evidence_of
from placewise.model.timeline.launch import in_order
from placewise.model.timeline.model import TimelineModel

MACHINE = load_machine("RTX2080Ti")


def kinds_of(grid, threads=256):
    launch = Launch(grid, (threads, 1, 1))
    return blocks_by_kind(launch, MACHINE, occupancy(launch, MACHINE, registers=32, shared_bytes=0))


def test_edges_of_the_grid_are_kinds_of_their_own():
    found = kinds_of((40, 45, 1))
    # 39 * 44 inside, 44 in the last column, 39 in the last row; the corner is too rare.
    assert found.kinds == 3
    assert np.bincount(found.launch).tolist() == [39 * 44 + 1, 44, 39]
    assert {found.launch[1799], found.launch[1798]} == {0, 2}
    assert found.launch[39] == 1
    for kind in range(3):
        assert (found.launch[found.numbers[found.timed(kind)]] == kind).all()
        assert len(found.timed(kind)) >= 2
    # The corner's counts are the launch's, its path is none of the interior's.
    corner = np.flatnonzero(found.numbers == 1799)
    assert not np.isin(corner, found.timed(0)).any()


def test_in_a_launch_of_few_waves_the_corner_is_a_kind_of_its_own():
    found = kinds_of((5, 40, 1))
    assert np.bincount(found.launch).tolist() == [4 * 39, 39, 4, 1]
    assert found.numbers[found.timed(3)].tolist() == [199]


def test_totals_are_by_kind():
    found = kinds_of((40, 45, 1))
    x = found.numbers % 40
    # As many as the column says, exactly: blocks of a kind are alike.
    values = np.where(x == 39, 100, 1)
    assert found.totals(values, 1) == 44 * 100
    assert found.totals(values, 0) == 39 * 44 + 100
    assert found.totals(values, 2) == 39


def test_the_caches_see_all_accesses_of_a_small_launch():
    case = case_of(20 * 32 - 5, 18 * 8 - 3, (32, 8))
    sampled, exact = evidence_of(*case), evidence_of(*case, sampling=Sampling.EVERY)
    assert sampled.run is not None
    assert exact.run is not None
    assert sampled.run.traffic.sites == exact.run.traffic.sites


def test_small_launches_are_looked_at_as_a_whole():
    assert kinds_of((5, 5, 1), threads=64).sample.complete
    assert every_block(Launch((7, 3, 1), (32, 1, 1))).numbers.tolist() == list(range(21))
    assert not kinds_of((50, 50, 1)).sample.complete


@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=1, max_size=300),
    st.integers(1, 300),
)
def test_any_beginning_has_its_share_of_each_kind(kinds, count):
    kinds = np.array(kinds, np.uint8)
    count = min(count, len(kinds))
    found = in_order(kinds, count)
    assert len(found) == count
    for kind in np.unique(kinds):
        come = np.cumsum(found == kind)
        ends = np.arange(1, count + 1) * len(kinds) // count
        due = np.cumsum(kinds == kind)[ends - 1] * count / len(kinds)
        assert np.abs(come - due).max() <= 2.0


EDGES = """extern "C" __global__ void filter(const float *a, float *to, int w, int h, int rounds) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0.0f;
    for (int r = 0; r < rounds; r++) sum += a[y * w + (x + r) % w] * 1.5f;
    to[y * w + x] = sum; }"""


def case_of(width, height, block):
    kernel = compile_kernel(EDGES, "e.cu", "filter", CompileOptions(arch="sm_75"))
    plane = np.zeros(width * height, np.float32)
    scalars = (("w", width), ("h", height), ("rounds", 24))
    inputs = Inputs(
        (
            ArrayArgument("a", plane),
            ArrayArgument("to", plane.copy()),
            *(ScalarArgument(name, np.int32(value)) for name, value in scalars),
        )
    )
    x, y = block
    return kernel, Launch((-(-width // x), -(-height // y), 1), (x, y, 1)), inputs, MACHINE


@pytest.mark.parametrize(
    ("width", "height", "block"), [(257, 240, (64, 4)), (33, 900, (32, 8)), (300, 121, (16, 16))]
)
def test_edge_blocks_take_what_they_take_in_the_whole_launch(width, height, block):
    case = case_of(width, height, block)
    found = TimelineModel().predict(evidence_of(*case), MACHINE)
    exact = evidence_of(*case, sampling=Sampling.EVERY)
    truth = TimelineModel(instructions=10**12).predict(exact, MACHINE)
    overhead = next(p.cycles for p in truth.parts if p.path == "launch")
    assert found.total - overhead == pytest.approx(truth.total - overhead, rel=0.05)
    # What the edges ask for is counted as it is: 257 columns are no 320.
    sampled, every = (evidence_of(*case, sampling=s).run for s in (Sampling.FEW, Sampling.EVERY))
    for own, whole in zip(sampled.traffic.sites, every.traffic.sites, strict=True):
        assert own.site == whole.site
        assert own.sectors == pytest.approx(whole.sectors, rel=0.05)
        assert own.requests == whole.requests
