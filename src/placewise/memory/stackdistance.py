"""Exact reuse distances of warp accesses, compiled.

Olken's tree algorithm (the near-linear construction that Chen et al. 2017, section 3.1.1, rely on):
each block's last use is a mark on a time line, and a reuse distance is the number of marks behind
the previous use. The marks are bits of 64-bit words, the words' populations a Fenwick tree; the
time line is renumbered when it is full, so that it stays as short as the working set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from placewise.memory.simulate.lanes import highest, lowest, prefetch


@intrinsic
def _popcount(_context: Any, value: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    """Set bits of a uint64 (LLVM's ctpop)."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_AHEAD = 12
"""Accesses by which what is known of a block is fetched ahead."""
_SCAN_WORDS = 6
"""Words of marks counted one by one rather than through the tree: most reuse is recent."""


@njit(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], uint32[::1], int32[::1], int32[:,::1],"
    "int32[::1], uint8[::1], uint8[::1], int64, int64[:,::1], int64[::1], uint8[::1])",
    cache=True,
    nogil=True,
)
def count_distances(
    starts: NDArray[np.int64],
    index: NDArray[np.int64],
    base: NDArray[np.int64],
    stride: NDArray[np.int32],
    mask: NDArray[np.uint32],
    row: NDArray[np.int32],
    offsets: NDArray[np.int32],
    lane_bytes: NDArray[np.int32],
    tag: NDArray[np.uint8],
    part: NDArray[np.uint8],
    block_bytes: int,
    histogram: NDArray[np.int64],
    cold: NDArray[np.int64],
    seen: NDArray[np.uint8],
) -> None:
    """Add the reuse distances of an array's accesses to ``histogram``.

    ``index[starts[g]:starts[g + 1]]`` are the accesses that cache ``g`` sees, in order; every cache
    starts empty. A warp access touches each block (of ``block_bytes`` bytes, counted from the
    array's start) at most once, in lane order. ``histogram[t, d]`` counts touches of tag ``t`` at
    distance ``d``, its last column all distances from there on; ``cold[t]`` first touches.
    ``seen[block]`` collects the bit ``part`` of every access that touches a block; its size is the
    array's size in blocks. The other columns are those of an access stream.
    """
    blocks = seen.size
    far = histogram.shape[1] - 1
    shift = -1
    if block_bytes & (block_bytes - 1) == 0:
        shift = 0
        while (1 << shift) < block_bytes:
            shift += 1
    widest = 1
    for i in range(lane_bytes.size):
        widest = max(widest, lane_bytes[i])
    room = 32 * (widest // block_bytes + 2)

    # Time line: at most twice the blocks, so that renumbering costs little per access.
    words = max(64, 2 * (blocks // 64 + 1)) + room // 64 + 1
    marks = np.zeros(words, np.uint64)
    tree = np.zeros(words + 1, np.int32)
    owner = np.zeros(words * 64, np.int32)
    last = np.full(blocks, -1, np.int32)

    for g in range(starts.size - 1):
        now = 0
        live = 0
        used = min(words, 64 + room // 64 + 1)
        summed = 0  # words whose population is in the tree
        for k in range(starts[g], starts[g + 1]):
            i = index[k]
            if k + _AHEAD < starts[g + 1] and shift >= 0:
                ahead = base[index[k + _AHEAD]] >> shift
                prefetch(last, ahead)
                prefetch(seen, ahead)
            if now + room > used * 64:
                # Renumber the marks from 0 in their order and give the line room in proportion.
                fresh = 0
                for p in range(now):
                    if (marks[p >> 6] >> np.uint64(p & 63)) & _ONE:
                        line = owner[p]
                        owner[fresh] = line
                        last[line] = fresh
                        fresh += 1
                for w in range(used):
                    marks[w] = 0
                    tree[w + 1] = 0
                used = min(words, max(64, 4 * (fresh // 64 + 1)) + room // 64 + 1)
                now = fresh
                summed = fresh >> 6
                for w in range(summed):
                    marks[w] = _ALL
                if fresh & 63:
                    marks[summed] = (_ONE << np.uint64(fresh & 63)) - _ONE
                for w in range(used):
                    tree[w + 1] += 64 if w < summed else 0
                    parent = (w + 1) + ((w + 1) & -(w + 1))
                    if parent <= used:
                        tree[parent] += tree[w + 1]

            active = mask[i]
            if active == 0:
                continue
            low = lowest(np.int64(active))
            high = highest(np.int64(active))
            width = lane_bytes[i]
            step = np.int64(stride[i])
            r = row[i]
            first = np.int64(0)
            final = np.int64(0)
            whole = False
            if r < 0 and (step == 0 or (abs(step) <= block_bytes)):
                run = active >> np.uint32(low)
                if step == 0 or run & (run + np.uint32(1)) == 0:
                    # Blocks of a dense affine access are a range.
                    whole = True
                    left = base[i] + low * step
                    right = base[i] + high * step
                    if right < left:
                        left, right = right, left
                    right += width - 1
                    if shift >= 0:
                        first = left >> shift
                        final = right >> shift
                    else:
                        first = left // block_bytes
                        final = right // block_bytes

            t = tag[i]
            bit_of_part = np.uint8(1 << part[i])
            begun = now
            unmoved = -1
            lane = low
            while lane <= high:
                if whole:
                    lane = 32
                else:
                    if not (active >> np.uint32(lane)) & np.uint32(1):
                        lane += 1
                        continue
                    if r < 0:
                        left = base[i] + lane * step
                    else:
                        left = np.int64(offsets[r, lane])
                    right = left + width - 1
                    if shift >= 0:
                        first = left >> shift
                        final = right >> shift
                    else:
                        first = left // block_bytes
                        final = right // block_bytes
                    lane += 1

                for line in range(first, final + 1):
                    at = last[line]
                    if at >= begun or line == unmoved:
                        continue  # this warp access has touched the block already
                    seen[line] |= bit_of_part
                    if at < 0:
                        cold[t] += 1
                        live += 1
                    else:
                        if at == now - 1:
                            histogram[t, 0] += 1
                            unmoved = line
                            continue
                        w = at >> 6
                        top = (now - 1) >> 6
                        bit = np.uint64(at & 63)
                        above = marks[w] >> bit
                        if top - w <= _SCAN_WORDS:
                            distance = np.int64(_popcount(above)) - 1
                            for v in range(w + 1, top + 1):
                                distance += np.int64(_popcount(marks[v]))
                        else:
                            below = np.int64(_popcount(marks[w])) - np.int64(_popcount(above)) + 1
                            v = w
                            while v > 0:
                                below += tree[v]
                                v -= v & -v
                            distance = live - below
                        histogram[t, min(distance, far)] += 1
                        marks[w] &= ~(_ONE << bit)
                        if w < summed:
                            v = w + 1
                            while v <= used:
                                tree[v] -= 1
                                v += v & -v
                    marks[now >> 6] |= _ONE << np.uint64(now & 63)
                    owner[now] = line
                    last[line] = now
                    now += 1
                    if now & 63 == 0:
                        population = np.int64(_popcount(marks[summed]))
                        v = summed + 1
                        while v <= used:
                            tree[v] += population
                            v += v & -v
                        summed += 1

        for p in range(now):
            last[owner[p]] = -1
        for w in range(used):
            marks[w] = 0
            tree[w + 1] = 0
