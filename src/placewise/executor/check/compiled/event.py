"""Compiled handling of barriers, warp synchronisation, fences and waits for copies.

It also finds barriers that not all threads reach, masks that name absent lanes, and shuffles that
read lanes that take no part.
"""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.blocks import turn_to
from placewise.executor.check.compiled.order import lanes_of
from placewise.executor.check.compiled.pointers import compiled, words_at
from placewise.executor.check.compiled.races import note


@compiled
def _lowest(mask: int) -> int:
    lane = 0
    while not (mask >> lane) & 1:
        lane += 1
    return lane


@compiled
def _arrive(
    state_address: int, warp: int, barrier: int, mask: int, number: int, waits: bool
) -> None:
    """A warp reaches the barrier at the end of program block ``barrier``."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    missing = lanes_of(state_address, warp) & ~mask
    if missing != 0 and waits:
        note(
            state_address, at.BARRIER_SKIPPED, barrier, -1, at.NO_WINDOW, 0,
            warp * at.LANES + _lowest(missing), words[at.B_SERIAL],
            warp * at.LANES + _lowest(mask), 0, 0,
        )  # fmt: skip
    clock = words[at.B_CLOCK + warp]
    if state[at.S_PLAIN_BARRIERS] != 0:
        lines = words_at(state[at.S_BARRIER_LINES])
        if words[at.B_PHASE] != clock:
            words[at.B_PHASE] = clock
            words[at.B_PHASE_BARRIER] = barrier
        elif lines[words[at.B_PHASE_BARRIER]] != lines[barrier]:
            note(
                state_address, at.BARRIER_MISMATCH, barrier, words[at.B_PHASE_BARRIER],
                at.NO_WINDOW, 0, warp * at.LANES + _lowest(mask), words[at.B_SERIAL], 0, 0, 0,
            )  # fmt: skip
    words[at.B_LAST_BARRIER + warp] = barrier
    arrived = at.B_ARRIVED + number * at.WARPS
    for other in range(at.WARPS):
        known = words[at.B_KNOWN_CLOCK + warp * at.WARPS + other]
        words[arrived + other] = max(words[arrived + other], known)
    words[arrived + warp] = clock + 1
    words[at.B_CLOCK + warp] = clock + 1
    words[at.B_SEQUENCE + warp] += 1
    words[at.B_EVERY + warp] = words[at.B_SEQUENCE + warp]
    words[at.B_WAITS_AT + warp] = number if waits else -1
    words[at.B_WAITS_ROUND + warp] = words[at.B_ROUND + number]


@compiled
def _resume(state_address: int, warp: int) -> None:
    """A warp leaves the barrier that it waited at, and learns the clocks of those who arrived."""
    words = words_at(words_at(state_address)[at.S_BLOCK])
    number = words[at.B_WAITS_AT + warp]
    if number < 0:
        return
    arrived, passed = at.B_ARRIVED + number * at.WARPS, at.B_PASSED + number * at.WARPS
    if words[at.B_ROUND + number] == words[at.B_WAITS_ROUND + warp]:
        words[at.B_ROUND + number] += 1
        for other in range(at.WARPS):
            words[passed + other] = words[arrived + other]
            words[arrived + other] = 0
    known = at.B_KNOWN_CLOCK + warp * at.WARPS
    for other in range(at.WARPS):
        words[known + other] = max(words[known + other], words[passed + other])


@compiled
def _warp_sync(state_address: int, warp: int, mask: int, alive: int) -> None:
    """``__syncwarp``: lanes of one member mask learn what the other members know."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    members = words_at(state[at.S_SCRATCH])
    left = mask
    while left != 0:
        first = _lowest(left)
        group = ((members[first] & 0xFFFFFFFF) | (1 << first)) & mask
        left &= ~group
        words[at.B_SEQUENCE + warp] += 1
        now = words[at.B_SEQUENCE + warp]
        if group == alive:
            words[at.B_EVERY + warp] = now
            continue
        words[at.B_PAIRS_USED] = 1
        pairs = at.B_PAIRS + warp * at.LANES * at.LANES
        for other in range(at.LANES):
            known = 0
            for lane in range(at.LANES):
                if (group >> lane) & 1:
                    known = max(known, words[pairs + lane * at.LANES + other])
            if (group >> other) & 1:
                known = now
            for lane in range(at.LANES):
                if (group >> lane) & 1:
                    words[pairs + lane * at.LANES + other] = known


@compiled
def _fence(state_address: int, warp: int, mask: int, scope: int) -> None:
    words = words_at(words_at(state_address)[at.S_BLOCK])
    words[at.B_THREADS_USED] = 1
    words[at.B_SEQUENCE + warp] += 1
    for lane in range(at.LANES):
        if (mask >> lane) & 1:
            thread = warp * at.LANES + lane
            words[at.B_FENCE_SEQUENCE + thread] = words[at.B_SEQUENCE + warp]
            words[at.B_FENCE_EVERY + thread] = words[at.B_EVERY + warp]
            words[at.B_FENCE_CLOCK + thread] = words[at.B_CLOCK + warp]
            words[at.B_FENCE_SCOPE + thread] = scope


@compiled
def _copies(state_address: int, warp: int, mask: int, kind: int, pending: int) -> None:
    """Commit a group of asynchronous copies, or wait until ``pending`` groups are left.

    A negative ``pending`` waits for copies that have not been committed, too.
    """
    block = words_at(state_address)[at.S_BLOCK]
    words = words_at(block)
    words[at.B_THREADS_USED] = 1
    for lane in range(at.LANES):
        if not (mask >> lane) & 1:
            continue
        thread = warp * at.LANES + lane
        if kind == at.COMMIT or pending < 0:
            words[at.B_COMMITTED + thread] += 1
        if kind == at.WAIT:
            done = words[at.B_COMMITTED + thread] - max(pending, 0)
            if done > words[at.B_COMPLETE + thread]:
                words[at.B_COMPLETE + thread] = done
                _keep_wait(block, warp, thread, done)


@compiled
def _keep_wait(block_address: int, warp: int, thread: int, done: int) -> None:
    """Note when ``thread`` has waited until ``done`` of its groups are complete."""
    words = words_at(block_address)
    clock, sequence = words[at.B_CLOCK + warp], words[at.B_SEQUENCE + warp]
    waits = words[at.B_WAITS + thread]
    kept = thread * at.WAITS_KEPT + (waits - 1) % at.WAITS_KEPT
    if (
        waits == 0
        or words[at.B_WAIT_CLOCK + kept] != clock
        or words[at.B_WAIT_SEQUENCE + kept] != sequence
    ):
        words[at.B_WAITS + thread] = waits + 1
        kept = thread * at.WAITS_KEPT + waits % at.WAITS_KEPT
        words[at.B_WAIT_CLOCK + kept] = clock
        words[at.B_WAIT_SEQUENCE + kept] = sequence
    words[at.B_WAIT_GROUPS + kept] = done


@compiled
def _collective(
    state_address: int, warp: int, number: int, mask: int, alive: int, shuffles: bool
) -> None:
    """Check the member masks of a warp-wide function, and the lanes that a shuffle reads."""
    state = words_at(state_address)
    serial = words_at(state[at.S_BLOCK])[at.B_SERIAL]
    members = words_at(state[at.S_SCRATCH])
    sources = words_at(state[at.S_SCRATCH] + 8 * at.LANES)
    for lane in range(at.LANES):
        if not (mask >> lane) & 1:
            continue
        thread = warp * at.LANES + lane
        named = members[lane] & 0xFFFFFFFF
        absent = named & alive & ~mask
        if not (named >> lane) & 1:
            note(
                state_address, at.MASK_WITHOUT_SELF, number, -1, at.NO_WINDOW, 0, thread,
                serial, thread, 0, named,
            )  # fmt: skip
        elif absent != 0:
            note(
                state_address, at.MASK_OF_ABSENT, number, -1, at.NO_WINDOW, 0, thread,
                serial, warp * at.LANES + _lowest(absent), 0, named,
            )  # fmt: skip
        elif shuffles:
            source = sources[lane] & 31
            if source != lane and not ((mask & named) >> source) & 1:
                note(
                    state_address, at.SHUFFLE_OF_ABSENT, number, -1, at.NO_WINDOW, 0, thread,
                    serial, warp * at.LANES + source, 0, named,
                )  # fmt: skip


@compiled
def synchronise(
    state_address: int, resident: int, block: int, warp: int, number: int, mask: int, alive: int
) -> None:
    """Handle a synchronising instruction, whose operands are in the scratch buffer."""
    turn_to(state_address, resident, block)
    state = words_at(state_address)
    own = words_at(state[at.S_SYNCS] + number * at.SYNC_WORDS * 8)
    kind = own[at.SYNC_KIND]
    if kind == at.FENCE:
        _fence(state_address, warp, mask, own[at.SYNC_OPERAND])
    elif kind == at.COMMIT or kind == at.WAIT:
        _copies(state_address, warp, mask, kind, own[at.SYNC_OPERAND])
    else:
        _collective(state_address, warp, number, mask, alive, kind == at.SHUFFLE)
        if kind == at.WARP_SYNC:
            _warp_sync(state_address, warp, mask, alive)


@compiled
def arrival(
    state_address: int,
    resident: int,
    block: int,
    warp: int,
    barrier: int,
    mask: int,
    number: int,
    waits: bool,
) -> None:
    """Entry point: a warp reaches barrier ``number`` at the end of program block ``barrier``."""
    turn_to(state_address, resident, block)
    _arrive(state_address, warp, barrier, mask, number & 15, waits)


@compiled
def resume(state_address: int, resident: int, block: int, warp: int) -> None:
    """Entry point: a warp leaves a barrier."""
    turn_to(state_address, resident, block)
    _resume(state_address, warp)
