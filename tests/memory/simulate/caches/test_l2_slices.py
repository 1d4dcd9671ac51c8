"""Slices and partitions of L2 against plain Python objects, on random requests."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.machine import load_machine, parse_machine
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.hierarchy import hierarchy
from placewise.memory.simulate.caches.last_level.slices import (
    SliceTraffic,
    new_slices,
    slice_traffic,
    spread,
)
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT, STREAM_BIT
from placewise.memory.simulate.requests.streams import Streams, new_streams

MACHINE = """
machine Tiny;
die = 6 tpc; tpc = 1 sm; sm = 32 core;
limits {{ compute_capability = 8.0; max_threads_per_sm = 128; max_blocks_per_sm = 2; }}
globalMem 1 Y RW na 1GB 32B ? 400clk <L2 L1> <> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
L2 2 N RW na 4KB 32B ? 200clk <L1> <globalMem> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
L1 3 N RW na 1KB 128B ? 30clk <> <L2 globalMem> sm ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
sharedMem 4 Y RW na 48KB ? 32 20clk <> <> sm ?
  block{{word1 != word2 && word1 % banks == word2 % banks}};
detail L1 {{ line = 128 B; sector = 32 B; ways = 2; policy = lru; }}
detail L2 {{ line = 128 B; sector = 32 B; ways = 4; policy = lru; {more} }}
space global G direct <L1 L2 globalMem> global RW;
space shared S kernel_buffer <sharedMem> global RW;
"""
SMS = 6
LINES = 96
OCCUPANCY = Occupancy(1, 1, 1.0, ())

requests = st.lists(
    st.tuples(
        st.integers(0, SMS - 1), st.integers(0, LINES - 1), st.integers(1, 15), st.integers(0, 2)
    ),
    max_size=300,
)


@njit
def _spread_all(slices: Any, sms: Any, requests: Any, streams: Any) -> None:
    for k in range(len(sms)):
        spread(slices, sms[k], requests[k], streams)


def machine(more: str) -> Machine:
    return parse_machine(MACHINE.format(more=more))


def asked(more: str, drawn: list[tuple[int, int, int, int]]) -> SliceTraffic:
    """What is counted of (SM, line, sectors, kind)."""
    tiny = machine(more)
    slices = new_slices(tiny, hierarchy(tiny, OCCUPANCY, 0), 1)
    streams: Streams = new_streams(3, 1)
    streams.rows["kind"][:3] = (0, 1, 2)
    table = np.array(drawn, np.int64).reshape(-1, 4)
    sms, lines, sectors, kinds = table.T
    requests = lines << LINE_BIT | sectors << SECTOR_BIT | kinds << STREAM_BIT
    _spread_all(slices, sms.copy(), requests, streams)
    found = slice_traffic(slices)
    assert found is not None
    return found


class Partition:
    """A cache of 4 sets, each with four lines, the last used last; sectors by line."""

    def __init__(self) -> None:
        self.sets: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(4)]

    def load(self, line: int, sectors: int) -> int:
        """Sectors that were missing."""
        lines = self.sets[line % 4]
        held = lines.pop(line, None)
        if held is None and len(lines) == 4:
            lines.popitem(last=False)
        lines[line] = (held or 0) | sectors
        return sectors & ~(held or 0)

    def give_up(self, line: int, sectors: int) -> None:
        if line in self.sets[line % 4]:
            self.sets[line % 4][line] &= ~sectors


def mixed(line: int, slices: int) -> int:
    """By the fraction of the square root of 2."""
    return (line * 0x6A09E667F3BCC909 % 2**64 >> 32) * slices >> 32


def hashed(line: int) -> int:
    """Of the hashes <7 9> and <8 12>."""
    bit = [line * 128 >> n & 1 for n in range(13)]
    return bit[7] ^ bit[9] | (bit[8] ^ bit[12]) << 1


def totals(where: list[int], drawn: list[tuple[int, int, int, int]], slices: int) -> NDArray[Any]:
    found = np.zeros((slices, 3), int)
    for number, (_, _, sectors, kind) in zip(where, drawn, strict=True):
        found[number, kind] += sectors.bit_count()
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(requests)
def test_sectors_of_each_slice(drawn: list[tuple[int, int, int, int]]) -> None:
    for count in (1, 10, 44):
        found = asked(f"slices = {count};", drawn)
        where = [mixed(line, count) for _, line, _, _ in drawn]
        np.testing.assert_array_equal(found.sectors, totals(where, drawn, count))
        assert found.crossed is None
    found = asked("slice = <7 9>; slice = <8 12>;", drawn)
    where = [hashed(line) for _, line, _, _ in drawn]
    np.testing.assert_array_equal(found.sectors, totals(where, drawn, 4))


@settings(max_examples=60, deadline=None)
@given(requests)
def test_what_crosses_between_partitions(drawn: list[tuple[int, int, int, int]]) -> None:
    kept = asked("slices = 10; partitions = 2; far_lines = kept;", drawn).crossed
    left = asked("slices = 10; partitions = 2;", drawn).crossed
    expected = np.zeros((2, 3), int)
    partitions = [Partition(), Partition()]
    for sm, line, sectors, kind in drawn:
        home, near = mixed(line, 10) // 5, sm // 3
        expected[0, kind] += sectors.bit_count() * (home != near)
        if kind == 0:
            missing = partitions[near].load(line, sectors)
            if home != near and missing:
                partitions[home].load(line, missing)
                expected[1, kind] += missing.bit_count()
            continue
        partitions[home].load(line, sectors)
        partitions[1 - home].give_up(line, sectors)
        expected[1, kind] += sectors.bit_count() * (home != near)
    np.testing.assert_array_equal(left, expected[0])
    np.testing.assert_array_equal(kept, expected[1])


@pytest.mark.parametrize("stride", [1, 2, 3, 8, 32, 80, 128])
def test_strided_lines_are_spread_evenly(stride: int) -> None:
    lines = np.arange(8000, dtype=np.int64) * stride
    counts = np.bincount([mixed(int(line), 80) for line in lines], minlength=80)
    assert counts.max() <= 1.1 * counts.mean()


def test_without_slices_nothing_is_counted() -> None:
    tiny = machine("")
    assert slice_traffic(new_slices(tiny, hierarchy(tiny, OCCUPANCY, 0), 1)) is None
    known = machine("slices = 4;")
    assert slice_traffic(new_slices(known, None, 1)) is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("slices = 3; slice = <8>;", "1 slice lines tell 2 slices apart"),
        ("slice = <6 9>;", "a line lies in one slice"),
        ("slices = 9; partitions = 2;", "partitions must have as many slices each"),
    ],
    ids=["number", "within a line", "partitions"],
)
def test_slices_that_contradict_one_another(more: str, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        machine(more)


def test_slices_of_real_machines() -> None:
    for name, slices in (("A100", 80), ("H100", 80), ("RTX2080Ti", 44), ("A4000", 32)):
        detail = load_machine(name).levels("global")[1].detail
        assert detail.slices == slices
