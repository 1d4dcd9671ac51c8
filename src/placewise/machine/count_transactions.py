"""Compiled loops over warp accesses: distinct keys, keys per group, and colouring of conflicts.

A module of its own, because importing Numba takes longer than reading a machine file.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.compiled_code import compiled

_ALL = np.uint32(0xFFFFFFFF)
_SLOTS = 64
"""Slots of the hash table of one access's keys: twice as many as keys, so chains stay short."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio (Knuth's multiplicative hashing)."""
_LARGEST = np.iinfo(np.int64).max


@compiled(nogil=True)
def distinct_quotients(
    addresses: NDArray[np.int64], mask: NDArray[np.uint32], divisor: int
) -> NDArray[np.int64]:
    """(n,) number of distinct ``address // divisor`` of the active lanes of each access:
    ``addresses`` (n, 32) are not negative, ``mask`` (n,) has a bit for each active lane."""
    n = addresses.shape[0]
    result = np.empty(n, np.int64)
    slots = np.empty(_SLOTS, np.int64)
    owner = np.full(_SLOTS, -1, np.int64)
    shift = _shift(divisor)
    for row in range(n):
        low, high = _range(addresses[row], mask[row])
        if high < 0:
            result[row] = 0
            continue
        low = _quotient(low, divisor, shift)
        high = _quotient(high, divisor, shift)
        active = mask[row]
        if high == low:
            result[row] = 1
        elif high - low < 64:
            # All keys fit one machine word: set a bit for each and count the bits.
            seen = np.uint64(0)
            for lane in range(32):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    key = _quotient(addresses[row, lane], divisor, shift)
                    seen |= np.uint64(1) << np.uint64(key - low)
            result[row] = _bits(seen)
        else:
            count = 0
            for lane in range(32):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    key = _quotient(addresses[row, lane], divisor, shift)
                    slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(58))
                    while owner[slot] == row and slots[slot] != key:
                        slot = (slot + 1) % _SLOTS
                    if owner[slot] != row:
                        owner[slot] = row
                        slots[slot] = key
                        count += 1
            result[row] = count
    return result


@compiled(nogil=True)
def worst_bank(
    addresses: NDArray[np.int64], mask: NDArray[np.uint32], divisor: int, banks: int
) -> NDArray[np.int64]:
    """(n,) largest number of distinct ``address // divisor`` of one bank, the quotient modulo
    ``banks``; arguments as of :func:`distinct_quotients`."""
    n = addresses.shape[0]
    result = np.empty(n, np.int64)
    head = np.full(banks, -1, np.int8)
    length = np.zeros(banks, np.int64)
    link = np.empty(32, np.int8)
    words = np.empty(32, np.int64)
    touched = np.empty(32, np.int64)
    shift = _shift(divisor)
    bank_shift = _shift(banks)
    for row in range(n):
        low, high = _range(addresses[row], mask[row])
        if high < 0:
            result[row] = 0
            continue
        if _quotient(high, divisor, shift) - _quotient(low, divisor, shift) < banks:
            # Words closer together than there are banks lie on different ones.
            result[row] = 1
            continue
        active = mask[row]
        worst = 0
        count = 0
        for lane in range(32):
            if not (active >> np.uint32(lane)) & np.uint32(1):
                continue
            word = _quotient(addresses[row, lane], divisor, shift)
            bank = word & (banks - 1) if bank_shift >= 0 else word % banks
            entry = head[bank]
            while entry >= 0 and words[entry] != word:
                entry = link[entry]
            if entry < 0:
                words[count] = word
                touched[count] = bank
                link[count] = head[bank]
                head[bank] = count
                count += 1
                length[bank] += 1
                worst = max(worst, length[bank])
        for k in range(count):
            head[touched[k]] = -1
            length[touched[k]] = 0
        result[row] = worst
    return result


@compiled(nogil=True)
def worst_group(
    keys: NDArray[np.float64], groups: NDArray[np.float64], mask: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """(n,) largest number of distinct keys in one group of each access's active lanes.

    ``keys`` is (n, 32); ``groups`` (n, 32, g) names a lane's group by g figures; ``mask`` (n,) has
    a bit for each active lane.
    """
    n = keys.shape[0]
    figures = groups.shape[2]
    result = np.empty(n, np.int64)
    kept = np.empty(32, np.int64)
    for row in range(n):
        active = mask[row]
        worst = 0
        count = 0
        for lane in range(32):
            if not (active >> np.uint32(lane)) & np.uint32(1):
                continue
            same_group = 1
            fresh = True
            for k in range(count):
                other = kept[k]
                together = True
                for g in range(figures):
                    if groups[row, lane, g] != groups[row, other, g]:
                        together = False
                        break
                if together:
                    if keys[row, lane] == keys[row, other]:
                        fresh = False
                        break
                    same_group += 1
            if fresh:
                kept[count] = lane
                count += 1
                worst = max(worst, same_group)
        result[row] = worst
    return result


@compiled(nogil=True)
def colours(conflicts: NDArray[np.uint32], mask: NDArray[np.uint32]) -> NDArray[np.int64]:
    """(n,) number of colours that greedy colouring in lane order uses.

    ``conflicts`` (n, 32) has, of lane l, bit k set where lanes l and k are serialized; ``mask``
    (n,) has a bit for each active lane.
    """
    n = conflicts.shape[0]
    result = np.empty(n, np.int64)
    members = np.zeros(32, np.uint32)
    for row in range(n):
        active = mask[row]
        used = 0
        for lane in range(32):
            if not (active >> np.uint32(lane)) & np.uint32(1):
                continue
            colour = 0
            while colour < used and members[colour] & conflicts[row, lane]:
                colour += 1
            if colour == used:
                members[used] = 0
                used += 1
            members[colour] |= np.uint32(1) << np.uint32(lane)
        result[row] = used
    return result


@njit(nogil=True, inline="always")
def _bits(value: np.uint64) -> np.int64:
    value = value - ((value >> np.uint64(1)) & np.uint64(0x5555555555555555))
    value = (value & np.uint64(0x3333333333333333)) + (
        (value >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((value * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True, inline="always")
def _range(addresses: NDArray[np.int64], active: np.uint32) -> tuple[np.int64, np.int64]:
    """Smallest and largest address of the active lanes; the largest is -1 where there is none."""
    low = np.int64(_LARGEST)
    high = np.int64(-1)
    if active == _ALL:  # without a test per lane, this loop is vectorised
        for lane in range(32):
            low = min(low, addresses[lane])
            high = max(high, addresses[lane])
    else:
        for lane in range(32):
            if (active >> np.uint32(lane)) & np.uint32(1):
                low = min(low, addresses[lane])
                high = max(high, addresses[lane])
    return low, high


@compiled(nogil=True)
def _shift(divisor: int) -> int:
    """k where ``divisor`` is 2^k, else -1."""
    for bit in range(62):
        if divisor == 1 << bit:
            return bit
    return -1


@njit(nogil=True, inline="always")
def _quotient(address: int, divisor: int, shift: int) -> int:
    return address >> shift if shift >= 0 else address // divisor
