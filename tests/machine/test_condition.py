"""Transactions of warp accesses against hand-worked figures and brute force."""

from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from placewise.errors import MachineError
from placewise.machine import load_machine, parse_machine
from placewise.machine.condition import (
    SerialCondition,
    keyed_transactions,
    pairwise_transactions,
)
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.tree import Binary, Keyword

ALL = 0xFFFFFFFF
LANES = np.arange(32)
BLOCKS = "floor(address1/blockSize) != floor(address2/blockSize)"
ADDRESSES = "address1 != address2"
BANKS = "word1 != word2 && word1 % banks == word2 % banks"


def condition(text):
    specification = parse_specification(
        "die = 1 tpc; tpc = 1 sm; sm = 1 core;"
        f"m 1 Y R na ? ? ? ? <> <> die ? warp{{{text}}};"
    ).memories[0].condition  # fmt: skip
    return SerialCondition(specification.scope, specification.expression)


def count(text, addresses, mask=ALL, element=4, block=128, banks=32):
    (result,) = condition(text).transactions(
        np.asarray([addresses], np.int64), np.array([mask], np.uint32),
        element_bytes=element, block_bytes=block, banks=banks,
    )  # fmt: skip
    return result


class TestHandWorked:
    def test_coalesced_floats_are_one_block_of_128_bytes(self):
        assert count(BLOCKS, LANES * 4) == 1

    def test_and_four_blocks_of_32_bytes(self):
        assert count(BLOCKS, LANES * 4, block=32) == 4

    def test_an_offset_of_one_word_touches_one_more_block(self):
        assert count(BLOCKS, LANES * 4 + 4) == 2
        assert count(BLOCKS, LANES * 4 + 4, block=32) == 5

    def test_doubles_are_two_blocks_and_a_stride_of_two_as_well(self):
        assert count(BLOCKS, LANES * 8, element=8) == 2
        assert count(BLOCKS, LANES * 16, element=16) == 4
        assert count(BLOCKS, LANES * 8) == 2

    def test_column_of_a_matrix(self):
        assert count(BLOCKS, LANES * 4096) == 32

    def test_constant_memory_serves_one_address_at_a_time(self):
        assert count(ADDRESSES, LANES * 0 + 64) == 1
        assert count(ADDRESSES, LANES // 8 * 4) == 4
        assert count(ADDRESSES, LANES * 4) == 32

    @pytest.mark.parametrize("stride", range(1, 65))
    def test_stride_of_shared_memory_conflicts_by_its_gcd_with_the_banks(self, stride):
        assert count(BANKS, LANES * stride * 4) == gcd(stride, 32)

    def test_one_word_is_broadcast(self):
        assert count(BANKS, LANES * 0 + 4) == 1
        assert count(BANKS, LANES // 2 * 4) == 1

    def test_bytes_of_one_word_do_not_conflict(self):
        assert count(BANKS, LANES, element=1) == 1

    def test_rows_padded_by_a_word_do_not_conflict(self):
        assert count(BANKS, LANES * 33 * 4) == 1

    def test_wide_accesses_without_conflict(self):
        assert count(BANKS, LANES * 8, element=8) == 2
        assert count(BANKS, LANES * 16, element=16) == 4

    def test_wide_accesses_with_conflicts(self):
        # 16 lanes, 2 words each, 4 words apart: banks 0 1 4 5 …, each twice; for both half warps.
        assert count(BANKS, LANES * 16, element=8) == 4
        # 8 lanes, 4 words each, 32 words apart: four banks with 8 words each; four quarter warps.
        assert count(BANKS, LANES * 128, element=16) == 32

    def test_wide_access_of_few_lanes_costs_only_their_passes(self):
        assert count(BANKS, LANES * 16, mask=0x00FF, element=16) == 1
        assert count(BANKS, LANES * 16, mask=0xF00F, element=16) == 2

    def test_wide_accesses_whose_lanes_pair_up_take_half(self):
        # What an engineer of NVIDIA says of loads of 16 bytes, and what readers of his measured.
        assert count(BANKS, LANES * 0, element=16) == 2
        assert count(BANKS, LANES * 0, element=8) == 1
        assert count(BANKS, LANES // 16 * 32, element=16) == 2
        assert count(BANKS, LANES // 2 * 16, element=16) == 2
        assert count(BANKS, (LANES // 4 * 2 + LANES % 2) * 8, element=8) == 1
        # Lanes 0 to 15 read every other 16 bytes, the others the same: no pairs, two-way conflicts.
        assert count(BANKS, LANES % 16 * 32, element=16) == 8
        # A pair of which one lane is off is served as one.
        apart = LANES // 2 * 8 + LANES % 2 * 4096
        assert count(BANKS, apart, mask=0x55555555, element=8) == 1
        # One pair that differs has all others wait.
        other = LANES * 0
        other[31] = 16
        assert count(BANKS, other, element=16) == 4

    def test_sixteen_banks_serve_a_half_warp(self):
        assert count(BANKS, LANES * 4, banks=16) == 2

    def test_indices(self):
        assert count("index1 != index2", LANES * 4, element=4) == 32
        assert count("floor(index1/8) != floor(index2/8)", LANES * 8, element=8) == 4

    def test_no_active_lane_no_transaction(self):
        for text in (BLOCKS, ADDRESSES, BANKS, "address1 < address2"):
            assert count(text, LANES * 4, mask=0) == 0


def brute_force(conflict, addresses, mask):
    """Fewest rounds so that no two conflicting lanes share one, by trying all colourings."""
    lanes = [int(a) for lane, a in enumerate(addresses) if mask >> lane & 1]
    edges = [[conflict(a, b) or conflict(b, a) for b in lanes] for a in lanes]

    def colourable(colours, chosen):
        i = len(chosen)
        if i == len(lanes):
            return True
        for colour in range(min(colours, max(chosen, default=-1) + 2)):
            if all(not edges[i][j] or chosen[j] != colour for j in range(i)) and colourable(
                colours, [*chosen, colour]
            ):
                return True
        return False

    return next(k for k in range(len(lanes) + 1) if colourable(k, []))


CONFLICTS = {
    BLOCKS: lambda a, b: a // 64 != b // 64,
    ADDRESSES: lambda a, b: a != b,
    BANKS: lambda a, b: a // 4 != b // 4 and a // 4 % 8 == b // 4 % 8,
    "floor(address1/24) != floor(address2/24)": lambda a, b: a // 24 != b // 24,
    "floor(word1/4) != floor(word2/4) && floor(word1/4) % 5 == floor(word2/4) % 5": lambda a, b: (
        a // 16 != b // 16 and a // 16 % 5 == b // 16 % 5
    ),
    "address1 / 8 != address2 / 8 && address1 % 3 == address2 % 3 && word1 % 2 == word2 % 2": (
        lambda a, b: a != b and a % 3 == b % 3 and a // 4 % 2 == b // 4 % 2
    ),
    "word2 != word1 && word2 % 4 == word1 % 4": lambda a, b: (
        a // 4 != b // 4 and a // 4 % 4 == b // 4 % 4
    ),
    "address1 - address2 > 40": lambda a, b: a - b > 40,
    "!(word1 == word2) && (word1 < 9 || word2 < 9)": lambda a, b: (
        a // 4 != b // 4 and (a // 4 < 9 or b // 4 < 9)
    ),
    "word1 % 4 == word2 % 4": lambda a, b: a // 4 % 4 == b // 4 % 4,
}


@pytest.mark.parametrize("text", CONFLICTS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_against_brute_force(text, data):
    addresses = data.draw(hnp.arrays(np.int64, 32, elements=st.integers(0, 300)))
    lanes = data.draw(st.lists(st.integers(0, 31), max_size=9, unique=True))
    mask = sum(1 << lane for lane in lanes)
    expected = brute_force(CONFLICTS[text], addresses, mask)
    assert count(text, addresses, mask, element=1, block=64, banks=8) == expected


KEYED = [text for text in CONFLICTS if condition(text).key_form is not None]


def test_the_common_conditions_take_the_fast_path():
    assert {BLOCKS, ADDRESSES, BANKS} <= set(KEYED)
    assert "address1 - address2 > 40" not in KEYED


@pytest.mark.parametrize("text", KEYED)
@settings(max_examples=25, deadline=None)
@given(
    addresses=hnp.arrays(
        np.int64, (3, 32), elements=st.integers(0, 2000) | st.integers(0, 2**45)
    ),
    mask=hnp.arrays(np.uint32, 3),
)  # fmt: skip
def test_both_paths_agree(text, addresses, mask):
    serial = condition(text)
    constants = {"blockSize": 64, "banks": 32}
    fast = keyed_transactions(serial.key_form, addresses, mask, 4, constants)
    slow = pairwise_transactions(serial.expression, addresses, mask, 4, constants)
    assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize("text", CONFLICTS)
def test_inactive_lanes_may_hold_anything(text):
    rng = np.random.default_rng(7)
    addresses = rng.integers(0, 500, (50, 32))
    mask = rng.integers(0, 2**32, 50, dtype=np.uint32)
    inactive = (mask[:, None] >> LANES.astype(np.uint32)) & 1 == 0
    garbage = np.where(inactive, rng.integers(-(2**62), 2**62, (50, 32)), addresses)
    results = [
        condition(text).transactions(a, mask, element_bytes=8, block_bytes=64, banks=32).tolist()
        for a in (addresses // 8 * 8, np.where(inactive, garbage, addresses // 8 * 8))
    ]
    assert results[0] == results[1]


def test_many_accesses_at_once_equal_each_alone():
    rng = np.random.default_rng(3)
    addresses = rng.integers(0, 4096, (9000, 32)) * 4
    mask = rng.integers(0, 2**32, 9000, dtype=np.uint32)
    text = "address1 - address2 > 4000"
    together = condition(text).transactions(addresses, mask, element_bytes=4)
    for row in (0, 4095, 4096, 8999):
        assert together[row] == count(text, addresses[row], mask[row])


def test_swapped_threads_are_the_same_condition():
    assert condition("address2 != address1").key_form == condition(ADDRESSES).key_form


def test_missing_figures_are_named():
    one, two = Keyword("blockSize"), Keyword("address2")
    serial = SerialCondition("warp", Binary("!=", one, two), "file.msl:3:4")
    with pytest.raises(MachineError, match="blockSize") as caught:
        serial.transactions(
            np.zeros((1, 32), np.int64), np.array([1], np.uint32), element_bytes=4
        )  # fmt: skip
    assert caught.value.where == "file.msl:3:4"


@pytest.mark.parametrize("shape", [(32,), (1, 31)])
def test_misshapen_accesses(shape):
    with pytest.raises(ValueError, match="32"):
        condition(ADDRESSES).transactions(
            np.zeros(shape, np.int64), np.zeros(1, np.uint32), element_bytes=4
        )


def test_elements_no_lane_can_access():
    with pytest.raises(ValueError, match="12 bytes"):
        count(BANKS, LANES * 12, element=12)


def test_a_memory_added_by_an_entry_in_the_file_alone():
    """An invented scratchpad of 8 banks, each 16 bytes wide: an entry in a file, no code."""
    text = """
        machine X "An invented machine";
        die = 1 tpc; tpc = 4 sm; sm = 64 core;
        globalMem 1 Y RW na 8GB 128B ? 500clk <> <> die ?
          warp{floor(address1/blockSize) != floor(address2/blockSize)};
        rowMem 2 Y RW na 24KB 16B 8 20clk <> <> sm ?
          block{floor(address1/blockSize) != floor(address2/blockSize)
                && floor(address1/blockSize) % banks == floor(address2/blockSize) % banks};
        space global G direct <globalMem> global RW;
        space row W kernel_buffer <rowMem> scratch RW declaration "__row__";
    """
    machine = parse_machine(text, "x.msl")
    space = machine.space("row")
    assert (space.way, space.declaration, space.path) == ("kernel_buffer", "__row__", "scratch")
    (memory,) = machine.levels("row")
    mask = np.array([ALL], np.uint32)
    for stride, expected in ((4, 1), (16, 4), (32, 8), (128, 32)):
        (found,) = memory.condition.transactions(
            (LANES * stride)[None, :], mask, element_bytes=4,
            block_bytes=memory.block_bytes, banks=memory.banks,
        )  # fmt: skip
        assert found == expected


@pytest.mark.parametrize(
    ("machine", "space", "coalesced", "column", "uniform"),
    [
        ("C1060", "global", 2, 32, 1),
        ("M2075", "global", 1, 32, 1),
        ("K20c", "global", 4, 32, 1),
        ("A100", "global", 1, 32, 1),
        ("A100", "constant", 32, 32, 1),
        ("C1060", "shared", 2, 32, 1),
        ("K20c", "shared", 1, 32, 1),
    ],
)
def test_bundled_machines_at_their_nearest_level(machine, space, coalesced, column, uniform):
    memory = load_machine(machine).levels(space)[0]
    addresses = np.array([LANES * 4, LANES * 4096, LANES * 0], np.int64)
    found = memory.condition.transactions(
        addresses, np.full(3, ALL, np.uint32), element_bytes=4,
        block_bytes=memory.block_bytes, banks=memory.banks,
    )  # fmt: skip
    assert found.tolist() == [coalesced, column, uniform]
