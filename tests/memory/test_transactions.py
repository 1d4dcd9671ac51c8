"""Transactions of streams: patterns lose nothing, tiles map as written, fills cover the tile."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.kernel.source import Tile
from placewise.machine.load import load_machine, parse_machine
from placewise.memory.reuse.stream import TAGS, ArrayStream
from placewise.memory.transactions import (
    address_period,
    count_transactions,
    fill_addresses,
    fill_masks,
    fill_transactions,
    patterns,
    tile_patterns,
)

A100 = load_machine("A100")


def _stream(base, stride, mask, tag, width=4):
    n = len(base)
    return ArrayStream(
        np.array(base, np.int64),
        np.array(stride, np.int32),
        np.array(mask, np.uint32),
        np.full(n, -1, np.int32),
        np.zeros((0, 32), np.int32),
        np.full(n, width, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.array(tag, np.uint8),
        np.zeros(n, np.uint8),
    )


def _distinct(stream, i, block):
    lanes = [lane for lane in range(32) if int(stream.mask[i]) >> lane & 1]
    return len({(int(stream.base[i]) + int(stream.stride[i]) * lane) // block for lane in lanes})


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2000),
            st.sampled_from([0, 4, 8, -4, 256]),
            st.sampled_from([0xFFFFFFFF, 1, 0xFFFF0000, 0x55555555]),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=80,
    )
)
def test_patterns_give_the_same_transactions_as_single_accesses(rows):
    stream = _stream(
        [4 * b + (31 * 4 if s < 0 else 0) for b, s, _, _ in rows],
        [s for _, s, _, _ in rows],
        [m for *_, m, _ in rows],
        [t for *_, t in rows],
    )
    for name, block in (("L1", 128), ("globalMem", 32)):
        expected = np.zeros(TAGS)
        for i in range(len(rows)):
            expected[stream.tag[i]] += _distinct(stream, i, block)
        for period in (address_period(A100), None):
            counted = count_transactions(patterns(stream, period), A100.memory(name))
            assert counted.tolist() == expected.tolist()


def test_alike_accesses_are_one_pattern():
    stream = _stream(np.arange(1000) * 4096, [4] * 1000, [0xFFFFFFFF] * 1000, [0] * 1000)
    found = patterns(stream, address_period(A100))
    assert len(found.mask) == 1
    assert found.weight[0, 0] == 1000


def test_period_covers_blocks_banks_and_literals():
    assert address_period(A100) == 256  # blocks of 32 to 256 bytes, 32 banks of 4
    odd = replace(A100.memory("L1"), block_bytes=96)
    assert address_period(replace(A100, memories=(odd,))) == 768
    text = (
        "machine X; die = 1 tpc; tpc = 1 sm; sm = 8 core; {limits}"
        "g 1 Y RW na 1MB 32B ? 9clk <> <> die ? warp{{floor(address1/{n}) != floor(address2/{n})}};"
        " space global G direct <g> global RW;"
    )
    limits = "".join(
        f"{k} = {v};"
        for k, v in {
            "compute_capability": "3.5",
            "max_threads_per_block": 1024,
            "max_block": "<1024 1024 64>",
            "max_grid": "<9 9 9>",
            "max_threads_per_sm": 2048,
            "max_blocks_per_sm": 16,
            "registers_per_sm": 65536,
            "max_registers_per_thread": 255,
            "shared_memory_per_block": "48 KB",
            "shared_memory_per_sm": "48 KB",
        }.items()
    )
    machine = parse_machine(text.format(limits="limits {" + limits + "}", n=80), "x.msl")
    assert address_period(machine) % (80 * 4) == 0


@pytest.mark.parametrize(
    ("base", "stride", "pitch", "width", "conflicts"),
    [
        # A row of 32 consecutive elements.
        (0, 4, 100, 40, 1),
        # A column of a tile 32 wide: one bank.
        (0, 400, 100, 32, 32),
        # A column of a tile 33 wide: 32 banks.
        (0, 400, 100, 33, 1),
        # A column of a tile 40 wide: banks 0, 8, 16, 24, eight lanes each.
        (0, 400, 100, 40, 8),
        # All lanes read one word.
        (80, 0, 100, 40, 1),
    ],
)
def test_bank_conflicts_follow_from_the_tile(base, stride, pitch, width, conflicts):
    tile = Tile(False, 32, width, pitch, 32 * width, "", "", "", False)
    stream = _stream([base], [stride], [0xFFFFFFFF], [0])
    counted = count_transactions(tile_patterns(stream, tile, 4), A100.memory("sharedMem"))
    assert counted[0] == conflicts


@given(st.integers(1, 9), st.integers(1, 70), st.booleans())
def test_fill_covers_the_tile_once(rows, width, flat):
    pitch = 0 if flat else 200
    rows = 1 if flat else rows
    tile = Tile(False, rows, width, pitch, rows * width, "", "", "", True)
    source, target = fill_addresses(tile, 8)
    active = (fill_masks(tile)[:, None] >> np.arange(32)) & 1 == 1
    assert target[active].tolist() == [8 * e for e in range(rows * width)]
    expected = [8 * (r * pitch + c) for r in range(rows) for c in range(width)]
    assert source[active].tolist() == expected


def test_fill_transactions_by_hand():
    tile = Tile(False, 2, 32, 1000, 64, "", "", "", True)
    # Two rows of 128 bytes, at 0 and at 4000 = 31.25 * 128, whose second row spans two lines.
    assert fill_transactions(tile, 4, A100.memory("L1"), in_tile=False) == 1 + 2
    assert fill_transactions(tile, 4, A100.memory("globalMem"), in_tile=False) == 4 + 4
    assert fill_transactions(tile, 4, A100.memory("sharedMem"), in_tile=True) == 2
    # Structs of 12 bytes go word by word: three strided passes of 32 lanes, one transaction each.
    struct = Tile(False, 1, 32, 0, 32, "", "", "", True)
    assert fill_transactions(struct, 12, A100.memory("sharedMem"), in_tile=True) == 3
