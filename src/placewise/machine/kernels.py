"""Compiled loops over warp accesses: distinct keys, keys per group, and colouring of conflicts.

Kept apart because importing Numba takes longer than reading a machine file.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def distinct_quotients(
    addresses: NDArray[np.int64], mask: NDArray[np.uint32], divisor: int
) -> NDArray[np.int64]:
    """Number of distinct ``address // divisor`` over the active lanes of each row; addresses >= 0."""
    n = addresses.shape[0]
    result = np.empty(n, np.int64)
    keys = np.empty(32, np.int64)
    shift = -1
    for bit in range(62):
        if divisor == 1 << bit:
            shift = bit
    for row in range(n):
        active = mask[row]
        low = np.int64(np.iinfo(np.int64).max)
        high = np.int64(-1)
        if active == np.uint32(0xFFFFFFFF):
            for lane in range(32):
                address = addresses[row, lane]
                low = min(low, address)
                high = max(high, address)
        else:
            for lane in range(32):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    address = addresses[row, lane]
                    low = min(low, address)
                    high = max(high, address)
        if high < 0:
            result[row] = 0
            continue
        if shift >= 0:
            low >>= shift
            high >>= shift
        else:
            low //= divisor
            high //= divisor
        if high == low:
            result[row] = 1
        elif high - low < 64:
            # All keys fit one machine word: set a bit for each and count the bits.
            seen = np.uint64(0)
            for lane in range(32):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    address = addresses[row, lane]
                    key = address >> shift if shift >= 0 else address // divisor
                    seen |= np.uint64(1) << np.uint64(key - low)
            result[row] = _bits(seen)
        else:
            count = 0
            for lane in range(32):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    address = addresses[row, lane]
                    key = address >> shift if shift >= 0 else address // divisor
                    fresh = True
                    for k in range(count):
                        if keys[k] == key:
                            fresh = False
                            break
                    if fresh:
                        keys[count] = key
                        count += 1
            result[row] = count
    return result


@njit(cache=True, nogil=True)
def worst_bank(
    addresses: NDArray[np.int64], mask: NDArray[np.uint32], divisor: int, banks: int
) -> NDArray[np.int64]:
    """Largest number of distinct ``address // divisor`` that are equal modulo ``banks``, per row."""
    n = addresses.shape[0]
    result = np.empty(n, np.int64)
    head = np.full(banks, -1, np.int8)
    length = np.zeros(banks, np.int64)
    link = np.empty(32, np.int8)
    words = np.empty(32, np.int64)
    touched = np.empty(32, np.int64)
    for row in range(n):
        active = mask[row]
        worst = 0
        count = 0
        for lane in range(32):
            if not (active >> np.uint32(lane)) & np.uint32(1):
                continue
            word = addresses[row, lane] // divisor
            bank = word % banks
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


@njit(cache=True, nogil=True)
def worst_group(
    keys: NDArray[np.float64], groups: NDArray[np.float64], mask: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """Largest number of distinct keys in one group, per row.

    ``keys`` is (n, 32); ``groups`` (n, 32, g) names a lane's group by g figures.
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


@njit(cache=True, nogil=True)
def colours(conflicts: NDArray[np.uint32], mask: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Colours that greedy colouring in lane order uses, per row.

    ``conflicts[i, l]`` has bit k set where lanes l and k are serialized.
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


@njit(cache=True, nogil=True, inline="always")
def _bits(value: np.uint64) -> int:
    value = value - ((value >> np.uint64(1)) & np.uint64(0x5555555555555555))
    value = (value & np.uint64(0x3333333333333333)) + (
        (value >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((value * np.uint64(0x0101010101010101)) >> np.uint64(56))
