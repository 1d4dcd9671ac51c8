"""Reuse distances against a brute-force stack, misses against a simulated LRU cache."""

from bisect import bisect_left
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.reuse.histogram import cache_groups, growth, reuse_histogram
from placewise.memory.reuse.stream import TAGS, ArrayStream

ARRAY_BYTES = 4096


def _stream(accesses):
    """``accesses``: (base, stride or None, offsets or None, mask, width, tag, sm, late)."""
    rows = [a[2] for a in accesses if a[1] is None]
    row, used = [], 0
    for a in accesses:
        row.append(used if a[1] is None else -1)
        used += a[1] is None
    return ArrayStream(
        base=np.array([a[0] for a in accesses], np.int64),
        stride=np.array([a[1] or 0 for a in accesses], np.int32),
        mask=np.array([a[3] for a in accesses], np.uint32),
        row=np.array(row, np.int32),
        offsets=np.array(rows, np.int32).reshape(-1, 32),
        lane_bytes=np.array([a[4] for a in accesses], np.int32),
        site=np.zeros(len(accesses), np.int32),
        sm=np.array([a[6] for a in accesses], np.int32),
        tag=np.array([a[5] for a in accesses], np.uint8),
        late=np.array([a[7] for a in accesses], np.uint8),
    )


def _blocks(access, block_bytes):
    """Blocks that a warp access touches, in order of first touch. A dense range may come in any
    order of lanes, so descending strides are listed from their lowest block."""
    base, stride, offsets, mask, width, *_ = access
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    at = [offsets[lane] if stride is None else base + stride * lane for lane in lanes]
    touched = []
    for start in at:
        touched += range(start // block_bytes, (start + width - 1) // block_bytes + 1)
    dense = stride is not None and abs(stride) <= block_bytes
    if dense and (stride == 0 or lanes == list(range(lanes[0], lanes[-1] + 1))):
        touched = sorted(touched)
    return list(dict.fromkeys(touched))


@st.composite
def _access(draw):
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    mask = draw(st.one_of(st.just(0xFFFFFFFF), st.integers(1, 0xFFFFFFFF)))
    tag, sm, late = draw(st.integers(0, 3)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
    most = ARRAY_BYTES - width
    if draw(st.booleans()):
        offsets = draw(st.lists(st.integers(0, most // width), min_size=32, max_size=32))
        return 0, None, [o * width for o in offsets], mask, width, tag, sm, late
    stride = draw(st.sampled_from([0, width, 2 * width, -width, 3, 100]))
    reach = 31 * abs(stride)
    low = draw(st.integers(0, most - reach))
    return (low if stride >= 0 else low + reach), stride, None, mask, width, tag, sm, late


accesses = st.lists(_access(), min_size=1, max_size=60)


@settings(deadline=None, max_examples=150)
@given(accesses, st.sampled_from([4, 12, 32, 128]), st.sampled_from(["sm", "die"]))
def test_histogram_equals_a_stack(trace, block_bytes, scope):
    stream = _stream(trace)
    found = reuse_histogram(
        stream,
        array_bytes=ARRAY_BYTES,
        block_bytes=block_bytes,
        groups=cache_groups(stream, scope, 1),
        limit=ARRAY_BYTES,
    )
    stacks, distances, cold = {}, [[] for _ in range(TAGS)], np.zeros(TAGS, int)
    touched_by = {}
    for access in trace:
        stack = stacks.setdefault(access[6] if scope == "sm" else 0, [])
        for block in _blocks(access, block_bytes):
            if block in stack:
                distances[access[5]].append(len(stack) - 1 - stack.index(block))
                stack.remove(block)
            else:
                cold[access[5]] += 1
            stack.append(block)
            touched_by.setdefault(block, set()).add((access[5] >> 1, access[7]))
    assert found.cold.tolist() == cold.tolist()
    for least in range(0, 40):
        expected = [sum(d >= least for d in of_tag) for of_tag in distances]
        assert found.far(least).tolist() == expected
    assert found.distinct == len(touched_by)
    halves = [sum(any(h == half for h, _ in who) for who in touched_by.values()) for half in (0, 1)]
    assert found.growth_by_sms == growth(len(touched_by), *halves)


@settings(deadline=None, max_examples=40)
@given(accesses, st.integers(1, 40))
def test_misses_equal_an_lru_cache(trace, capacity):
    stream = _stream(trace)
    found = reuse_histogram(
        stream, array_bytes=ARRAY_BYTES, block_bytes=32, groups=None, limit=ARRAY_BYTES
    )
    cache, misses = OrderedDict(), 0
    for access in trace:
        for block in _blocks(access, 32):
            if block in cache:
                cache.move_to_end(block)
            else:
                misses += 1
                cache[block] = None
                if len(cache) > capacity:
                    cache.popitem(last=False)
    assert (found.far(capacity) + found.cold).sum() == misses


class LastUses:
    """Blocks' last uses; a reuse distance is the number of those behind the block's own."""

    def __init__(self):
        self.last, self.order, self.now = {}, [], 0

    def touch(self, block):
        """Distance, None at first."""
        distance = None
        if block in self.last:
            place = bisect_left(self.order, self.last[block])
            distance = len(self.order) - 1 - place
            del self.order[place]
        self.last[block] = self.now
        self.order.append(self.now)
        self.now += 1
        return distance


def _counted(found, tag=0):
    return found.beyond[tag] - np.append(found.beyond[tag, 1:], 0)


def _single(blocks):
    """Accesses of one lane each to the given blocks of 32 bytes."""
    n = len(blocks)
    return ArrayStream(
        base=32 * np.asarray(blocks, np.int64),
        stride=np.zeros(n, np.int32),
        mask=np.ones(n, np.uint32),
        row=np.full(n, -1, np.int32),
        offsets=np.zeros((0, 32), np.int32),
        lane_bytes=np.full(n, 4, np.int32),
        site=np.zeros(n, np.int32),
        sm=np.zeros(n, np.int32),
        tag=np.zeros(n, np.uint8),
        late=np.zeros(n, np.uint8),
    )


def test_long_streams_renumber_the_time_line():
    rng = np.random.default_rng(1)
    lines = np.concatenate([rng.integers(0, 900, 20_000), np.arange(20_000) % 700])
    found = reuse_histogram(
        _single(lines), array_bytes=900 * 32, block_bytes=32, groups=None, limit=900
    )
    uses, expected = LastUses(), np.zeros(901, int)
    for line in lines.tolist():
        distance = uses.touch(line)
        if distance is not None:
            expected[distance] += 1
    assert _counted(found).tolist() == expected.tolist()


def test_a_working_set_of_many_blocks():
    """To and fro, each pass meets each distance once; twice the same way, each is the largest."""
    n = 70_000
    up = np.arange(n)
    found = reuse_histogram(
        _single(np.concatenate([up, up[::-1], up, up[::-1], up, up])),
        array_bytes=n * 32, block_bytes=32, groups=None, limit=n,
    )  # fmt: skip
    assert _counted(found)[:-1].tolist() == [4] * (n - 1) + [4 + n]
    assert found.cold[0] == n


@pytest.mark.parametrize(("block_bytes", "limit"), [(32, 10_000), (48, 300)])
def test_caches_side_by_side_with_time_lines_of_their_own(block_bytes, limit):
    """Single lanes, gathers and dense ranges of three caches, of unlike working sets."""
    rng = np.random.default_rng(2)
    trace = []
    for _ in range(9000):
        sm = int(rng.integers(3))
        reach = [2_000, 40_000, 400_000][sm]
        at, mask = 4 * int(rng.integers(reach // 4)), int(rng.integers(1, 1 << 32))
        tag, kind = int(rng.integers(TAGS)), rng.integers(3)
        if kind == 0:
            trace.append((at, 0, None, 1 << 7, 8, tag, sm, 0))
        elif kind == 1:
            offsets = 4 * rng.integers(reach // 4, size=32)
            trace.append((0, None, offsets.tolist(), mask, 4, tag, sm, 0))
        else:
            trace.append((at, 4, None, 0xFFFFFFFF, 4, tag, sm, 0))
    stream = _stream(trace)
    found = reuse_histogram(
        stream, array_bytes=400_200, block_bytes=block_bytes,
        groups=cache_groups(stream, "sm", 1), limit=limit,
    )  # fmt: skip
    expected, cold = np.zeros((TAGS, limit + 1), int), np.zeros(TAGS, int)
    uses = [LastUses() for _ in range(3)]
    for access in trace:
        for block in _blocks(access, block_bytes):
            distance = uses[access[6]].touch(block)
            if distance is None:
                cold[access[5]] += 1
            else:
                expected[access[5], min(distance, limit)] += 1
    assert [_counted(found, t).tolist() for t in range(TAGS)] == expected.tolist()
    assert found.cold.tolist() == cold.tolist()


def test_growth_of_shared_and_private_blocks():
    assert growth(100, 100, 100) == 0.0
    assert growth(100, 50, 50) == 1.0
    assert growth(100, 0, 100) == 1.0
