"""Compiled switching between blocks: resets the state, and checks a block that has ended."""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.pointers import bytes_at, compiled, words_at
from placewise.executor.check.compiled.races import note


@compiled
def hold(state_address: int, resident: int) -> None:
    """Select the memory of resident block number ``resident``."""
    state = words_at(state_address)
    state[at.S_RESIDENT] = resident
    state[at.S_BLOCK] = state[at.S_FIRST_BLOCK] + resident * state[at.S_BLOCK_STRIDE]
    state[at.S_SHARED_CELLS] = state[at.S_FIRST_CELLS] + resident * state[at.S_CELLS_STRIDE]
    state[at.S_SHARED_READS] = state[at.S_FIRST_READS] + resident * state[at.S_READS_STRIDE]
    state[at.S_SHARED_DEFINED] = state[at.S_FIRST_DEFINED] + resident * state[at.S_DEFINED_STRIDE]
    state[at.S_SHARED_ASYNC] = state[at.S_FIRST_ASYNC] + resident * state[at.S_ASYNC_STRIDE]
    state[at.S_LOCAL_DEFINED] = state[at.S_FIRST_LOCAL] + resident * state[at.S_LOCAL_STRIDE]


@compiled
def enter_block(state_address: int, block: int) -> None:
    """Reset the selected memory for block number ``block``."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    serial = state[at.S_BASE] + block
    pairs_used = words[at.B_PAIRS_USED] != 0
    threads_used = words[at.B_THREADS_USED] != 0
    for n in range(at.B_SMALL):
        words[n] = 0
    if pairs_used:
        for n in range(at.B_PAIRS, at.B_FENCE_SEQUENCE):
            words[n] = 0
    if threads_used:
        for n in range(at.B_FENCE_SEQUENCE, at.BLOCK_WORDS):
            words[n] = 0
    words[at.B_SERIAL] = serial
    # Clocks and sequence numbers start at 1; 0 stands for knowing nothing.
    for warp in range(at.WARPS):
        words[at.B_SEQUENCE + warp] = 1
        words[at.B_CLOCK + warp] = 1
    words[at.B_PHASE] = 0
    defined = bytes_at(state[at.S_SHARED_DEFINED])
    for n in range(state[at.S_SHARED_BYTES]):
        defined[n] = 0
    if state[at.S_SHARED_ASYNC] != 0:
        copies = words_at(state[at.S_SHARED_ASYNC])
        for n in range((state[at.S_SHARED_BYTES] + 3) // 4):
            copies[n] = 0
    local = bytes_at(state[at.S_LOCAL_DEFINED])
    for n in range(state[at.S_LOCAL_BYTES] * state[at.S_WARPS] * at.LANES):
        local[n] = 0


@compiled
def leave_block(state_address: int) -> None:
    """Note warps of a block that has ended and that reached fewer barriers than others."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    if words[at.B_SERIAL] < state[at.S_BASE] or state[at.S_PLAIN_BARRIERS] == 0:
        return
    most = 0
    for warp in range(state[at.S_WARPS]):
        if words[at.B_CLOCK + warp] > words[at.B_CLOCK + most]:
            most = warp
    for warp in range(state[at.S_WARPS]):
        if words[at.B_CLOCK + warp] < words[at.B_CLOCK + most]:
            note(
                state_address, at.BARRIER_SKIPPED, words[at.B_LAST_BARRIER + most], -1,
                at.NO_WINDOW, 0, warp * at.LANES, words[at.B_SERIAL], most * at.LANES, 0, 0,
            )  # fmt: skip


@compiled
def turn_to(state_address: int, resident: int, block: int) -> None:
    """Make ``block``, which runs as resident block ``resident``, the current one."""
    state = words_at(state_address)
    if state[at.S_RESIDENT] != resident:
        hold(state_address, resident)
    if words_at(state[at.S_BLOCK])[at.B_SERIAL] != state[at.S_BASE] + block:
        leave_block(state_address)
        enter_block(state_address, block)


@compiled
def leave_all(state_address: int, residents: int) -> None:
    """Check all resident blocks at the end of the launch."""
    for resident in range(residents):
        hold(state_address, resident)
        leave_block(state_address)
