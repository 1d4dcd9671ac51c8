"""Compiled check that asynchronous copies into shared memory are waited for before use.

A copy is complete for the thread that started it once it has waited for the copy's group, and for
the others of the block from the next barrier on (CUDA C++ programming guide, asynchronous copies).
"""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.order import known_sequence
from placewise.executor.check.compiled.pointers import compiled, words_at
from placewise.executor.check.compiled.races import note


@compiled
def _known_complete(block_address: int, thread: int, by: int, group: int) -> bool:
    """Whether ``thread`` is ordered after thread ``by``'s wait for its group ``group`` of copies.

    Only the last waits are kept. A group that was waited for before is complete since the oldest of
    these.
    """
    words = words_at(block_address)
    if by == thread:
        return True
    waits = words[at.B_WAITS + by]
    wait = max(0, waits - at.WAITS_KEPT)
    kept = by * at.WAITS_KEPT + wait % at.WAITS_KEPT
    while wait < waits - 1 and words[at.B_WAIT_GROUPS + kept] <= group:
        wait += 1
        kept = by * at.WAITS_KEPT + wait % at.WAITS_KEPT
    warp = thread >> 5
    if by >> 5 == warp:
        known = known_sequence(block_address, warp, thread & 31, by & 31)
        return bool(words[at.B_WAIT_SEQUENCE + kept] < known)
    known = words[at.B_KNOWN_CLOCK + warp * at.WARPS + (by >> 5)]
    return bool(words[at.B_WAIT_CLOCK + kept] < known)


@compiled
def check_copy(
    state_address: int, site: int, thread: int, offset: int, size: int, starts: bool
) -> None:
    """Check an access of shared memory; ``starts`` if it is an asynchronous copy's write."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    copies = words_at(state[at.S_SHARED_ASYNC])
    for n in range(offset >> 2, (offset + size + 3) >> 2):
        copy = copies[n]
        if copy != 0:
            by, group = (copy >> 32) - 1, copy & 0xFFFFFFFF
            flags = -1
            if group >= words[at.B_COMPLETE + by]:
                flags = 0
            elif not _known_complete(state[at.S_BLOCK], thread, by, group):
                flags = at.ASYNC_UNORDERED
            if flags >= 0:
                note(
                    state_address, at.ASYNC_PENDING, site, -1, at.SHARED_WINDOW, flags, thread,
                    words[at.B_SERIAL], by, offset, 0,
                )  # fmt: skip
                if not starts:
                    return
        if starts:
            copies[n] = ((thread + 1) << 32) | words[at.B_COMMITTED + thread]
