"""Active learning: Procedure 2 by hand, and a tenth of a launch beside all of it."""

from functools import partial

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.prepare import Profiling, prepare
from placewise.cases import load_case
from placewise.cli.options import ProfileKind
from placewise.machine import load_machine
from placewise.memory.reuse.distance_shares import RANGES, profile_counts, shares_apart
from placewise.memory.reuse.record import Accesses
from placewise.memory.reuse.sampling.active import MOST_OF_LAUNCH, is_stable, occurrences

A100 = load_machine("A100")
SOURCE = """
__global__ void smooth(const float *in, const int *index, float *out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < rounds; k++) sum += in[(i + k) % n] * in[index[i]];
    out[i] = sum;
}
__global__ void turns(volatile int *turn, float *out) {
    if (threadIdx.x == 0) {
        while (*turn != blockIdx.x) { }
        out[blockIdx.x] = 1.0f;
        *turn = blockIdx.x + 1;
    }
}
"""


def _case(blocks, rounds):
    n = 256 * blocks
    index = np.random.default_rng(2).integers(0, n, n, np.int32)
    arguments = [np.ones(n, np.float32), index, np.zeros(n, np.float32), np.int32(n)]
    return make_case("smooth", SOURCE, [*arguments, np.int32(rounds)], block=256, problem=n)


def test_an_average_is_at_rest_by_the_papers_thresholds():
    assert is_stable(100.4, 100.0, 50.0)  # less than 0.5 % of the one before
    assert not is_stable(101.0, 100.0, 50.0)
    assert is_stable(150.0, 100.0, 50.0)  # the same step again
    assert not is_stable(149.0, 100.0, 50.0)
    assert not is_stable(1.0, 0.0, -3.0)


def test_occurrences_count_within_each_warp_and_instruction():
    site, warp = np.array([0, 1, 0, 0, 1, 0], np.int32), np.array([0, 0, 0, 1, 0, 0], np.int32)
    zeros = np.zeros(6, np.int32)
    found = Accesses(
        site, zeros, warp, np.ones(6, np.uint32), zeros, zeros.astype(np.int64), zeros, zeros - 1,
        np.zeros((0, 32), np.int32),
    )  # fmt: skip
    assert occurrences(found).tolist() == [0, 0, 1, 0, 1, 2]


def test_shares_apart_weights_arrays_by_the_reference():
    one, other = np.zeros((2, RANGES)), np.zeros((2, RANGES))
    one[0, :2], other[0, :2] = (1, 1), (30, 10)
    one[1, 5] = other[1, 5] = 60
    assert shares_apart(other, other) == 0.0
    # Shares of 1/2 and 1/2 against 3/4 and 1/4 in the array of 40 of 100 touches.
    assert shares_apart(one, other) == pytest.approx(0.5 * 0.4)
    assert shares_apart(np.zeros((2, RANGES)), other) == 2.0


@pytest.mark.parametrize("rounds", [4, 200])
def test_a_tenth_of_a_launch_shows_what_all_of_it_does(rounds):
    case = _case(1024 if rounds < 10 else 432, rounds)
    make = partial(prepare, case, A100)
    full, active = make(), make(profiling=Profiling.ACTIVE)
    assert active.looked is not None
    assert active.looked.blocks <= MOST_OF_LAUNCH * case.launch.blocks
    assert active.looked.accesses <= MOST_OF_LAUNCH * full.profile.sampled_requests * 1.1
    counts = (profile_counts(p.profile).sum(axis=0) for p in (active, full))
    assert shares_apart(*counts) <= 0.02
    # The requests of the whole launch are counted, not estimated.
    assert active.profile.requests == pytest.approx(full.profile.requests)
    (note,) = (n for n in active.notes if n.startswith("active profile"))
    assert f"{active.looked.accesses:,} warp accesses" in note
    assert dict(active.execution.outputs).keys() == dict(full.execution.outputs).keys()
    np.testing.assert_array_equal(active.execution.output("out"), full.execution.output("out"))


def test_blocks_that_wait_for_each_other_are_profiled_in_full():
    case = make_case(
        "turns", SOURCE, [np.zeros(1, np.int32), np.zeros(64, np.float32)], block=32, grid=64
    )
    found = prepare(case, A100, profiling=Profiling.ACTIVE)
    assert found.looked is None
    assert any("wait for each other" in n for n in found.notes)
    assert found.execution.output("out").sum() == 64


def test_the_command_knows_every_kind_of_profile():
    assert [p.value for p in Profiling] == [p.value for p in ProfileKind]


def test_one_sm_alone_is_said_to_tell_nothing_of_others():
    """A tenth of the blocks of a K20c's 13 SMs are one SM's."""
    found = prepare(_case(208, 4), load_machine("K20c"), profiling=Profiling.ACTIVE)
    assert found.looked is not None
    assert found.looked.units == 1
    assert any("not counting how other SMs differ" in n for n in found.notes)


def test_the_error_covers_what_short_stretches_miss():
    """On a T4 each SM of stencil2d runs 7 sets of blocks, of which 4 are looked at: some distances
    and first touches are those of the missing sets, as a full profile shows."""
    case, machine = load_case("stencil2d"), load_machine("T4")
    full, active = (prepare(case, machine, profiling=p) for p in (Profiling.FULL, Profiling.ACTIVE))
    counts = (profile_counts(p.profile).sum(axis=0) for p in (active, full))
    assert active.looked is not None
    assert active.looked.waves == 4
    apart = shares_apart(*counts)
    assert apart > 0.01
    assert apart <= active.looked.error <= 3 * apart
