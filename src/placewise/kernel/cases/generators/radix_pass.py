"""Keys in the middle of a radix sort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def radix_pass(
    keys: int, per_block: int, bits: int, shift: int, seed: int
) -> Mapping[str, NDArray[Any]]:
    """Random 32-bit keys, each block of ``per_block`` sorted by the digit of ``bits`` bits from bit
    ``shift`` on, and what the scatter by that digit needs.

    ``keys`` and ``values`` (keys,): the keys and where they were before; ``starts`` (blocks,
    digits): where a digit begins in its block; ``offsets`` (digits, blocks): where a block's keys
    of that digit go in the whole. Raises ValueError where blocks do not divide the keys, or the
    digit is not within 32 bits.
    """
    if per_block < 1 or keys % per_block:
        raise ValueError(f"{keys} keys are no whole number of blocks of {per_block}")
    if shift + bits > 32:
        raise ValueError(f"{bits} bits from bit {shift} on are beyond the 32 bits of a key")
    drawn = np.random.default_rng(seed).integers(0, 2**32, keys, dtype=np.uint32)
    blocks, digits = keys // per_block, 1 << bits
    digit = (drawn >> np.uint32(shift)) & np.uint32(digits - 1)
    block = np.arange(keys) // per_block
    order = np.lexsort((digit, block))
    counts = np.bincount(block * digits + digit, minlength=blocks * digits)
    by_block = counts.reshape(blocks, digits)
    starts = np.cumsum(by_block, axis=1) - by_block
    by_digit = by_block.T
    offsets = np.cumsum(by_digit).reshape(digits, blocks) - by_digit
    return {"keys": drawn[order], "values": order, "starts": starts, "offsets": offsets}
