"""The order in which an SM's warps issue their accesses, compiled.

Policy: loose round robin. In each round every resident warp of an SM issues one access, in the
order in which the warps became resident; all SMs advance in step. A block leaves when its last
warp has issued its last access, and the SM's next block takes its place at once. Barriers and
latencies do not hold warps back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled


# One loop over rounds: its two phases share all variables.
@compiled(
    "int64(int64[::1], int64[::1], int64[::1], int64, int64[::1], int32[::1])",
    nogil=True,
)
def interleave(
    sm_blocks: NDArray[np.int64],
    block_warps: NDArray[np.int64],
    warp_accesses: NDArray[np.int64],
    resident: int,
    order: NDArray[np.int64],
    sm_of: NDArray[np.int32],
) -> int:
    """Find the order of all accesses on a machine. Returns their number.

    The accesses are sorted by SM, block and warp. ``sm_blocks`` (SMs + 1) delimits each SM's
    blocks, ``block_warps`` (blocks + 1) each block's warps, ``warp_accesses`` (warps + 1) each
    warp's accesses. ``order`` receives the accesses' numbers, ``sm_of`` the SM of each in that
    order.
    """
    sms = sm_blocks.size - 1
    next_block = sm_blocks[:-1].copy()
    left = np.zeros(block_warps.size - 1, np.int64)
    most = 1
    for b in range(block_warps.size - 1):
        left[b] = block_warps[b + 1] - block_warps[b]
        most = max(most, left[b])
    active_warp = np.zeros((sms, resident * most), np.int64)
    active_block = np.zeros((sms, resident * most), np.int64)
    active = np.zeros(sms, np.int64)
    at = warp_accesses[:-1].copy()

    for s in range(sms):
        while next_block[s] < sm_blocks[s + 1] and next_block[s] - sm_blocks[s] < resident:
            b = next_block[s]
            for w in range(block_warps[b], block_warps[b + 1]):
                active_warp[s, active[s]] = w
                active_block[s, active[s]] = b
                active[s] += 1
            next_block[s] += 1

    n = 0
    busy = True
    while busy:
        busy = False
        for s in range(sms):
            count = active[s]
            keep = 0
            freed = 0
            for i in range(count):
                w = active_warp[s, i]
                b = active_block[s, i]
                order[n] = at[w]
                sm_of[n] = s
                n += 1
                at[w] += 1
                if at[w] < warp_accesses[w + 1]:
                    active_warp[s, keep] = w
                    active_block[s, keep] = b
                    keep += 1
                else:
                    left[b] -= 1
                    if left[b] == 0:
                        freed += 1
            while freed > 0 and next_block[s] < sm_blocks[s + 1]:
                b = next_block[s]
                for w in range(block_warps[b], block_warps[b + 1]):
                    active_warp[s, keep] = w
                    active_block[s, keep] = b
                    keep += 1
                next_block[s] += 1
                freed -= 1
            active[s] = keep
            if keep > 0:
                busy = True
    return n
