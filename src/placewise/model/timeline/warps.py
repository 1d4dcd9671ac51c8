"""The timeline: simulates the resident warps of a few SMs, cycle by cycle, instruction by
instruction.

Each partition issues at most one instruction a cycle, from the warp that it issued from last or,
where that one has to wait, from the oldest that is ready (Huerta et al. 2025, section 5, find
"greedy, then youngest" in microbenchmarks with few warps; of loose round robin, greedy then oldest
and greedy then youngest, the second fits measured kernels best, see docs/explanation/models.md). A
warp is ready when the stall count of its last instruction has passed and the scoreboards that the
next one waits for are released. A pipe takes an instruction when it is done with the one before.
Loads and stores queue up for one load/store pipe, a few of each partition. Accesses that miss L1
queue up for the SM's port to L2 and for these SMs' share of the bandwidth of L2 and DRAM.
Asynchronous copies to shared memory hold no scoreboard: a warp waits for a group of them only where
it says so.
Warps go to the partitions in turn, and each block begins with the next one, so that warps that do
less than others of their block leave no partition idle. (A blur of 16 x 16 threads, of which
12 x 12 compute, issues in 0.75 of the slots where every block begins with the same partition and
in 0.91 so; an H200 did in 0.90: ``benchmarks/results/gpu``, counters, row 35.) A block ends when
its stores have reached L2. A warp that comes to another line of code waits until its partition's
instruction cache has it; fetches of all partitions queue up. The next block goes to whichever SM
has room first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.kernel.binary.sass.control import SCOREBOARDS
from placewise.model.timeline.schedule import AWAIT_COPIES, COLUMNS, COMMIT_COPIES, COPY

_FAR = 1e18
_PIPE, _BUSY, _SERVER, _PASSES, _LATENCY, _READ, _STALL, _WRITE_BARRIER, _READ_BARRIER = range(9)
_WAITS, _BARRIER, _L2_BYTES, _DRAM_BYTES, _MISSES, _FAR_MISSES = range(9, 15)
_LINE, _FARTHER, _L1_PASSES, _COPIES, _ISSUE = range(15, 20)
assert COLUMNS.index("issue") == _ISSUE

PIPES = 32
"""Most pipes of an SM partition."""
SERVERS = 2
GROUPS = 8
"""Groups of asynchronous copies whose ends are remembered for each warp."""


class Pace(NamedTuple):
    """Figures of a machine that the timeline uses, in cycles of its SMs."""

    partitions: int
    """Partitions of an SM, each with a scheduler."""
    l2_cycles_per_byte: float
    """Cycles that one SM's share of L2's bandwidth needs for a byte."""
    dram_cycles_per_byte: float
    """Cycles that one SM's share of DRAM's bandwidth needs for a byte."""
    l2_latency: float
    dram_latency: float
    """Cycles until an idle DRAM serves a load."""
    queue: int
    """Instructions that a partition may have sent to a shared pipe that has not begun with them
    yet."""
    hand_over: float
    """Least cycles between two instructions that a partition sends to a shared pipe."""
    barrier: float
    """Cycles from the arrival of a block's last warp at a barrier until all warps continue."""
    launch: float
    """Cycles from when an SM slot is free until warps of the next block issue."""
    parameters: float = 0.0
    """Cycles until an SM has the launch's parameters, which its first blocks wait for."""
    start: float = 0.0
    """Cycles that one SM's share of the block scheduler needs to start a block."""
    drain: float = 0.0
    """Cycles from when L2 serves a store until the block that issued it may end."""
    code_lines: int = 0
    """Lines that a partition's instruction cache holds (direct-mapped); 0: every fetch hits."""
    fetch: float = 0.0
    """Least cycles between two fetches of lines of code by an SM's partitions."""
    port_cycles_per_byte: float = 0.0
    """Cycles that an SM needs to receive a byte from L2, or to send one there."""
    write_delay: float = 0.0
    """Cycles that a load from DRAM waits longer if DRAM is always busy, half of it with stores; in
    proportion to the square of how busy it is, and to its share of loads times that of stores."""


# One long loop with the SMs' state in plain arrays and numbers, since calls would slow it down.
@compiled(nogil=True, error_model="numpy")
def run(
    table: NDArray[np.float64],
    path: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    warps: NDArray[np.int64],
    resident: int,
    order: NDArray[np.int64],
    pace: Pace,
    sms: int,
    issues: NDArray[np.float64],
) -> float:
    """Cycles until all blocks have run on ``sms`` SMs, ``resident`` at a time on each.

    ``table`` as of :func:`.schedule.table`; ``path`` are numbers of its rows, and ``start`` and
    ``length`` (paths,) say which part of it each path is. ``order`` (blocks,) are rows of ``warps``
    (rows, warps of a block), in the order in which blocks start: warp ``w`` of a block takes path
    ``warps[row, w]``. The first instructions issued are written to ``issues`` (room, fields of
    :class:`.issues.Issue`); rows that were not needed stay as they are.
    """
    per_block = warps.shape[1]
    blocks = order.shape[0]
    per_sm = resident * per_block
    slots = sms * per_sm
    # Of each warp: its place in `path`, where its path ends, when it can issue, when scoreboards
    # are released, when it goes on after a barrier, whether it waits there, and its number.
    at = np.zeros(slots, np.int64)
    end = np.zeros(slots, np.int64)
    ready = np.full(slots, _FAR)
    released = np.zeros((slots, SCOREBOARDS))
    resumes = np.zeros(slots)
    waiting = np.zeros(slots, np.int64)
    age = np.zeros(slots, np.int64)
    # Of each resident block: warps that have not ended, and those that wait at a barrier.
    alive = np.zeros(sms * resident, np.int64)
    arrived = np.zeros(sms * resident, np.int64)
    partitions = sms * pace.partitions
    last = np.full(partitions, -1, np.int64)
    free = np.zeros((partitions, PIPES))
    handed = np.zeros((partitions, SERVERS + 1))
    server = np.zeros((sms, SERVERS + 1))
    # Of each partition's last instructions for each shared pipe: when the pipe begins with them;
    # and how many it has sent.
    begins = np.zeros((partitions, SERVERS + 1, pace.queue))
    sent = np.zeros((partitions, SERVERS + 1), np.int64)
    # A partition cannot issue before `soon`: its own instructions, barriers and new blocks set it.
    soon = np.zeros(partitions)
    issuing = np.zeros(partitions)
    held = np.full((partitions, max(1, pace.code_lines)), -1, np.int64)
    in_line = np.full(slots, -1, np.int64)
    drained = np.zeros(sms * resident)
    fetched = np.zeros(sms)
    port_free = np.zeros(sms)
    l2_cost = pace.l2_cycles_per_byte / sms
    dram_cost = pace.dram_cycles_per_byte / sms
    # Of each row: misses, and those of them that DRAM serves, that no warp has waited for yet.
    debt = np.zeros((table.shape[0], 2))
    # Of each warp: when its asynchronous copies have ended, their last row, and its groups of them.
    copied = np.zeros(slots)
    copier = np.full(slots, -1, np.int64)
    groups = np.zeros((slots, GROUPS))
    committed = np.zeros(slots, np.int64)
    room = issues.shape[0]
    recorded = 0
    # Of each warp's next instruction: `since`, `fixed`, `data` and `code` of its Issue.
    waits = np.zeros((slots if room else 0, 4))
    producer = np.full(waits.shape[0], -1, np.int64)
    set_by = np.full((waits.shape[0], SCOREBOARDS), -1, np.int64)
    l2_free = 0.0
    dram_free = 0.0
    dram_busy = dram_stores = 0.0
    now = 0.0
    begun = 0
    done = 0
    scheduled = 0.0
    # Of each SM: blocks that have begun on it.
    seated = np.zeros(sms, np.int64)
    for turn in range(sms * resident):
        if begun < blocks:
            # Blocks are handed out to the SMs in turn, one each.
            place = turn % sms * resident + turn // sms
            scheduled += pace.start / sms
            _begin(
                place, begun, order[begun], scheduled + pace.launch + pace.parameters,
                seated[turn % sms], start, length, warps, at, end, ready, released, age, alive,
                waits, producer, copied, committed,
            )  # fmt: skip
            begun += 1
            seated[turn % sms] += 1
    while done < blocks:
        soonest = _FAR
        issued = False
        for p in range(partitions):
            if soon[p] > now:
                soonest = min(soonest, soon[p])
                continue
            if issuing[p] >= now + 1.0:
                soonest = min(soonest, np.floor(issuing[p]))
                continue
            best = -1
            opened = 0.0
            oldest = np.int64(1) << 60
            sm = p // pace.partitions
            first = sm * per_sm + p % pace.partitions
            earliest = _FAR
            for s in range(first, (sm + 1) * per_sm, pace.partitions):
                if ready[s] > now:
                    earliest = min(earliest, ready[s])
                    continue
                row = path[at[s]]
                pipe, shared = np.int64(table[row, _PIPE]), np.int64(table[row, _SERVER])
                open_at = free[p, pipe]
                if shared:
                    room_at = begins[p, shared, sent[p, shared] % pace.queue]
                    open_at = max(open_at, room_at, handed[p, shared])
                if open_at > now:
                    earliest = min(earliest, open_at)
                    continue
                if s == last[p]:
                    best, opened = s, open_at
                    break
                if age[s] < oldest:
                    oldest = age[s]
                    best, opened = s, open_at
            if best < 0:
                soon[p] = earliest
                soonest = min(soonest, earliest)
                continue
            s = best
            last[p] = s
            issued = True
            row = path[at[s]]
            pipe, shared = np.int64(table[row, _PIPE]), np.int64(table[row, _SERVER])
            if recorded < room:
                issues[recorded, 0] = age[s]
                issues[recorded, 1] = s
                issues[recorded, 2] = row
                issues[recorded, 3] = producer[s]
                issues[recorded, 4:8] = waits[s]
                issues[recorded, 8] = ready[s]
                issues[recorded, 9] = max(ready[s], opened)
                issues[recorded, 10] = now
                recorded += 1
            issuing[p] = max(now, issuing[p]) + table[row, _ISSUE]
            free[p, pipe] = now + table[row, _BUSY]
            result = now + table[row, _LATENCY]
            read = now + table[row, _READ]
            if shared:
                handed[p, shared] = now + pace.hand_over
                taken = max(now, server[sm, shared])
                begins[p, shared, sent[p, shared] % pace.queue] = taken
                sent[p, shared] += 1
                server[sm, shared] = taken + table[row, _PASSES]
                if table[row, _L1_PASSES] > 0.0:
                    server[sm, 1] = max(now, server[sm, 1]) + table[row, _L1_PASSES]
                read = taken + table[row, _READ]
                result = server[sm, shared] + table[row, _LATENCY]
                if table[row, _L2_BYTES] > 0.0:
                    amount = table[row, _L2_BYTES]
                    stores = table[row, _MISSES] == 0.0
                    l2_free = max(server[sm, shared], l2_free) + amount * l2_cost
                    port_free[sm] = max(server[sm, shared], port_free[sm])
                    port_free[sm] += amount * pace.port_cycles_per_byte
                    moved = max(l2_free, port_free[sm])
                    debt[row, 0] += table[row, _MISSES]
                    if stores:
                        drained[s // per_block] = moved + pace.drain
                    if table[row, _DRAM_BYTES] > 0.0:
                        moving = table[row, _DRAM_BYTES] * dram_cost
                        dram_free = max(server[sm, shared], dram_free) + moving
                        dram_busy += moving
                        if stores:
                            dram_stores += moving
                    if debt[row, 0] >= 1.0:
                        debt[row, 0] -= 1.0
                        result = max(result, moved + pace.l2_latency + table[row, _FARTHER])
                        debt[row, 1] += table[row, _FAR_MISSES]
                        if debt[row, 1] >= 1.0:
                            debt[row, 1] -= 1.0
                            busy = min(1.0, dram_busy / (now + pace.dram_latency))
                            share = dram_stores / max(1.0, dram_busy)
                            delay = pace.write_delay * busy * busy * 4.0 * share * (1.0 - share)
                            result = max(result, dram_free + pace.dram_latency + delay)
            copies = np.int64(table[row, _COPIES])
            if copies == COPY:
                copied[s] = max(copied[s], result)
                copier[s] = row
            elif copies == COMMIT_COPIES:
                # Groups end in the order in which they are committed.
                result = max(result, copied[s])
                groups[s, committed[s] % GROUPS] = result
                committed[s] += 1
            barrier = np.int64(table[row, _WRITE_BARRIER])
            if barrier >= 0:
                if room and result >= released[s, barrier]:
                    set_by[s, barrier] = row
                released[s, barrier] = max(released[s, barrier], result)
            barrier = np.int64(table[row, _READ_BARRIER])
            if barrier >= 0:
                if room and read >= released[s, barrier]:
                    set_by[s, barrier] = row
                released[s, barrier] = max(released[s, barrier], read)
            at[s] += 1
            place = s // per_block
            if at[s] >= end[s]:
                ready[s] = _FAR
                alive[place] -= 1
                if alive[place] == 0:
                    done += 1
                    if begun < blocks:
                        ended = max(now, drained[place])
                        _begin(
                            place, begun, order[begun], ended + pace.launch, seated[sm], start,
                            length, warps, at, end, ready, released, age, alive, waits, producer,
                            copied, committed,
                        )  # fmt: skip
                        begun += 1
                        seated[sm] += 1
                        soon[sm * pace.partitions : (sm + 1) * pace.partitions] = 0.0
                    continue
            else:
                then = now + max(1.0, table[row, _STALL])
                wanted = np.int64(table[path[at[s]], _WAITS])
                if room:
                    producer[s] = -1
                    waits[s, 0] = now
                    waits[s, 1] = then
                for n in range(SCOREBOARDS):
                    if wanted >> n & 1:
                        if room and released[s, n] > then:
                            producer[s] = set_by[s, n]
                        then = max(then, released[s, n])
                left = np.int64(table[path[at[s]], _COPIES]) - AWAIT_COPIES
                if 0 <= left < min(committed[s], GROUPS):
                    copied_at = groups[s, (committed[s] - 1 - left) % GROUPS]
                    if room and copied_at > then:
                        producer[s] = copier[s]
                    then = max(then, copied_at)
                if room:
                    waits[s, 2] = then
                line = np.int64(table[path[at[s]], _LINE])
                if pace.code_lines > 0 and in_line[s] != line:
                    in_line[s] = line
                    if held[p, line % pace.code_lines] != line:
                        held[p, line % pace.code_lines] = line
                        fetched[sm] = max(now, fetched[sm]) + pace.fetch
                        then = max(then, fetched[sm])
                if room:
                    waits[s, 3] = then
                ready[s] = then
                if table[row, _BARRIER] > 0.0:
                    waiting[s] = 1
                    resumes[s] = then
                    ready[s] = _FAR
                    arrived[place] += 1
            if arrived[place] and arrived[place] == alive[place]:
                for w in range(place * per_block, (place + 1) * per_block):
                    if waiting[w]:
                        waiting[w] = 0
                        ready[w] = max(resumes[w], now + pace.barrier)
                arrived[place] = 0
                soon[sm * pace.partitions : (sm + 1) * pace.partitions] = 0.0
        if issued:
            now += 1.0
        elif soonest >= _FAR:
            break
        else:
            now = max(now + 1.0, np.ceil(soonest))
    # A loop, as NumPy's maximum in compiled code makes every process load Numba's linear algebra.
    finished = float(now)
    for place in range(drained.size):
        finished = max(finished, drained[place])
    return finished


# Numba takes plain arrays: one parameter for each array of the warps' state.
@compiled(nogil=True)
def _begin(
    place: int,
    block: int,
    row: int,
    time: float,
    before: int,
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    warps: NDArray[np.int64],
    at: NDArray[np.int64],
    end: NDArray[np.int64],
    ready: NDArray[np.float64],
    released: NDArray[np.float64],
    age: NDArray[np.int64],
    alive: NDArray[np.int64],
    waits: NDArray[np.float64],
    producer: NDArray[np.int64],
    copied: NDArray[np.float64],
    committed: NDArray[np.int64],
) -> None:
    """Start the block of row ``row`` of ``warps`` in SM slot ``place``, at ``time``, after
    ``before`` other blocks of the SM: set the state of its warps. ``waits`` and ``producer`` are
    empty where nothing is recorded."""
    per_block = warps.shape[1]
    for w in range(per_block):
        # Each block's first warp goes to the partition after that of the block before.
        s = place * per_block + (w + before) % per_block
        path = warps[row, w]
        at[s] = start[path]
        end[s] = start[path] + length[path]
        ready[s] = time
        age[s] = block * per_block + w
        released[s, :] = 0.0
        copied[s] = 0.0
        committed[s] = 0
        if len(producer):
            waits[s, :] = time
            producer[s] = -1
    alive[place] = per_block
