"""Atomics of a sliced trace against lanes that update memory one after another."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import FIRST_WINDOW, WINDOW_SHIFT
from placewise.executor.ir.nodes import Access, Place
from placewise.executor.slice_interpreter.active_warps import ActiveWarps
from placewise.executor.slice_interpreter.atomic_update import MOST_LANES, update
from placewise.executor.slice_interpreter.storage import Storage


def _signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def _after(operation, old, x, new, bits):
    match operation:
        case "add":
            return old + x
        case "and":
            return old & x
        case "or":
            return old | x
        case "xor":
            return old ^ x
        case "umin":
            return min(old, x)
        case "umax":
            return max(old, x)
        case "smin":
            return min(_signed(old, bits), _signed(x, bits))
        case "smax":
            return max(_signed(old, bits), _signed(x, bits))
        case "inc":
            return 0 if old >= x else old + 1
        case "dec":
            return x if old == 0 or old > x else old - 1
        case "exch":
            return x
        case "cas":
            return new if old == x else old


def _access(operation, bits, space="global"):
    return Access("atomic", space, bits, 1, "ATOM", Place(1, None), operation=operation)


OPERATIONS = [
    "add",
    "and",
    "or",
    "xor",
    "umin",
    "umax",
    "smin",
    "smax",
    "inc",
    "dec",
    "exch",
    "cas",
]


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_lanes_update_one_after_another(operation, bits):
    rng = np.random.default_rng(OPERATIONS.index(operation) * 100 + bits)
    size, elements, warps = bits // 8, 7, 4
    dtype = np.dtype(f"u{size}")
    start = rng.integers(0, 5, (2, elements)).astype(dtype)
    start[:, 3:] |= dtype.type(1 << (bits - 1))
    windows = [FIRST_WINDOW, FIRST_WINDOW + 1]
    storage = Storage(
        {w: start[i].copy().view(np.uint8) for i, w in enumerate(windows)},
        np.zeros(16, np.uint8),
        np.zeros(warps, np.int64),
        ActiveWarps(warps),
        0,
        0,
    )
    memory = {
        w << WINDOW_SHIFT | n * size: int(start[i, n])
        for i, w in enumerate(windows)
        for n in range(elements)
    }
    addresses = np.array(sorted(memory), np.uint64)
    for _ in range(5):
        address = rng.choice(addresses, (warps, 32))
        mask = rng.random((warps, 32)) < 0.8
        x = rng.integers(0, 5, (warps, 32)).astype(dtype)
        x[:, ::3] |= dtype.type(1 << (bits - 1))
        new = rng.integers(0, 5, (warps, 32)).astype(dtype)
        expected = np.zeros((warps, 32), dtype)
        for warp, lane in zip(*np.nonzero(mask), strict=True):
            place = int(address[warp, lane])
            expected[warp, lane] = memory[place]
            after = _after(operation, memory[place], int(x[warp, lane]), int(new[warp, lane]), bits)
            memory[place] = after % (1 << bits)
        given = [x, new] if operation == "cas" else [x]
        found = update(storage, _access(operation, bits), address, mask, given)
        np.testing.assert_array_equal(found[mask], expected[mask])
    [held] = storage.load("global", addresses[None, :1], np.eye(warps, 32, dtype=bool), bits, 1)
    assert held[0, 0] == memory[int(addresses[0])]


def test_what_lies_beyond_an_array_reads_as_zero():
    storage = Storage(
        {FIRST_WINDOW: np.ones(8, np.uint8)},
        np.zeros(16, np.uint8),
        np.zeros(1, np.int64),
        ActiveWarps(1),
        0,
        0,
    )
    address = np.uint64(FIRST_WINDOW << WINDOW_SHIFT) + np.arange(32, dtype=np.uint64)[
        None, :
    ] * np.uint64(4)
    given = np.ones((1, 32), np.uint32)
    found = update(storage, _access("add", 32), address, np.ones((1, 32), bool), [given])
    assert found[0].tolist() == [0x01010101] * 2 + [0] * 30


def test_limits():
    storage = Storage(
        {FIRST_WINDOW: np.ones(8, np.uint8)},
        np.zeros(16, np.uint8),
        np.zeros(200, np.int64),
        ActiveWarps(200),
        0,
        0,
    )
    warps = MOST_LANES // 32 + 1
    mask = np.ones((warps, 32), bool)
    for operation, lanes in (("fadd", mask[:1]), ("add", mask)):
        with pytest.raises(UnsupportedError):
            update(storage, _access(operation, 32), np.uint64(0), lanes, [np.uint32(1)])
