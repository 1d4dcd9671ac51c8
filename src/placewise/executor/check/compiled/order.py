"""The compiled happens-before relation: barriers, warp synchronisation, fences with flags.

Every access is stamped with its block, its thread, the number of barriers that its warp has reached
(its clock) and the number of synchronisations among the lanes of its warp (its sequence). An access
is ordered before one of the same block if the later thread knows a clock or a sequence beyond the
stamp; barriers and ``__syncwarp`` spread this knowledge, as vector clocks do (Mattern 1988;
FastTrack, Flanagan and Freund 2009). Across blocks, and between warps without a barrier, order
comes from a fence followed by an atomic or volatile write (a release) that the other side has read
with an atomic or volatile read (an acquire).
"""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.pointers import compiled, words_at

_MASK16 = (1 << 16) - 1
_MASK24 = (1 << 24) - 1


@compiled
def who(serial: int, thread: int, flags: int) -> int:
    """First word of a stamp: ``flags`` say atomic or volatile; the bytes of the cell come later."""
    return (serial << 16) | (flags << 10) | thread


@compiled
def when(site: int, clock: int, sequence: int) -> int:
    """Second word of a stamp."""
    return (site << 48) | ((clock & _MASK24) << 24) | (sequence & _MASK24)


@compiled
def serial_of(stamp: int) -> int:
    return (stamp & ~at.HAS_READS) >> 16


@compiled
def thread_of(stamp: int) -> int:
    return stamp & 1023


@compiled
def flags_of(stamp: int) -> int:
    return (stamp >> 10) & 3


@compiled
def byte_mask_of(stamp: int) -> int:
    return (stamp >> at.BYTES_SHIFT) & 15


@compiled
def site_of(stamp: int) -> int:
    return (stamp >> 48) & _MASK16


@compiled
def clock_of(stamp: int) -> int:
    return (stamp >> 24) & _MASK24


@compiled
def sequence_of(stamp: int) -> int:
    return stamp & _MASK24


@compiled
def lanes_of(state_address: int, warp: int) -> int:
    """Mask of the lanes that a warp starts with."""
    state = words_at(state_address)
    if warp == state[at.S_WARPS] - 1:
        return int(state[at.S_LAST_LANES])
    return 0xFFFFFFFF


@compiled
def known_sequence(words_address: int, warp: int, lane: int, other: int) -> int:
    """Sequence number up to which ``lane`` knows what lane ``other`` of its warp did."""
    words = words_at(words_address)
    every = words[at.B_EVERY + warp]
    if words[at.B_PAIRS_USED] != 0:
        pair = words[at.B_PAIRS + (warp * at.LANES + lane) * at.LANES + other]
        every = max(every, pair)
    return int(every)


@compiled
def ordered(state_address: int, first: int, then: int, thread: int) -> bool:
    """Whether the access with stamp (``first``, ``then``) comes before what ``thread`` does now."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    if serial_of(first) == words[at.B_SERIAL]:
        warp, other = thread >> 5, thread_of(first) >> 5
        if warp == other:
            known = known_sequence(state[at.S_BLOCK], warp, thread & 31, thread_of(first) & 31)
            if sequence_of(then) < known:
                return True
        elif clock_of(then) < words[at.B_KNOWN_CLOCK + warp * at.WARPS + other]:
            return True
    if state[at.S_TRACKING] == 0:
        return False
    return published(state_address, first, then, thread)


# --- releases and acquires


@compiled
def _find_node(state_address: int, address: int, key: int) -> int:
    """Address of the release entry of (address, key), or of the free entry to put it in."""
    state = words_at(state_address)
    mask = state[at.S_NODE_MASK]
    mixed = (address * 0x9E3779B97F4A7C1 + key * 0x632BE59BD9B4E01) & 0x7FFFFFFFFFFFFFFF
    n = (mixed >> 20) & mask
    while True:
        place = state[at.S_NODES] + n * at.NODE_WORDS * 8
        node = words_at(place)
        if node[at.NODE_ADDRESS] == 0:
            return int(place)
        if node[at.NODE_ADDRESS] == address and node[at.NODE_KEY] == key:
            return int(place)
        n = (n + 1) & mask


@compiled
def _note_release(state_address: int, address: int, key: int, before: int, scope: int) -> None:
    state = words_at(state_address)
    node = words_at(_find_node(state_address, address, key))
    if node[at.NODE_ADDRESS] == 0:
        if 2 * state[at.S_NODE_COUNT] > state[at.S_NODE_MASK]:
            state[at.S_NODES_FULL] = 1
            return
        state[at.S_NODE_COUNT] += 1
        node[at.NODE_ADDRESS] = address
        node[at.NODE_KEY] = key
    node[at.NODE_BEFORE] = max(before, node[at.NODE_BEFORE])
    node[at.NODE_SCOPE] = max(scope, node[at.NODE_SCOPE])


@compiled
def release(state_address: int, address: int, thread: int, by_itself: bool) -> None:
    """Note that ``thread`` writes a flag; ``by_itself`` if the store itself is a release."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    warp = thread >> 5
    if by_itself:
        sequence = words[at.B_SEQUENCE + warp] + 1
        every = words[at.B_EVERY + warp]
        clock = words[at.B_CLOCK + warp]
        scope = at.FENCE_DEVICE
    else:
        sequence = words[at.B_FENCE_SEQUENCE + thread]
        every = words[at.B_FENCE_EVERY + thread]
        clock = words[at.B_FENCE_CLOCK + thread]
        scope = words[at.B_FENCE_SCOPE + thread]
        if sequence == 0:
            return
    key = words[at.B_SERIAL] * at.NODE_PARTS
    _note_release(state_address, address, at.NODE_ANY, 1, scope)
    _note_release(state_address, address, key + at.NODE_BLOCK_PART, clock, scope)
    _note_release(state_address, address, key + at.NODE_WARP_PART + warp, every, scope)
    _note_release(state_address, address, key + at.NODE_THREAD_PART + thread, sequence, scope)


@compiled
def release_for_block(state_address: int, address: int, thread: int) -> None:
    """Note that one thread writes a flag after a barrier, on behalf of threads that made a fence.

    Every thread has written, made a fence of its own and come to a barrier; then one thread sets
    the flag of the block.
    """
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    warp = thread >> 5
    key = words[at.B_SERIAL] * at.NODE_PARTS + at.NODE_THREAD_PART
    for other in range(state[at.S_WARPS] * at.LANES):
        sequence = words[at.B_FENCE_SEQUENCE + other]
        if sequence == 0 or other == thread:
            continue
        if other >> 5 == warp:
            known = known_sequence(state[at.S_BLOCK], warp, thread & 31, other & 31)
            if sequence > known:
                continue
        else:
            known = words[at.B_KNOWN_CLOCK + warp * at.WARPS + (other >> 5)]
            if words[at.B_FENCE_CLOCK + other] >= known:
                continue
        scope = words[at.B_FENCE_SCOPE + other]
        _note_release(state_address, address, at.NODE_ANY, 1, scope)
        _note_release(state_address, address, key + other, sequence, scope)


@compiled
def acquire(state_address: int, address: int, thread: int) -> None:
    """Note that ``thread`` has read a flag at ``address``, if some thread released there."""
    state = words_at(state_address)
    if words_at(_find_node(state_address, address, at.NODE_ANY))[at.NODE_ADDRESS] == 0:
        return
    words = words_at(state[at.S_BLOCK])
    warp = thread >> 5
    clock = words[at.B_CLOCK + warp]
    count = words[at.B_ACQUIRES]
    entries = state[at.S_BLOCK] + at.B_ACQUIRE_LIST * 8
    place = count % at.ACQUIRES_KEPT
    for n in range(min(count, at.ACQUIRES_KEPT)):
        entry = words_at(entries + n * at.ACQUIRE_WORDS * 8)
        if entry[0] == address and entry[1] == thread and entry[2] == clock:
            place = n
    if place == count % at.ACQUIRES_KEPT:
        words[at.B_ACQUIRES] = count + 1
    entry = words_at(entries + place * at.ACQUIRE_WORDS * 8)
    entry[0] = address
    entry[1] = thread
    entry[2] = clock
    entry[3] = words[at.B_SEQUENCE + warp]


@compiled
def _covers(state_address: int, address: int, key: int, before: int, same_block: bool) -> bool:
    """Whether the release entry of (address, key) covers accesses numbered ``before``.
    Readers of another block need a release by a fence of the whole device.
    """
    node = words_at(_find_node(state_address, address, key))
    if node[at.NODE_ADDRESS] == 0 or before >= node[at.NODE_BEFORE]:
        return False
    return same_block or bool(node[at.NODE_SCOPE] == at.FENCE_DEVICE)


@compiled
def published(state_address: int, first: int, then: int, thread: int) -> bool:
    """Whether a release covers the stamped access, and ``thread`` knows of a matching acquire.

    One release and one acquire must connect the two; chains over a third block are not followed.
    """
    state = words_at(state_address)
    if state[at.S_NODES_FULL] != 0:
        return True
    words = words_at(state[at.S_BLOCK])
    warp = thread >> 5
    entries = state[at.S_BLOCK] + at.B_ACQUIRE_LIST * 8
    same_block = serial_of(first) == words[at.B_SERIAL]
    key = serial_of(first) * at.NODE_PARTS
    other = thread_of(first)
    for n in range(min(words[at.B_ACQUIRES], at.ACQUIRES_KEPT)):
        entry = words_at(entries + n * at.ACQUIRE_WORDS * 8)
        by, clock, sequence = entry[1], entry[2], entry[3]
        if by != thread:
            if by >> 5 == warp:
                known = known_sequence(state[at.S_BLOCK], warp, thread & 31, by & 31)
                if sequence >= known:
                    continue
            elif clock >= words[at.B_KNOWN_CLOCK + warp * at.WARPS + (by >> 5)]:
                continue
        address = entry[0]
        if (
            _covers(
                state_address, address, key + at.NODE_THREAD_PART + other,
                sequence_of(then), same_block,
            )
            or _covers(
                state_address, address, key + at.NODE_WARP_PART + (other >> 5),
                sequence_of(then), same_block,
            )
            or _covers(
                state_address, address, key + at.NODE_BLOCK_PART, clock_of(then), same_block
            )
        ):  # fmt: skip
            return True
    return False
