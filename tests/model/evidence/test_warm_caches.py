"""A launch that is repeated finds in L2 what fits it."""

from dataclasses import replace

import numpy as np
import pytest

import placewise
from placewise.cli.options import CachesName
from placewise.errors import MachineError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.machine.clocks import CACHES, with_caches
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.warm_caches import at_launch, share_kept, with_array_held

COPY = """
__global__ void copy(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1.0f;
}
"""
A100 = load_machine("A100")
L2 = A100.l2
assert L2 is not None
WARM = with_caches(A100, "warm")


def copy_case(megabytes: float) -> Case:
    """Reads and writes as many megabytes each."""
    n = int(megabytes * 2**18)
    arrays = [np.ones(n, np.float32), np.zeros(n, np.float32)]
    return placewise.make_case("copy", COPY, arrays, block=1024, grid=n // 1024, arch="sm_80")


def test_a_small_launch_fetches_and_writes_nothing_in_dram_once_caches_are_warm():
    evidence = _evidence(copy_case(4.0))
    cold, warm = evidence.run.traffic, _warm(evidence).run.traffic
    assert sum(t.dram_sectors.value for t in cold.sites) == pytest.approx(2**22 / 32, rel=0.01)
    assert sum(t.dram_sectors.value for t in warm.sites) == 0.0
    assert warm.dram_sectors_written().value == pytest.approx(0.0, abs=1.0)
    for before, after in zip(cold.sites, warm.sites, strict=True):
        assert after.l2_sectors == before.l2_sectors
        assert after.l2_hits.value == pytest.approx(
            before.l2_hits.value + before.dram_sectors.value
        )


def test_data_of_an_earlier_launch_may_lie_in_the_other_partition_of_l2():
    warm = _warm(_evidence(copy_case(0.25)))
    near = replace(
        WARM,
        memories=tuple(
            replace(m, detail=replace(m.detail, far_latency_cycles=None)) for m in WARM.memories
        ),
    )
    with_far, without = (timeline_model().predict(warm, m) for m in (WARM, near))
    # Half of the loads wait so much longer; each thread has one, and stores after it.
    longer = (L2.detail.far_latency_cycles - L2.latency_cycles) / 2
    assert with_far.total - without.total == pytest.approx(longer, rel=0.1)


def test_a_launch_far_larger_than_l2_fetches_and_writes_all_of_it():
    evidence = _evidence(copy_case(128.0))
    cold, warm = evidence.run.traffic, _warm(evidence).run.traffic
    assert [t.dram_sectors for t in warm.sites] == [t.dram_sectors for t in cold.sites]
    # What the launch before left dirty is written back during this one.
    assert warm.dram_sectors_written().value == pytest.approx(2**27 / 32, rel=0.01)
    assert cold.dram_sectors_written().value < 2**27 / 32


def test_loads_of_an_array_that_l2_holds_fetch_nothing():
    evidence = _evidence(copy_case(4.0))
    held, other = (with_array_held(evidence, name).run.traffic for name in ("#1", "#2"))
    before = evidence.run.traffic.sites
    assert [t.dram_sectors.value for t in held.sites if t.array == "#1"] == [0.0]
    assert [t.dram_sectors for t in other.sites] == [t.dram_sectors for t in before]
    for earlier, later in zip(before, held.sites, strict=True):
        assert later.l2_sectors == earlier.l2_sectors


def test_times_of_small_launches_get_shorter_and_those_of_large_ones_do_not():
    small, large = copy_case(4.0), copy_case(128.0)

    def milliseconds(case, caches):
        found = placewise.predict_time(case, "A100", caches=caches)
        assert found.to_dict()["caches"] == caches
        return found.milliseconds

    assert milliseconds(small, "warm") < 0.9 * milliseconds(small, "cold")
    assert milliseconds(large, "warm") >= milliseconds(large, "cold")


def test_nothing_is_lost_until_l2_is_full_and_less_is_kept_the_larger_the_loop():
    shares = [share_kept(ratio, L2) for ratio in (0.2, 1.0, 1.1, 1.3, 2.0, 9.0)]
    assert shares[:2] == [1.0, 1.0]
    assert shares[-1] == 0.0
    assert shares == sorted(shares, reverse=True)


def test_a_loop_over_more_than_a_cache_with_lru_holds_finds_nothing():
    lru = replace(L2, detail=replace(L2.detail, policy="lru"))
    assert share_kept(17 / 16, lru) == 0.0


def test_other_words_are_refused():
    with pytest.raises(MachineError, match="'hot' caches"):
        with_caches(A100, "hot")


def test_the_option_has_the_words_of_the_library():
    assert tuple(name.value for name in CachesName) == CACHES


def _evidence(case):
    return evidence_of(compile_case(case), case.launch, case.inputs, A100)


def _warm(evidence):
    return at_launch(evidence, WARM)
