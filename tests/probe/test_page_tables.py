"""Page tables that are found against those that a simulated device hides."""

import numpy as np
import pytest

from placewise.probe import Plan, infer_hierarchy
from placewise.probe.infer.latency_patterns import latency_patterns
from placewise.probe.infer.page_tables import find_page_tables, going_round
from placewise.probe.simulated.chases import (
    SimulatedCache,
    SimulatedDevice,
    SimulatedHierarchy,
)

MB = 1 << 20
WALK, SWITCH = 250.0, 450.0


def device(region=None, active=1, reach=6 << 29):
    """A device with TLBs of 16 and 40 pages, whose page tables serve ``region`` bytes each."""
    tlbs = (SimulatedCache(2 * MB, (16,), 0.0), SimulatedCache(2 * MB, (8,) * 5, 90.0))
    walk = WALK
    if region is not None:
        tlbs += (SimulatedCache(region, (active,), WALK),)
        walk += SWITCH
    hierarchy = SimulatedHierarchy(
        (SimulatedCache(128, (16,) * 256, 230.0, 32),), 360.0, tlbs, walk
    )
    return SimulatedDevice(hierarchy, reach_bytes=reach, seed=3)


@pytest.mark.parametrize(("region", "active"), [(512, 1), (1024, 1), (512, 2), (256, 3)])
def test_regions_and_the_cost_of_a_switch(region, active):
    hidden = device(region * MB, active)
    found = find_page_tables(hidden, infer_hierarchy(hidden, Plan(levels=0)).tlbs)
    assert (found.region_bytes, found.active) == (region * MB, active)
    assert found.switch_cycles == pytest.approx(SWITCH, rel=0.03)


@pytest.mark.parametrize("reach", [1 << 27, 6 << 29])
def test_none_where_no_load_takes_longer_or_memory_is_too_small(reach):
    hidden = device(reach=reach)
    assert find_page_tables(hidden, infer_hierarchy(hidden, Plan(levels=0)).tlbs) is None


def test_the_sixth_pattern_is_a_miss_of_everything_and_a_switch():
    for hidden, numbers in ((device(512 * MB), (1, 2, 3, 4, 5, 6)), (device(), (1, 2, 3, 4, 5))):
        found = latency_patterns(hidden, infer_hierarchy(hidden, Plan(levels=0)))
        by_hand = (230, 320, 230 + WALK, 360, 360 + WALK, 360 + WALK + SWITCH)
        assert {p.number: p.cycles for p in found} == pytest.approx(
            dict(zip(numbers, by_hand, strict=False)), rel=0.03
        )


def test_every_load_of_a_chase_is_of_another_page():
    lap = going_round(65, 2 * MB, 3, 512 * MB)
    assert len(set((lap // (2 * MB)).tolist())) == len(lap) >= 130
    assert np.diff(lap // (512 * MB)).all()
