"""DRAM as pairs of loads show it: row and column bits, bank hashes, and the three latencies.

Algorithm 1 of Huang and Li 2017 loads two addresses that differ in one bit and takes the second's
time: short where the bit is of the column (the row is open), longest where it is of the row (the
bank must close one row and open another), between where it leads to another bank. That holds where
each bit has one part to play. Current GPUs hash: a bank bit is the exclusive or of several address
bits, so that a row bit that is hashed leads to another bank too and looks like a bank bit. Here
pairs differ in one or more bits, and a pair conflicts exactly where all bank hashes agree and the
row does not: the differences that stay in a bank are a linear space, from which hashes follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError

_BASES = 25
"""Addresses that each difference is tried at; outliers of fewer than half do not count."""
_BETWEEN = 1.015
"""Least ratio of two neighbouring latencies of different kinds: opening a row takes some 15 ns,
which is 3 % of what a load takes on a current GPU."""
_CLEAR = 2.0
"""How many times as far apart kinds must be as any neighbours within a kind."""
_RANGES = 4
"""Ranges of addresses that the mapping must hold in alike (section III-C2 of the paper)."""
_MOST_BANK_BITS = 10
"""Most bank bits: all combinations of them are tried with each further bit."""
HIT, MISS, CONFLICT = range(3)


class PairDevice(Protocol):
    """A device that loads pairs of addresses, past all caches."""

    @property
    def address_bits(self) -> int:
        """Bits of the addresses that it can load from."""

    def second(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) nanoseconds of the second load of each pair, rows closed before the first."""


@dataclass(frozen=True)
class AddressMapping:
    """What is known of a DRAM's address mapping; bits are numbered from 0."""

    column_bits: tuple[int, ...]
    row_bits: tuple[int, ...]
    """Address bits of the row number; some may be hashed into the bank number, too."""
    bank_hashes: tuple[int, ...]
    """Masks: each a bank bit, the parity of the address bits in it. Sums of them would do, too."""
    undetermined_bits: tuple[int, ...]
    """Bits that loads cannot tell from another one of their hash: exchanging the parts that the two
    play gives the same banks and rows. Here the lowest counts as the bank's own."""
    hit_ns: float
    miss_ns: float
    conflict_ns: float
    doubts: tuple[str, ...] = ()

    @property
    def confidence(self) -> str:
        return "low" if self.doubts else "high"


def infer_mapping(device: PairDevice, *, lowest: int = 3, seed: int = 0) -> AddressMapping:
    """Row, column and bank bits from ``lowest`` (below are bytes of a word) on, and row timings.

    Raises MachineError where the latencies are not of three kinds.
    """
    bits = list(range(lowest, device.address_bits))
    random = np.random.default_rng(seed)
    single = [1 << bit for bit in bits]
    double = [a | b for a, b in combinations(single, 2)]
    seen = _medians(device, single + double, random)
    levels = _three_levels(seen)
    kind = dict(zip(single + double, _kinds(seen, levels), strict=True))

    def kinds_of(differences: list[int]) -> list[int]:
        new = [d for d in differences if d not in kind]
        if new:
            found = _kinds(_medians(device, new, random), levels)
            kind.update(zip(new, found, strict=True))
        return [kind[d] for d in differences]

    column = [bit for bit in bits if kind[1 << bit] == HIT]
    row = [bit for bit in bits if kind[1 << bit] == CONFLICT]
    hashes: dict[int, int] = {}
    doubts: list[str] = []
    for bit in (b for b in bits if kind[1 << b] == MISS):
        together = _dependence(bit, list(hashes), kinds_of)
        if together is None:
            if len(hashes) == _MOST_BANK_BITS:
                doubts.append(f"more than {_MOST_BANK_BITS} bank bits")
                break
            hashes[bit] = 1 << bit
            continue
        (row if kinds_of([together])[0] == CONFLICT else column).append(bit)
        for own in hashes:
            if together >> own & 1:
                hashes[own] |= 1 << bit
    masks = tuple(hashes.values())
    if not _agrees(kind, masks, row):
        doubts.append("some pairs do not follow the mapping")
    elsewhere = _other_ranges(device, {d: kind[d] for d in single}, levels, random)
    if elsewhere:
        ranges = ", ".join(hex(start) for start in elsewhere)
        doubts.append(f"bits play other parts in addresses from {ranges} on")
    return AddressMapping(
        tuple(sorted(column)),
        tuple(sorted(row)),
        masks,
        tuple(own for own, mask in hashes.items() if mask != 1 << own),
        hit_ns=float(levels[HIT]),
        miss_ns=float(levels[MISS]),
        conflict_ns=float(levels[CONFLICT]),
        doubts=tuple(doubts),
    )


def _other_ranges(
    device: PairDevice,
    kind: dict[int, int],
    levels: NDArray[np.float64],
    random: np.random.Generator,
) -> list[int]:
    """Starts of those quarters of the addresses in which differences do not have the ``kind`` that
    they have over all. Those of the bits that choose the quarter are left out."""
    size = (1 << device.address_bits) // _RANGES
    inside = [d for d in kind if d < size]
    return [
        start
        for start in range(0, _RANGES * size, size)
        if _kinds(_medians(device, inside, random, (start, start + size)), levels)
        != [kind[d] for d in inside]
    ]


def _dependence(bit: int, own: list[int], kinds_of: Callable[[list[int]], list[int]]) -> int | None:
    """Mask of ``bit`` and the bank bits that, all flipped together, lead to the same bank; None if
    there are none."""
    for size in range(1, len(own) + 1):
        tried = [sum(1 << b for b in some) | 1 << bit for some in combinations(own, size)]
        for difference, kind in zip(tried, kinds_of(tried), strict=True):
            if kind != MISS:
                return difference
    return None


def _agrees(kind: dict[int, int], hashes: tuple[int, ...], row: list[int]) -> bool:
    """Whether all that was measured is what the mapping says.

    Differences of a bank's own bits are as good as row bits where those of their hash are.
    """
    rows = sum(1 << bit for bit in row)
    for difference, seen in kind.items():
        if any((difference & mask).bit_count() % 2 for mask in hashes):
            expected = MISS
        else:
            expected = CONFLICT if difference & rows else HIT
        if expected != seen:
            return False
    return True


def _medians(
    device: PairDevice,
    differences: list[int],
    random: np.random.Generator,
    between: tuple[int, int] | None = None,
) -> NDArray[np.float64]:
    """(n,) median time of the second load, over random first addresses, of all or of those
    ``between`` two."""
    low, high = between or (0, 1 << device.address_bits)
    bases = random.integers(low, high, (len(differences), _BASES))
    others = bases ^ np.array(differences, np.int64)[:, None]
    times = device.second(bases.reshape(-1), others.reshape(-1)).reshape(bases.shape)
    result: NDArray[np.float64] = np.median(times, axis=1)
    return result


def _three_levels(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3,) hit, miss and conflict."""
    ordered = np.sort(seen)
    apart = np.diff(np.log(np.maximum(ordered, 1.0)))
    third, second = np.sort(apart)[[-3, -2]]
    if second < np.log(_BETWEEN) or second < _CLEAR * third:
        raise MachineError(
            "pairs of loads do not take three kinds of time",
            hint="row hits, misses and conflicts must differ, and loads must pass the caches",
        )
    parts = np.split(ordered, np.sort(np.argsort(apart)[-2:]) + 1)
    return np.array([np.median(part) for part in parts])


def _kinds(seen: NDArray[np.float64], levels: NDArray[np.float64]) -> list[int]:
    edges = np.sqrt(levels[1:] * levels[:-1])
    return [int(kind) for kind in np.searchsorted(edges, seen)]
