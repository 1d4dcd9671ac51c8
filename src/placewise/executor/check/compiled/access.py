"""Compiled checks of one access of a warp: bounds, alignment, undefined values, races.

Generated code calls :func:`access` before an access and executes it in the lanes that are returned.
It checks the bounds of loads from arrays that no thread can write by itself, and calls
:func:`fault` for each bad lane.
"""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.compiled.blocks import turn_to
from placewise.executor.check.compiled.copies import check_copy
from placewise.executor.check.compiled.order import acquire, release, release_for_block, when, who
from placewise.executor.check.compiled.pointers import bytes_at, compiled, words_at
from placewise.executor.check.compiled.races import note, on_read, on_write, stores_same


@compiled
def _bad(state_address: int, kind: int, site: int, window: int, thread: int, offset: int) -> None:
    """Note a bad access of a lane; too many end the run."""
    note(state_address, kind, site, -1, window, 0, thread, 0, 0, offset, 0)
    state = words_at(state_address)
    state[at.S_BAD] += 1
    if state[at.S_BAD] >= state[at.S_BAD_LIMIT]:
        words_at(state[at.S_STOP])[0] = 1


@compiled
def _generic(state_address: int, space: int, address: int) -> int:
    """A lane's generic address, from its address in the instruction's space."""
    shift = words_at(state_address)[at.S_WINDOW_SHIFT]
    if space == at.IN_SHARED:
        return address | (at.SHARED_WINDOW << shift)
    if space == at.IN_LOCAL:
        return address | (at.LOCAL_WINDOW << shift)
    return address


@compiled
def _is_allowed(state_address: int, site: int, thread: int, address: int) -> bool:
    """Whether a lane's access is in bounds, aligned and allowed; notes a finding if not."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    size = own[at.SITE_LANE_BYTES]
    shift = state[at.S_WINDOW_SHIFT]
    window = address >> shift
    if window <= 0 or window >= state[at.S_WINDOW_COUNT]:
        _bad(state_address, at.NULL, site, at.NO_WINDOW, thread, address)
        return False
    offset = address & ((1 << shift) - 1)
    row = words_at(state[at.S_WINDOWS] + window * state[at.S_WINDOW_WORDS] * 8)
    there = state[at.S_LOCAL_BYTES] if window == at.LOCAL_WINDOW else row[1]
    if offset + size > there:
        # A negative index falls into the window below its array's; describe names the nearest
        # array.
        _bad(state_address, at.BOUNDS, site, window, thread, address)
        return False
    if offset & (size - 1):
        _bad(state_address, at.MISALIGNED, site, window, thread, offset)
        return False
    if own[at.SITE_KIND] != at.LOAD and window != at.LOCAL_WINDOW and offset + size > row[4]:
        _bad(state_address, at.READ_ONLY, site, window, thread, offset)
        return False
    return True


@compiled
def _allowed_lanes(state_address: int, warp: int, site: int, mask: int) -> int:
    """Mask of the lanes whose access may be made; makes the addresses in the buffer generic."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    size, space = own[at.SITE_LANE_BYTES], own[at.SITE_SPACE]
    addresses = words_at(state[at.S_SCRATCH])
    shift = state[at.S_WINDOW_SHIFT]
    low, high, bits = 0x7FFFFFFFFFFFFFFF, -0x7FFFFFFFFFFFFFFF, 0
    for lane in range(at.LANES):
        address = _generic(state_address, space, addresses[lane])
        addresses[lane] = address
        if (mask >> lane) & 1:
            low = min(low, address)
            high = max(high, address)
            bits |= address
    window = low >> shift
    if window == high >> shift and 0 < window < state[at.S_WINDOW_COUNT]:
        row = words_at(state[at.S_WINDOWS] + window * state[at.S_WINDOW_WORDS] * 8)
        there = row[1] if own[at.SITE_KIND] == at.LOAD else min(row[1], row[4])
        if window == at.LOCAL_WINDOW:
            there = state[at.S_LOCAL_BYTES]
        if (high & ((1 << shift) - 1)) + size <= there and bits & (size - 1) == 0:
            return mask
    allowed = 0
    for lane in range(at.LANES):
        if (mask >> lane) & 1:
            thread = warp * at.LANES + lane
            if _is_allowed(state_address, site, thread, addresses[lane]):
                allowed |= 1 << lane
    return allowed


@compiled
# Compiled by Numba: addresses and numbers, one parameter each.
def _check_defined(
    state_address: int,
    site: int,
    thread: int,
    window: int,
    offset: int,
    defined_address: int,
    size: int,
    kind: int,
    used: int,
) -> None:
    """Note a read of bytes that were never written but are used, and mark those that the access
    writes."""
    defined = bytes_at(defined_address + offset)
    if kind != at.STORE:
        known, unknown = 0, 0
        for n in range(size):
            if (used >> n) & 1 != 0:
                known += defined[n] != 0
                unknown += defined[n] == 0
        if unknown != 0:
            is_part = known != 0 and used != -1
            code = at.PARTLY_UNDEFINED if is_part else at.UNDEFINED
            note(state_address, code, site, -1, window, 0, thread, 0, 0, offset, 0)
    if kind != at.LOAD:
        for n in range(size):
            defined[n] = 1


@compiled
# Numba passes no dataclass by value at this speed: each number is a parameter of its own.
def _check_cells(
    state_address: int,
    site: int,
    lane: int,
    mask: int,
    me: int,
    now: int,
    cells: int,
    reads: int,
    shift: int,
    window: int,
    offset: int,
    host: int,
) -> None:
    """Check for races at the shadow cells of a lane's bytes."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    size, kind = own[at.SITE_LANE_BYTES], own[at.SITE_KIND]
    whole = (1 << (1 << shift)) - 1
    end = offset + size
    for n in range(offset >> shift, ((end - 1) >> shift) + 1):
        part = whole
        start = n << shift
        if start < offset:
            part &= whole << (offset - start)
        if end < start + (1 << shift):
            part &= (1 << (end - start)) - 1
        cell, read = cells + n * at.CELL_WORDS * 8, reads + n * at.READ_WORDS * 8
        stamp = me | (part << at.BYTES_SHIFT)
        if kind == at.LOAD:
            on_read(state_address, cell, read, stamp, now, window, offset)
        else:
            same = False
            if kind == at.STORE and words_at(cell)[0] != 0:
                same = stores_same(state_address, site, lane, mask, cell, host)
            on_write(state_address, cell, read, stamp, now, same, window, offset)


@compiled
def _remember(state_address: int, warp: int, site: int, mask: int) -> None:
    """Update shadow memory for the access, lane by lane, and note what is wrong."""
    state = words_at(state_address)
    words = words_at(state[at.S_BLOCK])
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    addresses = words_at(state[at.S_SCRATCH])
    size, kind, flags = own[at.SITE_LANE_BYTES], own[at.SITE_KIND], own[at.SITE_FLAGS]
    used = own[at.SITE_USED_BYTES]
    window_shift = state[at.S_WINDOW_SHIFT]
    now = when(site, words[at.B_CLOCK + warp], words[at.B_SEQUENCE + warp])
    serial = words[at.B_SERIAL]
    window, defined, cells, reads, shift, host = -1, 0, 0, 0, 0, 0
    last, before = -1, -1
    for lane in range(at.LANES):
        if not (mask >> lane) & 1:
            continue
        thread = warp * at.LANES + lane
        offset = addresses[lane] & ((1 << window_shift) - 1)
        if addresses[lane] >> window_shift != window:
            window = addresses[lane] >> window_shift
            host = words_at(state[at.S_WINDOWS] + window * state[at.S_WINDOW_WORDS] * 8)[2]
            if window == at.SHARED_WINDOW:
                defined = state[at.S_SHARED_DEFINED]
                cells, reads = state[at.S_SHARED_CELLS], state[at.S_SHARED_READS]
                shift = state[at.S_SHARED_SHIFT]
            elif window == at.LOCAL_WINDOW:
                defined, cells = state[at.S_LOCAL_DEFINED], 0
            else:
                shadow = words_at(state[at.S_SHADOWS] + window * at.SHADOW_WORDS * 8)
                defined = shadow[at.SHADOW_DEFINED]
                cells, reads = shadow[at.SHADOW_CELLS], shadow[at.SHADOW_READS]
                shift = shadow[at.SHADOW_SHIFT]
                if kind != at.LOAD and shadow[at.SHADOW_EXPECTED] == 0:
                    state[at.S_SURPRISES] += 1
        if defined != 0:
            start = defined
            if window == at.LOCAL_WINDOW:
                start += thread * state[at.S_LOCAL_BYTES]
            _check_defined(state_address, site, thread, window, offset, start, size, kind, used)
        if window == at.SHARED_WINDOW and state[at.S_SHARED_ASYNC] != 0:
            starts = (flags & at.IS_ASYNC) != 0
            check_copy(state_address, site, thread, offset, size, starts)
        # Of lanes that read one address by one instruction, two suffice to find races.
        known = kind == at.LOAD and addresses[lane] == last and last == before
        before, last = last, addresses[lane]
        if cells != 0 and not known:
            me = who(serial, thread, flags & 3)
            _check_cells(
                state_address, site, lane, mask, me, now, cells, reads, shift, window, offset,
                host + offset,
            )  # fmt: skip


@compiled
def _synchronise(state_address: int, warp: int, site: int, mask: int) -> None:
    """Acquire or release at the addresses of an atomic or volatile access."""
    state = words_at(state_address)
    own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
    addresses = words_at(state[at.S_SCRATCH])
    flags, kind = own[at.SITE_FLAGS], own[at.SITE_KIND]
    for lane in range(at.LANES):
        if not (mask >> lane) & 1:
            continue
        thread, address = warp * at.LANES + lane, addresses[lane]
        if address >> state[at.S_WINDOW_SHIFT] == at.SHARED_WINDOW:
            # Makes the address of shared memory unique to the block.
            serial = words_at(state[at.S_BLOCK])[at.B_SERIAL]
            address = (address & 0xFFFFFFFF) | (serial << 32) | (1 << 62)
        if flags & at.ACQUIRES:
            acquire(state_address, address, thread)
        if kind != at.LOAD:
            release(state_address, address, thread, (flags & at.RELEASES) != 0)
            if mask == 1 << lane:
                release_for_block(state_address, address, thread)


@compiled
def access(state_address: int, resident: int, block: int, warp: int, site: int, mask: int) -> int:
    """Check the access of ``site`` by the lanes in ``mask``; returns those that may execute it."""
    if mask == 0:
        return 0
    turn_to(state_address, resident, block)
    allowed = _allowed_lanes(state_address, warp, site, mask)
    _remember(state_address, warp, site, allowed)
    state = words_at(state_address)
    if state[at.S_TRACKING] != 0:
        own = words_at(state[at.S_SITES] + site * at.SITE_WORDS * 8)
        if own[at.SITE_FLAGS] & at.SYNCHRONISES:
            _synchronise(state_address, warp, site, allowed)
    return allowed


@compiled
def fault(
    state_address: int, resident: int, block: int, warp: int, site: int, lane: int, address: int
) -> None:
    """Note a lane that generated code found out of bounds or misaligned."""
    turn_to(state_address, resident, block)
    _is_allowed(state_address, site, warp * at.LANES + lane, address)
