"""Address mappings found against those that a simulated DRAM hides."""

import numpy as np
import pytest

from placewise.errors import MachineError
from placewise.probe.infer.dram import infer_mapping
from placewise.probe.simulated.chases import Noise
from placewise.probe.simulated.dram import SimulatedDram, SimulatedPairs


def mask(*bits):
    return sum(1 << bit for bit in bits)


def span(masks):
    """All sums of some masks: two sets of hashes are as good as each other if these are equal."""
    found = {0}
    for one in masks:
        found |= {one ^ other for other in found}
    return found


def test_the_k80_as_huang_and_li_print_it():
    rows = (15, 16, 17, 18, 19, 20, 21, 30, 31, 32)
    columns = (8, 9, 10, 11, 12, 13, 14)
    banks = [b for b in range(3, 33) if b not in rows + columns][:10]
    other = [b for b in range(3, 33) if b not in rows + columns and b not in banks]
    dram = SimulatedDram(33, rows, tuple(1 << b for b in banks), 352.0, 742.0, 1008.0)
    found = infer_mapping(SimulatedPairs(dram))
    assert found.confidence == "high"
    assert found.row_bits == rows
    assert found.column_bits == tuple(sorted(columns + tuple(other)))
    assert span(found.bank_hashes) == span(dram.bank_hashes)
    assert found.undetermined_bits == ()
    assert found.hit_ns == pytest.approx(352.0, rel=0.02)
    assert found.miss_ns == pytest.approx(742.0, rel=0.02)
    assert found.conflict_ns == pytest.approx(1008.0, rel=0.02)


class OtherAbove(SimulatedPairs):
    """Pairs that start in the upper half of the addresses see another DRAM."""

    def __init__(self, dram, above):
        super().__init__(dram)
        self.above = SimulatedPairs(above)

    def second(self, first, second):
        upper = first >> (self.address_bits - 1) != 0
        return np.where(upper, self.above.second(first, second), super().second(first, second))


def test_mapping_that_differs_between_ranges_of_addresses_is_doubted():
    """Of bits 8 and 9 one is of the bank: below half the addresses the first, above the second."""
    rows = tuple(range(15, 24))
    one = SimulatedDram(26, rows, (1 << 8, 1 << 10), 352.0, 742.0, 1008.0)
    other = SimulatedDram(26, rows, (1 << 9, 1 << 10), 352.0, 742.0, 1008.0)
    assert infer_mapping(SimulatedPairs(one)).doubts == ()
    found = infer_mapping(OtherAbove(one, other))
    assert found.confidence == "low"
    assert any("bits play other parts in addresses from" in doubt for doubt in found.doubts)


@pytest.mark.parametrize("seed", range(5))
def test_exclusive_or_hashes_of_low_bits_with_row_bits(seed):
    random = np.random.default_rng(seed)
    banks = sorted(random.choice(np.arange(6, 14), 5, replace=False).tolist())
    rows = tuple(range(17, 30))
    hashed = [random.choice(rows, 3, replace=False).tolist() for _ in banks]
    hashes = tuple(mask(b, *h) for b, h in zip(banks, hashed, strict=True))
    dram = SimulatedDram(30, rows, hashes, 300.0, 420.0, 560.0)
    noise = Noise(0.02, 0.005)
    found = infer_mapping(SimulatedPairs(dram, noise=noise, seed=seed), seed=seed)
    assert found.confidence == "high"
    assert span(found.bank_hashes) == span(hashes)
    assert found.row_bits == rows
    assert found.column_bits == tuple(b for b in range(3, 17) if b not in banks)
    assert found.undetermined_bits == tuple(banks)


def test_loads_that_never_reach_the_dram_are_refused():
    dram = SimulatedDram(20, (), (), 30.0, 30.0, 30.0)
    with pytest.raises(MachineError, match="three kinds of time"):
        infer_mapping(SimulatedPairs(dram))
