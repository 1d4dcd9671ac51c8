"""The checker on kernels with planted mistakes, which it must name, and on correct ones."""

from __future__ import annotations

import pytest

from benchmarks.checker.clean import clean
from benchmarks.checker.corpus import judge
from benchmarks.checker.planted import planted

FAST = {
    "off_by_one_in_last_block", "misaligned_record", "write_to_constant", "null_pointer",
    "dangling_pointer", "tail_of_shared_tile", "stack_array_half_filled", "halo_across_warps",
    "last_warp_without_syncwarp", "double_buffer_misses_barrier", "barrier_of_two_warps_only",
    "copy_awaited_by_its_thread_only", "last_block_without_fence", "stencil_in_place",
    "barrier_in_uneven_loop", "warps_at_different_barriers", "shuffle_beyond_the_mask",
    "mask_without_self", "never_ends", "trapped",
    "double_buffer", "warp_synchronous_reduction", "last_block", "lock", "asynchronous_pipeline",
    "named_barriers", "cooperative_tiles", "compact", "bytes_of_neighbours", "same_value_by_all",
    "grid_barrier", "masked_shuffle", "structs", "table_of_rows",
}  # fmt: skip
"""At least one of each kind; the others are slow only by their number."""


CASES = [
    pytest.param(c, id=c.kernel, marks=[] if c.kernel in FAST else [pytest.mark.slow])
    for c in [*planted(), *clean()]
]


@pytest.mark.parametrize("case", CASES)
def test_says_what_was_planted_and_nothing_else(case):
    verdict = judge(case)
    assert not verdict.missed
    assert not verdict.false


def test_the_corpus_is_large_enough():
    assert len(planted()) >= 20
    assert len(clean()) >= 20
    assert all(case.expected for case in planted())
    assert not any(case.expected for case in clean())
    assert {c.kernel for c in [*planted(), *clean()]} >= FAST
