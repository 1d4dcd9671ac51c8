"""Exact reuse distances of warp accesses, compiled.

Olken's tree algorithm (the near-linear construction that Chen et al. 2017, section 3.1.1, rely on):
each block's last use has a place on a time line. A reuse distance is the number of places after the
block's previous use that are still the last use of their block. The algorithm stores holes, which
are places whose block has been used again: bits of 64-bit words, and above them a tree. A node of
the tree has, for each child, the number of holes in the siblings before it. So the tree need not
change when the time line grows, and finding a distance and making a hole takes a load and an
addition of vectors per level, without a branch. The time line is renumbered when it is full, so
that it stays as short as the working set.

Accesses are processed in batches, each in three loops: the first finds the blocks that they touch,
the second the distances, the third adds these to the histogram. Each loop prefetches the memory
that the next one needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.memory.simulate.simd.jit_helpers import (
    bits,
    highest,
    inlined,
    lowest,
    noinline,
    prefetch,
)
from placewise.memory.simulate.simd.vector_code import SHORT, WORD, Code

_TOUCH = np.dtype(
    [("block", np.uint32), ("tag", np.uint8), ("part", np.uint8), ("begins", np.bool_)], align=True
)
"""A block that an access touches. ``part`` is a bit for the part of the sample; ``begins``: it is
the first block of its access."""
_BATCH = 128
"""A batch ends after this many touches, so that prefetched words are still in the processor's L1
cache when they are used."""
_CHILDREN_BITS = 4
_CHILDREN = 1 << _CHILDREN_BITS
"""Children of a tree node: their sums are two vectors of 256 bits or one of 512."""
_LEVELS = 7
"""Most levels of the tree: it has as many leaves as 31-bit numbers of places fill words."""
_ONE = np.uint64(1)


class _Stream(NamedTuple):
    """Columns of an access stream, and the order in which caches see the accesses."""

    order: NDArray[np.int64]
    base: NDArray[np.int64]
    stride: NDArray[np.int32]
    mask: NDArray[np.uint32]
    row: NDArray[np.int32]
    offsets: NDArray[np.int32]
    lane_bytes: NDArray[np.int32]
    tag: NDArray[np.uint8]
    part: NDArray[np.uint8]


class _TimeLine(NamedTuple):
    """Places of blocks' last uses."""

    last: NDArray[np.int32]
    """(blocks,) place of each block's last use; -1 before its first use."""
    owner: NDArray[np.uint32]
    """Block whose use is at a place."""
    holes: NDArray[np.uint64]
    """One bit for each place, set where the place is a hole."""
    before: NDArray[np.int32]
    """(nodes, children) for each child, the number of holes in its siblings before it."""
    starts: NDArray[np.int64]
    """(levels,) first node of each level, beginning with the level whose children are words of
    holes."""


@intrinsic
def _add_behind(_context: Any, sums: Any, node: Any, child: Any) -> Any:  # noqa: ARG001
    """Add 1 to the sums of a node's children after ``child``. Returns the sum of ``child``."""
    shape = ir.VectorType(SHORT, _CHILDREN)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        start = builder.mul(arguments[1], ir.Constant(WORD, _CHILDREN))
        at = code.place(0, start, shape)
        own = code.load(code.place(0, builder.add(start, arguments[2]), SHORT))
        number = ir.Constant(shape, list(range(_CHILDREN)))
        behind = builder.icmp_signed(">", number, code.alike(arguments[2], shape))
        code.store(builder.sub(code.load(at), builder.sext(behind, shape)), at)
        return builder.sext(own, WORD)

    return types.int64(sums, types.int64, types.int64), generate


@inlined
def _block_of(byte: Any, block_bytes: Any, shift: Any) -> Any:
    """Block of a byte; ``shift`` is log2 of a block's bytes, negative where these are no power of
    two."""
    return byte >> shift if shift >= 0 else byte // block_bytes


@inlined
def _above(words: Any) -> Any:
    """Levels of the tree over ``words`` words."""
    levels = 0
    while words > 1:
        words = (words + _CHILDREN - 1) >> _CHILDREN_BITS
        levels += 1
    return levels


@noinline
def _touch(
    stream: Any, k: Any, end: Any, block_bytes: Any, shift: Any, touches: Any, last: Any, seen: Any
) -> Any:
    """Find the blocks that the accesses from the k-th on touch, a whole batch except at the end.
    Returns the access to continue with and the number of touches. A block may occur several times
    for the same access."""
    n = np.uint64(0)
    while k < end and n < _BATCH:
        i = np.uint64(stream.order[k])
        k += 1
        active = stream.mask[i]
        if active == 0:
            continue
        low, high = lowest(np.int64(active)), highest(np.int64(active))
        base, step = stream.base[i], np.int64(stream.stride[i])
        reach = np.int64(stream.lane_bytes[i]) - 1
        row = stream.row[i]
        begin = n
        run = active >> np.uint32(low)
        if row < 0 and (
            step == 0 or (abs(step) <= block_bytes and run & (run + np.uint32(1)) == 0)
        ):
            # The blocks of an access with a small constant stride are a range.
            left, right = base + low * step, base + high * step
            first = _block_of(min(left, right), block_bytes, shift)
            final = _block_of(max(left, right) + reach, block_bytes, shift)
            for block in range(first, final + 1):
                touches[n].block = block
                n += _ONE
        else:
            for lane in range(low, high + 1):
                if (active >> np.uint32(lane)) & np.uint32(1):
                    left = base + lane * step if row < 0 else np.int64(stream.offsets[row, lane])
                    first = _block_of(left, block_bytes, shift)
                    final = _block_of(left + reach, block_bytes, shift)
                    for block in range(first, final + 1):
                        touches[n].block = block
                        n += _ONE
        for touch in range(begin, n):
            prefetch(last, touches[touch].block)
            prefetch(seen, touches[touch].block)
            touches[touch].tag = stream.tag[i]
            touches[touch].part = np.uint8(1 << stream.part[i])
            touches[touch].begins = touch == begin
    return k, n


@noinline
def _measure(
    line: Any, levels: Any, touches: Any, n: Any, now: Any, live: Any, counts: Any, columns: Any,
    cold: Any, seen: Any, found: Any,
) -> Any:  # fmt: skip
    """Find the distances of touches and count first touches. Returns the number of distances, the
    next place on the time line, and the number of blocks on the time line."""
    far = columns - 1
    measured = np.uint64(0)
    begun = now
    for k in range(n):
        touch = touches[k]
        block = touch.block
        at = np.int64(line.last[block])
        begun = now if touch.begins else begun
        if at >= begun:
            continue  # this access has touched the block already
        seen[block] |= touch.part
        if at < 0:
            cold[touch.tag] += 1
            live += 1
        else:
            w = np.uint64(at) >> np.uint64(6)
            bit = _ONE << np.uint64(at & 63)
            there = line.holes[w]
            before = bits(np.int64(there & (bit - _ONE)))
            line.holes[w] = there | bit
            child = np.int64(w)
            for level in range(levels):
                node = child >> _CHILDREN_BITS
                before += _add_behind(
                    line.before, line.starts[level] + node, child & (_CHILDREN - 1)
                )
                child = node
            distance = min(live - 1 - at + before, far)
            place = np.int64(touch.tag) * columns + distance
            prefetch(counts, place)
            found[measured] = place
            measured += _ONE
        line.owner[np.uint64(now)] = block
        line.last[block] = now
        now += 1
    return measured, now, live


@noinline
def _clear(line: Any, words: Any) -> None:
    """Remove all holes from the first ``words`` words."""
    for w in range(words):
        line.holes[w] = 0
    nodes = words
    for level in range(_above(words)):
        nodes = (nodes + _CHILDREN - 1) >> _CHILDREN_BITS
        for node in range(line.starts[level], line.starts[level] + nodes):
            for child in range(_CHILDREN):
                line.before[node, child] = 0


@noinline
def _renumber(line: Any, now: Any) -> Any:
    """Number the places that are not holes from 0, in order. Returns how many there are."""
    fresh = np.uint64(0)
    for w in range((now + 63) >> 6):
        places = ~line.holes[w]
        if now - 64 * w < 64:
            places &= (_ONE << np.uint64(now - 64 * w)) - _ONE
        while places:
            block = line.owner[np.uint64(64 * w + lowest(np.int64(places)))]
            places &= places - _ONE
            line.owner[fresh] = block
            line.last[block] = fresh
            fresh += _ONE
    return np.int64(fresh)


# Each column of the access stream is a parameter: the compiled signature can only have arrays.
@compiled(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], uint32[::1], int32[::1], int32[:,::1],"
    "int32[::1], uint8[::1], uint8[::1], int64, int64[:,::1], int64[::1], uint8[::1])",
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
    distance ``d``, its last column all larger distances, too; ``cold[t]`` counts first touches.
    ``seen[block]`` collects the bit ``part`` of every access that touches the block; its size is
    the array's size in blocks. The other arguments are the columns of an access stream.
    """
    blocks = seen.size
    columns = histogram.shape[1]
    counts = histogram.reshape(-1)
    whole = block_bytes & (block_bytes - 1) == 0
    shift = lowest(np.int64(block_bytes)) if whole else np.int64(-1)
    widest = 1
    for i in range(lane_bytes.size):
        widest = max(widest, lane_bytes[i])
    room = _BATCH + 32 * (widest // block_bytes + 2)
    touches = np.empty(room, _TOUCH)
    found = np.empty(room, np.int64)

    # Time line: at most twice the blocks, so that renumbering costs little per access.
    spare = room // 64 + 1
    words = max(64, 2 * (blocks // 64 + 1)) + spare
    first_nodes = np.zeros(_LEVELS + 1, np.int64)
    nodes = words
    for level in range(_LEVELS):
        nodes = (nodes + _CHILDREN - 1) >> _CHILDREN_BITS
        first_nodes[level + 1] = first_nodes[level] + nodes
    line = _TimeLine(
        np.full(blocks, -1, np.int32),
        np.empty(64 * words, np.uint32),
        np.zeros(words, np.uint64),
        np.zeros((first_nodes[_LEVELS], _CHILDREN), np.int32),
        first_nodes,
    )
    stream = _Stream(index, base, stride, mask, row, offsets, lane_bytes, tag, part)

    for g in range(starts.size - 1):
        now, live = 0, 0
        used = min(words, 64 + spare)
        k, end = starts[g], starts[g + 1]
        while k < end:
            k, n = _touch(stream, k, end, block_bytes, shift, touches, line.last, seen)
            if now + n > 64 * used:
                now = _renumber(line, now)
                _clear(line, used)
                used = min(words, max(64, 4 * (now // 64 + 1)) + spare)
            measured, now, live = _measure(
                line, _above(used), touches, n, now, live, counts, columns, cold, seen, found
            )
            for m in range(measured):
                counts[np.uint64(found[m])] += 1
        for place in range(now):
            line.last[line.owner[place]] = -1
        _clear(line, used)
