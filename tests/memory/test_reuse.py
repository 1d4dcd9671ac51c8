"""Reuse distances against a brute-force stack, misses against a simulated LRU cache."""

from collections import OrderedDict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.reuse import cache_groups, growth, reuse_histogram
from placewise.memory.stream import TAGS, ArrayStream

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


def test_long_streams_renumber_the_time_line():
    rng = np.random.default_rng(1)
    lines = np.concatenate([rng.integers(0, 900, 20_000), np.arange(20_000) % 700])
    trace = [(int(b) * 32, 0, None, 1, 4, 0, 0, 0) for b in lines]
    found = reuse_histogram(
        _stream(trace), array_bytes=900 * 32, block_bytes=32, groups=None, limit=900
    )
    # Last use by block; distance = blocks whose last use is later.
    last, expected = {}, np.zeros(901, int)
    for time, line in enumerate(lines.tolist()):
        if line in last:
            expected[sum(t > last[line] for t in last.values())] += 1
        last[line] = time
    counted = found.beyond[0] - np.r_[found.beyond[0, 1:], 0]
    assert counted.tolist() == expected.tolist()


def test_growth_of_shared_and_private_blocks():
    assert growth(100, 100, 100) == 0.0
    assert growth(100, 50, 50) == 1.0
    assert growth(100, 0, 100) == 1.0
