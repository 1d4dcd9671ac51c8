"""Interleaving against a simulation with queues."""

from collections import deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.reuse.interleave import interleave


def _simulate(work, resident):
    """``work[sm][block][warp]``: lists of access numbers. Returns (access, sm) pairs in order."""
    waiting = [deque(blocks) for blocks in work]
    running = [[] for _ in work]
    order = []

    def admit(sm):
        while waiting[sm] and len({id(block) for block, _ in running[sm]}) < resident:
            block = [deque(warp) for warp in waiting[sm].popleft()]
            running[sm] += [(block, warp) for warp in block]

    for sm in range(len(work)):
        admit(sm)
    while any(running):
        for sm in range(len(work)):
            for _, warp in running[sm]:
                order.append((warp.popleft(), sm))
            running[sm] = [(block, warp) for block, warp in running[sm] if warp]
            admit(sm)
    return order


@settings(deadline=None)
@given(
    st.lists(  # SMs
        st.lists(  # blocks
            st.lists(st.integers(1, 5), min_size=1, max_size=3),  # accesses per warp
            max_size=5,
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
)
def test_order_is_that_of_queues(shape, resident):
    work, n = [], 0
    sm_blocks, block_warps, warp_accesses = [0], [0], [0]
    for blocks in shape:
        work.append([])
        for warps in blocks:
            work[-1].append([])
            for count in warps:
                work[-1][-1].append(list(range(n, n + count)))
                n += count
                warp_accesses.append(n)
            block_warps.append(len(warp_accesses) - 1)
        sm_blocks.append(len(block_warps) - 1)
    order, sm_of = np.empty(n, np.int64), np.empty(n, np.int32)
    done = interleave(
        np.array(sm_blocks), np.array(block_warps), np.array(warp_accesses), resident, order, sm_of
    )
    assert done == n
    assert list(zip(order.tolist(), sm_of.tolist(), strict=True)) == _simulate(work, resident)
