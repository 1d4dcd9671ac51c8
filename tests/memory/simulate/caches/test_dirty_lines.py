"""Which lines of L2 are dirty where only a share of its ways may be."""

from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.simulate.caches.geometry import Geometry
from placewise.memory.simulate.caches.last_level.dirty_lines import new_dirty_lines, note_stores
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT, STREAM_BIT
from placewise.memory.simulate.requests.streams import LOAD, PAST_L2, STORE, new_streams

SETS, WAYS = 4, 4
LOADS, STORES, STORES_PAST_L2 = range(3)


def dirtied(requests, most_dirty):
    """Sectors that become dirty through (stream, line, sectors) requests."""
    streams = new_streams(3, 1)
    streams.rows["kind"][:3] = LOAD, STORE, STORE
    streams.rows["flags"][STORES_PAST_L2] = PAST_L2
    dirty = new_dirty_lines(Geometry(1, SETS, WAYS), most_dirty, 4)
    words = [(line << LINE_BIT) | (sectors << SECTOR_BIT) | (p << STREAM_BIT)
             for p, line, sectors in requests]  # fmt: skip
    stored = streams.rows["kind"] != LOAD
    order = np.array([*words, 0], np.int64)
    note_stores(dirty, streams, stored, order, len(words), LINE_BIT, 4)
    return int(dirty.dirtied[0])


def expected(requests, ways):
    # So few ways that policy ``aged`` draws from one line: that not stored to for longest.
    sets, total = defaultdict(OrderedDict), 0
    for p, line, sectors in requests:
        if p == STORES_PAST_L2:
            total += sectors.bit_count()
        if p == STORES:
            own = sets[line % SETS]
            before = own.pop(line, 0)
            total += (sectors & ~before).bit_count()
            own[line] = before | sectors
            if len(own) > ways:
                own.popitem(last=False)
    return total


request = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 15))


@given(st.lists(request, max_size=200), st.sampled_from([0.25, 0.5, 1.0]))
@settings(max_examples=100, deadline=None)
def test_a_line_is_dirty_until_enough_others_of_its_set_were_stored_to(requests, share):
    assert dirtied(requests, share) == expected(requests, round(share * WAYS))


@pytest.mark.parametrize(("lines", "times"), [(SETS * WAYS // 2, 1), (SETS * WAYS // 2 + SETS, 3)])
def test_lines_stored_to_in_turn_are_written_each_time_if_too_many_for_their_share(lines, times):
    rounds = [(STORES, line, 15) for line in range(lines)] * 3
    assert dirtied(rounds, 0.5) == times * lines * 4
