"""Compiled race detection by shadow cells, which keep the last write and two reads.

A race is two accesses of one place by different threads, at least one of them a write, of which
neither is ordered before the other. With the last write and one read kept for each thread this is
exact (FastTrack, Flanagan and Freund 2009, section 3); two reads as far apart as possible find a
race wherever reads by two threads suffice.
"""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.order import (
    byte_mask_of,
    clock_of,
    flags_of,
    ordered,
    sequence_of,
    serial_of,
    site_of,
    thread_of,
)
from placewise.executor.check.compiled.pointers import bytes_at, compiled, words_at


@compiled
# Numba passes no dataclass by value at this speed: each number is a parameter of its own.
def note(
    state_address: int,
    kind: int,
    site: int,
    other_site: int,
    window: int,
    flags: int,
    thread: int,
    other_serial: int,
    other_thread: int,
    offset: int,
    extra: int,
) -> None:
    """Count a finding; the first of each kind and pair of sites is kept with its threads."""
    state = words_at(state_address)
    block = words_at(state[at.S_BLOCK])[at.B_SERIAL] - state[at.S_BASE]
    mixed = ((((kind * 64 + flags) * 65599 + site) * 65599 + other_site) * 65599 + window) * 40503
    n = (mixed >> 4) & (at.FINDING_ROWS - 1)
    for _ in range(at.FINDING_ROWS):
        row = words_at(state[at.S_FINDINGS] + n * at.FINDING_WORDS * 8)
        if row[at.F_KIND] == 0:
            row[at.F_KIND] = kind
            row[at.F_SITE] = site
            row[at.F_OTHER_SITE] = other_site
            row[at.F_WINDOW] = window
            row[at.F_FLAGS] = flags
            row[at.F_COUNT] = 1
            row[at.F_BLOCK] = block
            row[at.F_THREAD] = thread
            row[at.F_OTHER_BLOCK] = other_serial - state[at.S_BASE]
            row[at.F_OTHER_THREAD] = other_thread
            row[at.F_OFFSET] = offset
            row[at.F_EXTRA] = extra
            return
        if (
            row[at.F_KIND] == kind
            and row[at.F_SITE] == site
            and row[at.F_OTHER_SITE] == other_site
            and row[at.F_WINDOW] == window
            and row[at.F_FLAGS] == flags
        ):
            row[at.F_COUNT] += 1
            return
        n = (n + 1) & (at.FINDING_ROWS - 1)
    state[at.S_FINDINGS_LOST] += 1


@compiled
def _apart(first: int, other: int) -> int:
    """How far apart the threads of two stamps are; 0 for one thread."""
    if serial_of(first) != serial_of(other):
        return at.APART_BLOCKS
    if thread_of(first) >> 5 != thread_of(other) >> 5:
        return at.APART_WARPS
    return at.APART_LANES if thread_of(first) != thread_of(other) else 0


@compiled
def _both_synchronise(first: int, other: int) -> bool:
    """Whether two accesses cannot race because of what they are.

    Both must be atomic or volatile, and one of them atomic or their warps different.
    """
    a, b = flags_of(first), flags_of(other)
    if a == 0 or b == 0:
        return False
    if (a | b) & at.IS_ATOMIC:
        return True
    return _apart(first, other) != at.APART_LANES


@compiled
def _oldest(state_address: int, me: int, window: int) -> int:
    """Lowest serial number of blocks whose accesses count: this block's for shared memory."""
    if window == at.SHARED_WINDOW:
        return serial_of(me)
    return int(words_at(state_address)[at.S_BASE])


@compiled
def _races(state_address: int, first: int, then: int, me: int, oldest: int) -> bool:
    """Whether an earlier access with stamp (``first``, ``then``) races the present one."""
    if serial_of(first) < oldest or _apart(first, me) == 0:
        return False
    if byte_mask_of(first) & byte_mask_of(me) == 0 or _both_synchronise(first, me):
        return False
    return not ordered(state_address, first, then, thread_of(me))


@compiled
def _beside(state_address: int, first: int, then: int, me: int, oldest: int) -> bool:
    """Whether an earlier atomic or volatile write neither comes before this one nor races it."""
    if serial_of(first) < oldest or _apart(first, me) == 0 or not _both_synchronise(first, me):
        return False
    return not ordered(state_address, first, then, thread_of(me))


@compiled
def _is_past(state_address: int, then: int, me: int) -> bool:
    """Whether all threads of the block have reached a barrier since an access by the block.
    Then no later access of the block can race it, not even one by a warp that has still to leave
    that barrier.
    """
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    reached = words[at.B_CLOCK + (thread_of(me) >> 5)]
    return bool(state[at.S_PLAIN_BARRIERS] != 0 and clock_of(then) < reached)


@compiled
def _has_seen_all(state_address: int, last: int, then: int, me: int) -> bool:
    """Whether the thread comes after the last atomic of a cell, whose old value the kernel uses.

    Such an atomic has seen all atomics before it, and so has the thread: the one that draws the
    last ticket, for instance, may reset the counter.
    """
    state = words_at(state_address)
    site = words_at(state[at.S_SITES] + site_of(then) * at.SITE_WORDS * 8)
    if site[at.SITE_KIND] != at.ATOMIC or site[at.SITE_FLAGS] & at.ACQUIRES == 0:
        return False
    return _apart(last, me) == 0 or ordered(state_address, last, then, thread_of(me))


@compiled
# Numba passes no dataclass by value at this speed: each number is a parameter of its own.
def _note_race(
    state_address: int,
    kind: int,
    first: int,
    then: int,
    me: int,
    now: int,
    same: bool,
    window: int,
    offset: int,
) -> None:
    flags = _apart(first, me) + (at.SAME_VALUE if same else 0)
    note(
        state_address, kind, site_of(now), site_of(then), window, flags, thread_of(me),
        serial_of(first), thread_of(first), offset, 0,
    )  # fmt: skip


@compiled
# Numba passes no dataclass by value at this speed: each number is a parameter of its own.
def _check_writes(
    state_address: int,
    kind: int,
    cell_address: int,
    reads_address: int,
    me: int,
    now: int,
    same: bool,
    oldest: int,
    window: int,
    offset: int,
) -> None:
    """Note races of the present access with the writes that a cell remembers."""
    cell = words_at(cell_address)
    if _races(state_address, cell[0], cell[1], me, oldest):
        _note_race(state_address, kind, cell[0], cell[1], me, now, same, window, offset)
    if cell[0] & at.HAS_READS == 0:
        return
    reads = words_at(reads_address)
    for n in (at.OTHER_WRITE, at.OTHER_ATOMIC):
        other, before = reads[n], reads[n + 1]
        if _races(state_address, other, before, me, oldest) and not _has_seen_all(
            state_address, cell[0], cell[1], me
        ):
            _note_race(state_address, kind, other, before, me, now, same, window, offset)


@compiled
def on_read(
    state_address: int,
    cell_address: int,
    reads_address: int,
    me: int,
    now: int,
    window: int,
    offset: int,
) -> None:
    """Check a read of a cell and remember it."""
    cell = words_at(cell_address)
    reads = words_at(reads_address)
    oldest = _oldest(state_address, me, window)
    _check_writes(
        state_address, at.WRITE_READ, cell_address, reads_address, me, now, False, oldest, window,
        offset,
    )  # fmt: skip
    cell[0] |= at.HAS_READS
    for n in (0, 2):
        read = reads[n]
        if serial_of(read) < oldest or _precedes(state_address, read, reads[n + 1], me):
            reads[n] = me
            reads[n + 1] = now
            return
    if _apart(reads[0], me) > _apart(reads[0], reads[2]):
        reads[2] = me
        reads[3] = now


@compiled
def _precedes(state_address: int, read: int, then: int, me: int) -> bool:
    """Whether the record of an earlier ``read`` may be replaced by that of the present one.

    It may if it comes before the present one, and whatever races it races the present one too.
    That does not hold for a plain read before a volatile one, or one of bytes that the present one
    does not read.
    """
    if flags_of(me) != 0 and flags_of(read) == 0:
        return False
    if byte_mask_of(read) & ~byte_mask_of(me) != 0 or serial_of(read) != serial_of(me):
        return False
    if thread_of(read) == thread_of(me):
        return True
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    warp, other = thread_of(me) >> 5, thread_of(read) >> 5
    if warp == other:
        return bool(sequence_of(then) < words[at.B_EVERY + warp])
    return bool(clock_of(then) < words[at.B_KNOWN_CLOCK + warp * at.WARPS + other])


@compiled
def on_write(
    state_address: int,
    cell_address: int,
    reads_address: int,
    me: int,
    now: int,
    same: bool,
    window: int,
    offset: int,
) -> None:
    """Check a write of a cell and remember it.

    ``same`` if it stores the value that is already there.
    """
    cell = words_at(cell_address)
    oldest = _oldest(state_address, me, window)
    _check_writes(
        state_address, at.WRITE_WRITE, cell_address, reads_address, me, now, same, oldest, window,
        offset,
    )  # fmt: skip
    reads = words_at(reads_address)
    if cell[0] & at.HAS_READS:
        for n in (0, 2):
            if _races(state_address, reads[n], reads[n + 1], me, oldest):
                _note_race(
                    state_address, at.READ_WRITE, reads[n], reads[n + 1], me, now, False, window,
                    offset,
                )  # fmt: skip
                break
    kept = 0
    if flags_of(me) == 0:
        # Whatever comes after this write and races an earlier access races the write, too.
        if cell[0] & at.HAS_READS:
            for n in range(at.READ_WORDS):
                reads[n] = 0
    else:
        # A later atomic can race the accesses before this atomic without racing this atomic.
        kept = cell[0] & at.HAS_READS
        if serial_of(cell[0]) >= oldest and (
            flags_of(cell[0]) == 0 or _beside(state_address, cell[0], cell[1], me, oldest)
        ):
            kept = at.HAS_READS
            other, before = reads[at.OTHER_WRITE], reads[at.OTHER_WRITE + 1]
            if (
                serial_of(other) < oldest
                or flags_of(cell[0]) == 0
                or (flags_of(other) != 0 and _apart(me, cell[0]) >= _apart(me, other))
                or (window == at.SHARED_WINDOW and _is_past(state_address, before, me))
            ):
                reads[at.OTHER_WRITE] = cell[0] & ~at.HAS_READS
                reads[at.OTHER_WRITE + 1] = cell[1]
            elif flags_of(other) == 0:
                # The plain write is kept for other blocks' atomics, which race no atomic.
                atomic = reads[at.OTHER_ATOMIC]
                if serial_of(atomic) < oldest or _apart(me, cell[0]) >= _apart(me, atomic):
                    reads[at.OTHER_ATOMIC] = cell[0] & ~at.HAS_READS
                    reads[at.OTHER_ATOMIC + 1] = cell[1]
    cell[0] = me | kept
    cell[1] = now


@compiled
def stores_same(
    state_address: int, site: int, lane: int, mask: int, cell_address: int, host: int
) -> bool:
    """Whether a store does not change what another thread has just stored at ``host``."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    element, size = own[at.SITE_ELEMENT_BYTES], own[at.SITE_LANE_BYTES]
    scratch = state[at.S_SCRATCH]
    cell = words_at(cell_address)
    addresses = words_at(scratch)
    other = thread_of(cell[0]) & 31
    # The other thread may be a lane of the same instruction, whose stores have not been done yet.
    together = (
        serial_of(cell[0]) == words_at(state[at.S_BLOCK])[at.B_SERIAL]
        and site_of(cell[1]) == site
        and (mask >> other) & 1
        and other < lane
        and addresses[other] == addresses[lane]
    )
    values = scratch + at.LANES * 8
    for part in range(size // element):
        mine = bytes_at(values + (part * at.LANES + lane) * element)
        there = bytes_at(host + part * element)
        if together:
            there = bytes_at(values + (part * at.LANES + other) * element)
        for n in range(element):
            if mine[n] != there[n]:
                return False
    return True
