"""Address mappings to be found out: the K80's as Huang and Li 2017 print it, and hashed ones."""

from __future__ import annotations

import numpy as np

from benchmarks.results import Figure
from placewise.probe.infer.dram import AddressMapping, infer_mapping
from placewise.probe.simulated.dram import SimulatedDram, SimulatedPairs

HASHED = 50
NS = 0.02
"""How far off a latency may be, of itself."""


def dram(seed: int) -> list[Figure]:
    """Mappings that differ from the hidden ones."""
    k80 = SimulatedDram(
        33,
        (*tuple(range(15, 22)), 30, 31, 32),
        tuple(1 << b for b in (3, 4, 5, 6, 7, 22, 23, 24, 25, 26)),
        352.0,
        742.0,
        1008.0,
    )
    random = np.random.default_rng(seed)
    wrong = sum(bool(_wrong(_hashed(random), number)) for number in range(HASHED))
    return [
        Figure("K80's row, column and bank bits, row timings: wrong", _wrong(k80, seed), "", "0",
               _wrong(k80, seed) == 0),
        Figure(f"{HASHED} hashed DRAM mappings: wrong", wrong, "", "0", wrong == 0),
    ]  # fmt: skip


def _hashed(random: np.random.Generator) -> SimulatedDram:
    """Bank bits among the low ones, most of them hashed with bits of the row."""
    bits = int(random.integers(26, 34))
    rows = tuple(range(int(random.integers(15, 19)), bits))
    banks = random.choice(np.arange(5, 15), int(random.integers(3, 8)), replace=False).tolist()
    hashes = []
    for bank in sorted(banks):
        others = random.choice(rows, int(random.integers(0, 5)), replace=False).tolist()
        hashes.append(sum(1 << bit for bit in [bank, *others]))
    hit = float(random.uniform(200, 400))
    return SimulatedDram(bits, rows, tuple(hashes), hit, 1.4 * hit, 1.9 * hit)


def _wrong(hidden: SimulatedDram, seed: int) -> int:
    """Parameters found otherwise than hidden."""
    found: AddressMapping = infer_mapping(SimulatedPairs(hidden, seed=seed), seed=seed)
    banks = [(mask & -mask).bit_length() - 1 for mask in hidden.bank_hashes]
    columns = [b for b in range(3, hidden.address_bits) if b not in (*hidden.row_bits, *banks)]
    differ = [
        found.row_bits != hidden.row_bits,
        found.column_bits != tuple(columns),
        _span(found.bank_hashes) != _span(hidden.bank_hashes),
        bool(found.doubts),
    ]
    times = (found.hit_ns, found.miss_ns, found.conflict_ns)
    true = (hidden.hit_ns, hidden.miss_ns, hidden.conflict_ns)
    differ += [abs(a / b - 1) > NS for a, b in zip(times, true, strict=True)]
    return sum(differ)


def _span(masks: tuple[int, ...]) -> set[int]:
    """All sums of some masks; sets of hashes with the same sums are the same mapping."""
    found = {0}
    for one in masks:
        found |= {one ^ other for other in found}
    return found
