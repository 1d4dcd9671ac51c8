"""Hu and Liu's pipeline, the rules after Jang et al., and the regression's bookkeeping."""

import pytest

from placewise.model.hu_liu import (
    memory_time,
    pipeline_throughput,
    read_cycle,
    synthesized_cycle,
    time_difference,
)
from placewise.model.jang import AccessFacts, rule_based
from placewise.space import Way


def test_pipeline():
    # 12 clocks at 1546 MHz over six partitions: 12 / 9.276 ns.
    cycle = read_cycle(12.0, 6.0, 1546.0)
    assert cycle == pytest.approx(1.29366, abs=1e-5)
    assert synthesized_cycle(2.0, 32.0) == 64.0
    assert pipeline_throughput(64.0) == pytest.approx(1 / 64)
    # 3,036 warps with 5 requests of one transaction at 1.33 ns.
    assert memory_time(1.33, 1.0, 3036.0, 5.0) == pytest.approx(20189.4)
    # Strides 15 and 10, 512 and 1,024 warps: 10,240 − 7,680 transactions, 100 requests each.
    assert time_difference(1.33, (15.0, 512.0), (10.0, 1024.0), 100.0) == pytest.approx(340480.0)


def facts(**given):
    plain = {
        "written": False,
        "coalesced": True,
        "repeated": False,
        "own_tile": False,
        "index_from_data": False,
    }
    return AccessFacts(**{**plain, **given})


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({"written": True, "repeated": True, "own_tile": True}, Way.DIRECT),
        ({"repeated": True, "own_tile": True}, Way.KERNEL_BUFFER),
        ({"repeated": True, "own_tile": True, "coalesced": False}, Way.BINDING),
        ({"index_from_data": True, "coalesced": False}, Way.DIRECT),
        ({"index_from_data": True, "coalesced": False, "repeated": True}, Way.BINDING),
        ({"coalesced": False}, Way.BINDING),
        ({}, Way.DIRECT),
        ({"own_tile": True}, Way.DIRECT),
    ],
)
def test_rules(given, way):
    choice = rule_based(facts(**given))
    assert choice.way is way
    assert choice.rule
