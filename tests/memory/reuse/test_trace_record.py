"""The recorder keeps what the sample wants, whatever the budget."""

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor.trace import TraceChunk
from placewise.memory.reuse.record import Recorder
from placewise.memory.reuse.sampling.trace_sample import SamplePlan


def _chunk(block, *, irregular=False, offset=0):
    n = 10
    rows = np.arange(n * 32, dtype=np.int64).reshape(n, 32) + offset
    return TraceChunk(
        np.zeros(n, np.int32),
        np.full(n, block, np.int32),
        np.arange(n, dtype=np.int32) // 5,
        np.zeros(n, np.int32),
        np.full(n, 0xFFFFFFFF, np.uint32),
        np.r_[np.zeros(n - 1), -1].astype(np.int32),  # the last one is shared memory
        np.arange(n, dtype=np.int64) + 1000 * block,
        np.arange(n, dtype=np.int64) + 1000 * block + 64,
        np.full(n, 4, np.int32),
        32 * np.arange(n, dtype=np.int32) if irregular else np.full(n, -1, np.int32),
        rows.ravel() if irregular else rows[:0].ravel(),
    )


PLAN = SamplePlan(blocks=200, sms=16, run=4, resident=2, seed=0)


@pytest.mark.parametrize("irregular", [False, True])
def test_thinned_as_if_the_small_sample_had_been_chosen_at_first(irregular):
    recorder = Recorder(PLAN, 2, access_budget=500, row_budget=300)
    for block in range(200):
        recorder.chunk(_chunk(block, irregular=irregular))
    kept = recorder.accesses()
    sample = recorder.sample
    assert sample.level > 0
    assert len(kept) <= 500
    assert len(kept.offsets) <= 300
    wanted = np.flatnonzero(sample.traced)
    assert kept.block.tolist() == np.repeat(wanted, 9).tolist()
    assert (recorder.trace_blocks == sample.traced).all()
    if irregular:
        expected = np.tile(np.arange(9 * 32).reshape(9, 32), (len(wanted), 1))
        assert (kept.offsets[kept.row] == expected).all()
    else:
        assert kept.base.tolist() == [1000 * b + i for b in wanted for i in range(9)]


def test_everything_is_kept_within_the_budget():
    recorder = Recorder(PLAN, 2)
    recorder.chunk(_chunk(3))
    recorder.chunk(_chunk(7, irregular=True))
    kept = recorder.accesses()
    assert recorder.sample.complete
    assert kept.row.tolist() == [-1] * 9 + list(range(9))


def test_no_access_at_all():
    assert len(Recorder(PLAN, 2).accesses()) == 0


def test_chunk_buffers_may_be_reused():
    recorder = Recorder(PLAN, 2)
    chunk = _chunk(0, irregular=True)
    recorder.chunk(chunk)
    for column in vars(chunk).values():
        column[...] = 0
    kept = recorder.accesses()
    assert kept.base.tolist() == list(range(9))
    assert (kept.offsets == np.arange(9 * 32).reshape(9, 32)).all()


def test_huge_arrays_are_refused():
    with pytest.raises(UnsupportedError, match="2 GiB"):
        Recorder(PLAN, 2).chunk(_chunk(0, irregular=True, offset=1 << 31))


def _halves(base, mask):
    """Lanes of 4 bytes from ``base`` on, those of the upper half warp 1 KiB further."""
    words = np.array([0], np.int32)
    return TraceChunk(
        words, words, words, words, np.array([mask], np.uint32), words, np.array([base]),
        np.array([base + 1024]), words + 4, words - 1, np.zeros(0, np.int64),
    )  # fmt: skip


def test_half_warps_far_into_an_array_are_refused():
    """Their offsets are kept one by one, in 31 bits: lane 31 is the first that has too many."""
    last = (1 << 31) - 1024 - 15 * 4
    recorder = Recorder(PLAN, 2)
    recorder.chunk(_halves(last - 4, 0xFFFFFFFF))
    recorder.chunk(_halves(last, 0x7FFFFFFF))
    assert recorder.accesses().offsets[:, 30].tolist() == [(1 << 31) - 8, (1 << 31) - 4]
    with pytest.raises(UnsupportedError, match="2 GiB"):
        recorder.chunk(_halves(last, 0xFFFFFFFF))
