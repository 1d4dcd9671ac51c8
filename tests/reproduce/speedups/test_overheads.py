"""What choosing costs, over many launches: worked by hand."""

import pytest

from placewise.cases import load_case
from placewise.machine import load_machine
from placewise.reproduce.speedups.overhead_tables import overhead_share
from placewise.reproduce.speedups.overheads import (
    LAUNCHES,
    PRINTED,
    Overhead,
    measured_overheads,
    speedup,
)


def test_overhead_is_paid_once_and_shared_by_all_launches():
    # 1000 launches of 1 ms become 1000 of half a millisecond and 0.3 + 0.2 s before them.
    assert speedup(1.0, 2.0, Overhead(0.3, 0.2, 0.0), 1000) == pytest.approx(1.0)
    assert speedup(1.0, 2.0, Overhead(0.0, 0.0, 0.0), 50) == pytest.approx(2.0)
    # Checks that take as long as 1496 launches of the chosen version halve the gain.
    assert speedup(1.0, 2.0, Overhead(0, 0, 0.748), LAUNCHES[0]) == pytest.approx(1.0)


def test_printed_ratios_are_those_of_the_printed_seconds():
    """Table 5 prints the ratios, too; spmv's and cfd's as 1.48 and 3.11."""
    ratios = {
        name: (
            both.without.profiling / both.with_both.profiling,
            both.without.engine / both.with_both.engine,
        )
        for name, both in PRINTED.items()
    }
    assert ratios["particlefilter"] == pytest.approx((1.79, 5.33), abs=0.01)
    assert ratios["spmv"] == pytest.approx((1.48, 14.71), abs=0.01)
    assert ratios["cfd"] == pytest.approx((3.11, 11.56), abs=0.01)
    assert ratios["md"] == pytest.approx((3.57, 63.35), abs=0.01)
    assert ratios["hourglass-force"] == pytest.approx((1.62, 1506716.67), rel=2e-3)
    assert ratios["hourglass-control"] == pytest.approx((4, 23.04), abs=0.01)


def test_both_ways_of_choosing_are_timed():
    found = measured_overheads(load_case("md"), load_machine("K20c"))
    for one in (found.without, found.with_both):
        assert one.profiling > 0
        assert one.engine > 0
        assert one.transform == 0


def test_the_share_of_an_overhead_is_of_all_launches():
    """1 s before and 0.496 s of checks, in 1,496 launches of 10 ms."""
    assert overhead_share(Overhead(0.4, 0.6, 0.496), 10.0) == pytest.approx(10.0)
