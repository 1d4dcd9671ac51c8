"""Mei et al.'s figures: bank conflicts against hand counts, and one path found again."""

import pytest

from placewise.probe import Plan, infer_hierarchy
from placewise.probe.simulated.chases import SimulatedDevice
from placewise.reproduce.mei_tables import PATHS, bank_passes, pattern_table


@pytest.mark.parametrize(
    ("stride", "width", "bank", "passes"),
    [
        (1, 4, 4, 1),
        # Lanes 0 and 16 of stride 2 meet in a bank of 4 bytes; in one of 8 each has its own.
        (2, 4, 4, 2),
        (2, 4, 8, 1),
        (32, 4, 4, 32),
        (32, 4, 8, 16),
        # Doubles: 64 words through banks of 4 bytes in two halves, one pass through banks of 8.
        (1, 8, 4, 2),
        (1, 8, 8, 1),
        (6, 4, 8, 1),
    ],
)
def test_bank_conflicts(stride, width, bank, passes):
    assert bank_passes(stride, width, bank) == passes


def test_latencies_of_texture_memory_are_those_printed():
    """Kepler: 110 cycles in the texture cache, 220 in L2; 12 KB in lines of 32 bytes, 4 sets."""
    hidden = next(path for path in PATHS if path.name == "Kepler, texture")
    device = SimulatedDevice(hidden.hierarchy, bypasses=1, reach_bytes=1 << 24, seed=2)
    first, second = infer_hierarchy(device, Plan(tlbs=False, levels=1)).caches
    assert (first.capacity_bytes, first.line_bytes, len(first.ways)) == (12 << 10, 32, 4)
    assert first.latency_cycles == pytest.approx(110, rel=0.03)
    assert second.latency_cycles == pytest.approx(220, rel=0.03)


def test_all_six_patterns_are_found_on_a_kepler():
    figures = {}
    table = pattern_table(figures)
    assert [row[-1] for row in table.rows] == ["yes"] * 6
    # The talk: page tables of 512 MB are active at a time.
    assert figures == {"patterns found as simulated": 6, "page tables found, MB": 512}
    # Its observations: each further miss takes longer, and a switch longest of all.
    found = [row[3] for row in table.rows]
    assert found[0] < found[1] < found[2]
    assert found[3] < found[4] < found[5]
