"""What one access of a warp does, compiled: bounds, alignment, values never written, races.

Generated code calls :func:`check_access` before every access, and lets only the lanes go on that
it returns.
"""

from __future__ import annotations

from numba import cfunc, njit, types

from placewise.execute.check import layout as at
from placewise.execute.check.blocks import turn_to
from placewise.execute.check.order import (
    acquire,
    known_sequence,
    release,
    serial_of,
    site_of,
    thread_of,
    when,
    who,
)
from placewise.execute.check.pointers import bytes_at, words_at
from placewise.execute.check.races import (
    lanes_store_same,
    note,
    on_read,
    on_write,
    stores_same,
)


@njit(cache=True, nogil=True)
def _bad(
    state_address: int, kind: int, site: int, window: int, thread: int, offset: int, extra: int
) -> None:
    """Note a lane that must not go on; too many end the run."""
    note(state_address, kind, site, -1, window, 0, thread, 0, 0, offset, extra)
    state = words_at(state_address)
    state[at.S_BAD] += 1
    if state[at.S_BAD] >= state[at.S_BAD_LIMIT]:
        words_at(state[at.S_STOP])[0] = 1


@njit(cache=True, nogil=True)
def _is_defined(defined_address: int, size: int) -> bool:
    defined = bytes_at(defined_address)
    known = 0
    for n in range(size):
        known += defined[n] != 0
    return known == size


@njit(cache=True, nogil=True)
def _define(defined_address: int, size: int) -> None:
    defined = bytes_at(defined_address)
    for n in range(size):
        defined[n] = 1


@njit(cache=True, nogil=True)
def _check_copy(
    state_address: int, site: int, thread: int, offset: int, size: int, starts: bool
) -> None:
    """Asynchronous copies into these bytes of shared memory: complete, and known to be?"""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    copies = words_at(state[at.S_SHARED_ASYNC])
    warp = thread >> 5
    for n in range(offset >> 2, (offset + size + 3) >> 2):
        copy = copies[n]
        if copy != 0:
            by, group = (copy >> 32) - 1, copy & 0xFFFFFFFF
            if group >= words[at.B_COMPLETE + by]:
                note(
                    state_address, at.ASYNC_PENDING, site, -1, at.SHARED_WINDOW, 0, thread,
                    words[at.B_SERIAL], by, offset, 0,
                )  # fmt: skip
                if not starts:
                    return
            elif by != thread:
                kept = by * at.GROUPS_KEPT + group % at.GROUPS_KEPT
                if by >> 5 == warp:
                    known = known_sequence(state[at.S_BLOCK], warp, thread & 31, by & 31)
                    fine = words[at.B_COMPLETE_SEQUENCE + kept] < known
                else:
                    known = words[at.B_KNOWN_CLOCK + warp * at.WARPS + (by >> 5)]
                    fine = words[at.B_COMPLETE_CLOCK + kept] < known
                if not fine:
                    note(
                        state_address, at.ASYNC_PENDING, site, -1, at.SHARED_WINDOW,
                        at.ASYNC_UNORDERED, thread, words[at.B_SERIAL], by, offset, 0,
                    )  # fmt: skip
                    if not starts:
                        return
        if starts:
            copies[n] = ((thread + 1) << 32) | words[at.B_COMMITTED + thread]


@njit(cache=True, nogil=True)
def _same_value(
    state_address: int, site: int, lane: int, mask: int, cell_address: int, host: int
) -> bool:
    """Whether a store does not change what another thread has just stored."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    scratch = state[at.S_SCRATCH]
    element, size = own[at.SITE_ELEMENT_BYTES], own[at.SITE_LANE_BYTES]
    if own[at.SITE_KIND] != at.STORE:
        return False
    cell = words_at(cell_address)
    words = words_at(state[at.S_BLOCK])
    other = thread_of(cell[0]) & 31
    addresses = words_at(scratch)
    if (
        serial_of(cell[0]) == words[at.B_SERIAL]
        and site_of(cell[1]) == site
        and (mask >> other) & 1
        and other < lane
        and addresses[other] == addresses[lane]
    ):
        # Perhaps by the same instruction, whose stores have not been done yet.
        return lanes_store_same(scratch, lane, other, element, size // element)
    return stores_same(scratch, lane, element, size // element, host)


@njit(cache=True, nogil=True)
def _check_cells(
    state_address: int,
    site: int,
    thread: int,
    mask: int,
    cells: int,
    shift: int,
    window: int,
    offset: int,
    host: int,
) -> None:
    """Races at the cells that a lane's bytes lie in; at most one is noted for the lane."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    size, kind = own[at.SITE_LANE_BYTES], own[at.SITE_KIND]
    flags = own[at.SITE_FLAGS] & 3
    warp = thread >> 5
    now = when(site, words[at.B_CLOCK + warp], words[at.B_SEQUENCE + warp])
    whole = (1 << (1 << shift)) - 1
    end = offset + size
    for n in range(offset >> shift, ((end - 1) >> shift) + 1):
        part = whole
        start = n << shift
        if start < offset:
            part &= whole << (offset - start)
        if end < start + (1 << shift):
            part &= (1 << (end - start)) - 1
        me = who(words[at.B_SERIAL], thread, flags, part)
        cell = cells + n * at.CELL_WORDS * 8
        if kind == at.LOAD:
            on_read(state_address, cell, me, now, window, offset)
        else:
            first = words_at(cell)[0]
            same = first != 0 and _same_value(state_address, site, thread & 31, mask, cell, host)
            on_write(state_address, cell, me, now, same, window, offset)


@njit(cache=True, nogil=True)
def _check_lane(state_address: int, site: int, thread: int, mask: int, address: int) -> bool:
    """Check one lane's access; whether it may go on."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    size, kind, space = own[at.SITE_LANE_BYTES], own[at.SITE_KIND], own[at.SITE_SPACE]
    shift = state[at.S_WINDOW_SHIFT]
    window = address >> shift
    offset = address
    if space == at.IN_SHARED:
        window = at.SHARED_WINDOW
    elif space == at.IN_LOCAL:
        window = at.LOCAL_WINDOW
    else:
        offset = address & ((1 << shift) - 1)
        if window <= 0 or window >= state[at.S_WINDOW_COUNT]:
            _bad(state_address, at.NULL, site, at.NO_WINDOW, thread, address, 0)
            return False
    row = words_at(state[at.S_WINDOWS] + window * state[at.S_WINDOW_WORDS] * 8)
    there = state[at.S_LOCAL_BYTES] if window == at.LOCAL_WINDOW else row[1]
    if offset + size > there or offset < 0:
        # An index below zero lies in the window before; it is told as one of the array above.
        _bad(state_address, at.BOUNDS, site, window, thread, address, 0)
        return False
    if offset & (own[at.SITE_ELEMENT_BYTES] * (size // own[at.SITE_ELEMENT_BYTES]) - 1):
        _bad(state_address, at.MISALIGNED, site, window, thread, offset, 0)
        return False
    if kind != at.LOAD and window != at.LOCAL_WINDOW and offset + size > row[4]:
        _bad(state_address, at.READ_ONLY, site, window, thread, offset, 0)
        return False
    if window == at.SHARED_WINDOW:
        defined = state[at.S_SHARED_DEFINED]
        cells, cell_shift = state[at.S_SHARED_CELLS], state[at.S_SHARED_SHIFT]
    elif window == at.LOCAL_WINDOW:
        defined = state[at.S_LOCAL_DEFINED] + thread * state[at.S_LOCAL_BYTES]
        cells, cell_shift = 0, 0
    else:
        shadow = words_at(state[at.S_SHADOWS] + window * at.SHADOW_WORDS * 8)
        defined = shadow[at.SHADOW_DEFINED]
        cells, cell_shift = shadow[at.SHADOW_CELLS], shadow[at.SHADOW_SHIFT]
        if kind != at.LOAD and cells == 0:
            state[at.S_SURPRISES] += 1
    if defined != 0:
        if kind != at.STORE and not _is_defined(defined + offset, size):
            note(state_address, at.UNDEFINED, site, -1, window, 0, thread, 0, 0, offset, 0)
        if kind != at.LOAD:
            _define(defined + offset, size)
    if window == at.SHARED_WINDOW and state[at.S_SHARED_ASYNC] != 0:
        starts = own[at.SITE_FLAGS] & at.IS_ASYNC != 0
        _check_copy(state_address, site, thread, offset, size, starts)
    if cells != 0:
        host = row[2] + offset
        _check_cells(state_address, site, thread, mask, cells, cell_shift, window, offset, host)
    return True


@njit(cache=True, nogil=True)
def _synchronise(state_address: int, site: int, thread: int, address: int) -> None:
    """A flag read or written: what it acquires and releases."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    flags = own[at.SITE_FLAGS]
    if own[at.SITE_SPACE] == at.IN_SHARED:
        address |= at.SHARED_WINDOW << state[at.S_WINDOW_SHIFT]
    if address >> state[at.S_WINDOW_SHIFT] == at.SHARED_WINDOW:
        # Shared memory is another place in each block.
        serial = words_at(state[at.S_BLOCK])[at.B_SERIAL]
        address = (address & 0xFFFFFFFF) | (serial << 32) | (1 << 62)
    if flags & at.ACQUIRES:
        acquire(state_address, address, thread)
    if own[at.SITE_KIND] != at.LOAD:
        release(state_address, address, thread, flags & at.RELEASES != 0)


@njit(cache=True, nogil=True)
def access(state_address: int, resident: int, block: int, warp: int, site: int, mask: int) -> int:
    """Check the access of ``site`` by the lanes in ``mask``; returns the lanes that may go on."""
    turn_to(state_address, resident, block)
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    synchronises = state[at.S_TRACKING] != 0 and own[at.SITE_FLAGS] & 15 != 0
    addresses = words_at(state[at.S_SCRATCH])
    allowed = 0
    for lane in range(at.LANES):
        if not (mask >> lane) & 1:
            continue
        thread = warp * at.LANES + lane
        if _check_lane(state_address, site, thread, mask, addresses[lane]):
            allowed |= 1 << lane
            if synchronises:
                _synchronise(state_address, site, thread, addresses[lane])
    return allowed


@cfunc(
    types.uint32(types.int64, types.int64, types.int64, types.int64, types.int32, types.uint32),
    cache=True,
)
def check_access(
    state_address: int, resident: int, block: int, warp: int, site: int, mask: int
) -> int:
    """:func:`access`, as generated code calls it."""
    return access(state_address, resident, block, warp, types.int64(site), types.int64(mask))
