"""Runs the line requests of one SM through the SM's caches, in the order in which its warps issue
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import (
    BYPASS,
    EVICT_FIRST,
    GOLDEN,
    KEEP,
    READ,
    WRITE_THROUGH,
    Caches,
    access,
)
from placewise.memory.simulate.caches.constant_caches import ConstantCaches, read_constant
from placewise.memory.simulate.caches.fast_cache import (
    HINTS,
    access_lru,
    find_random,
    first_ways,
    is_fast,
)
from placewise.memory.simulate.caches.geometry import AGED, RANDOM, Int, Shape, shape_of
from placewise.memory.simulate.caches.miss_queue import Missed, emit_miss
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    SLOW_PATH,
    STREAM_BIT,
)
from placewise.memory.simulate.requests.streams import (
    CONSTANT,
    EVICTED_FIRST,
    IN_LOCAL,
    KEPT,
    LOAD,
    NOT_ALLOCATED,
    STORE,
    Streams,
)
from placewise.memory.simulate.simd.jit_helpers import bits, noinline

BATCH_REQUESTS = 1024
"""Most line requests of a batch. A batch is put in order by one loop and run through a cache by
another, so that each loop keeps its few variables in registers; a batch fits the processor's L1
cache."""
BATCH_ROUNDS = 256
"""Most rounds of a batch."""
COUNT_COPIES = 4
"""Number of copies of each stream's L2 counters, which are summed at the end: successive additions
to a single word would wait for each other."""
SLACK = 32
"""Spare elements after a batch, since words are copied several at a time and prefetching reads
ahead."""

NO_SHAPE = Shape(*(np.int64(0),) * len(Shape._fields))


class Workspace(NamedTuple):
    """Scratch arrays of one thread."""

    ready: NDArray[np.int64]
    segment: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    own_phase: NDArray[np.int64]
    """(max(warps of an SM, SMs),) each: the warps that issue in the next round, and for each warp
    its segment, its next line request, the end of its segment, and its phase."""
    first_of: NDArray[np.int64]
    kind_of: NDArray[np.int64]
    """(streams,) each: the number of each stream's first cache, and the kind of its accesses (READ,
    …)."""
    allocates: NDArray[np.bool_]
    """(first caches + 1,) whether a store brings its line in."""
    out: NDArray[np.int64]
    """(shards,) index in the queue of each L2 shard's next request."""
    order: NDArray[np.int64]
    first_way: NDArray[np.int64]
    turn: NDArray[np.int64]
    """(BATCH_REQUESTS + SLACK,) each: a batch's line requests, the first way of each one's set, and
    each one's round (when L2 counts: the word that is added to its stream's counters)."""
    round_end: NDArray[np.int64]
    """(BATCH_ROUNDS,) index in ``order`` at which the line requests of each round end."""
    hint: NDArray[np.int32]
    """(HINTS,) by the lowest bits of a line number: the way, counted from the instance's first way,
    where such a line was found last. Checking it first avoids comparing a set that was just
    written."""
    line: NDArray[np.uint32]
    added: NDArray[np.uint32]
    """(BATCH_REQUESTS + SLACK,) each: line number within an L2 shard, and its sectors in the form
    of :attr:`Caches.held`."""
    found: NDArray[np.uint32]
    """(2 (BATCH_REQUESTS + SLACK),) for each line request, the state of the way that it took in L2;
    0 if that way did not contain its line."""
    stored: NDArray[np.bool_]
    """(streams,) whether a stream stores."""
    counted: NDArray[np.int64]
    """(COUNT_COPIES * streams,) number of sectors that a wave asks of L2 and of those that miss, in
    one word."""


def new_workspace(
    warps: int, sms: int, streams: int, shards: int, allocates: Sequence[bool]
) -> Workspace:
    """Scratch arrays for ``warps`` of an SM; ``allocates`` says of each first cache whether stores
    bring lines in."""

    def words(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    most, batch = max(warps, sms), BATCH_REQUESTS + SLACK
    return Workspace(
        ready=words(most + 1),
        segment=words(most),
        at=words(most),
        end=words(most),
        own_phase=words(most),
        first_of=words(streams),
        kind_of=words(streams),
        # One entry more, for streams without a cache in the SM.
        allocates=np.array([*allocates, False], np.bool_),
        out=words(shards),
        order=words(batch),
        first_way=words(batch),
        turn=words(batch),
        round_end=words(BATCH_ROUNDS),
        hint=np.zeros(HINTS, np.int32),
        line=np.zeros(batch, np.uint32),
        added=np.zeros(batch, np.uint32),
        found=np.zeros(2 * batch, np.uint32),
        stored=np.zeros(streams, np.bool_),
        counted=words(COUNT_COPIES * streams),
    )


class SmCaches(NamedTuple):
    """The caches of the SMs that one thread simulates, and the counts and queues that they fill."""

    caches: Caches
    """The first caches; instance n is that of SM n."""
    constant: ConstantCaches
    per_line: int
    """Sectors of a line request's line."""
    missed: Missed
    overfetch: NDArray[np.int64]
    """(streams,) further sectors that loads fetched together with those that they missed."""
    work: Workspace


@noinline
def route_streams(streams: Streams, caches: Caches, work: Workspace) -> None:
    """Find the first cache of each stream. Stores and atomics bypass the SM's caches, except stores
    to a cache that allocates on a write miss."""
    first_caches = np.int64(caches.geometry.shape[0])
    for p in range(streams.used[0]):
        row = streams.rows[p]
        work.first_of[p] = first_caches
        work.kind_of[p] = READ if row.kind == LOAD else WRITE_THROUGH
        # The last load of a spilled register (LDL.LU) leaves its line in the SM's cache, where the
        # next block's stores find it: recorded hits of spilled registers on an RTX 2080 Ti.
        if row.flags & EVICTED_FIRST and not row.flags & IN_LOCAL:
            work.kind_of[p] |= EVICT_FIRST
        if row.flags & KEPT:
            work.kind_of[p] |= KEEP
        if row.flags & NOT_ALLOCATED:
            work.kind_of[p] |= BYPASS
        if row.kind == LOAD or (row.kind == STORE and work.allocates[row.cache]):
            work.first_of[p] = row.cache


@noinline
def run_requests(sm: Int, first_round: Int, rounds: Int, run: SmCaches) -> None:
    """Run the batch of line requests in the workspace, which are those of an SM's ``rounds`` rounds
    from ``first_round`` on, through the SM's caches."""
    work, missed = run.work, run.missed
    g = NO_SHAPE
    policy = np.int64(-1)
    if run.caches.geometry.shape[0]:
        g = shape_of(run.caches.geometry, 0)
        if is_fast(g):
            policy = g.policy
    if 0 <= policy <= AGED:
        n = work.round_end[np.uintp(rounds - 1)]
        first_ways(g, sm, work.order, n, LINE_BIT, work.first_way)
    begin = np.int64(0)
    shards = np.int64(missed.length.shape[0])
    size = np.int64(missed.request.shape[0] // shards)
    for number in range(rounds):
        end = work.round_end[np.uintp(number)]
        if policy == RANDOM:
            _run_random(begin, end, sm, g, run)
        else:
            _run_lru_or_other(begin, end, sm, g, run)
        begin = end
        at = missed.first_round[np.uintp(sm)] + first_round + number
        missed.end[np.uintp(at)] = work.out[0] - missed.first[0, np.uintp(sm)]
        if shards > 1:
            missed.end[np.uintp(size + at)] = work.out[1] - missed.first[1, np.uintp(sm)]


@noinline
def _run_random(begin: Int, end: Int, sm: Int, g: Shape, run: SmCaches) -> None:
    """Run ``order[begin:end]`` through a fast cache with random replacement."""
    order, hint, out = run.work.order, run.work.hint, run.work.out
    tags, held = run.caches.tags, run.caches.held
    own = g.first_way + sm * g.sets * g.lanes
    seed = np.uintp(g.first_seed + sm)
    # Each line request on this path has its own random number, which is computed only if it is
    # used.
    state = run.caches.seed[seed] - np.uint64(begin - 1) * GOLDEN
    last, last_held = np.int64(-1), np.int64(0)
    for k in range(begin, end):
        request = order[np.uintp(k)]
        if request & SLOW_PATH:
            state -= GOLDEN + run.caches.seed[seed]
            _run_slow_path(sm, request, run)
            state += run.caches.seed[seed]
            last = np.int64(-1)
            continue
        line, sectors = request >> LINE_BIT, (request >> SECTOR_BIT) & SECTORS
        if line == last and not sectors & ~last_held:
            continue
        place = np.uintp(line & (HINTS - 1))
        at = np.uintp(own + np.int64(hint[place]))
        if tags[at] != line:
            way = find_random(run.caches, g, own, line, state + np.uint64(k) * GOLDEN)
            hint[place] = way
            at = np.uintp(own + way)
        before = np.int64(held[at])
        last, last_held = line, before | sectors
        if sectors & ~before:
            held[at] = before | sectors
            emit_miss(request, before, np.int64(1), run.missed, out)
    run.caches.seed[seed] = state + np.uint64(end - 1) * GOLDEN


@noinline
def _run_lru_or_other(begin: Int, end: Int, sm: Int, g: Shape, run: SmCaches) -> None:
    """Run ``order[begin:end]`` through a fast cache that replaces by order of use, or any other."""
    work = run.work
    last, last_held = np.int64(-1), np.int64(0)
    fast = g.policy <= AGED and is_fast(g)
    seed = np.uintp(g.first_seed + sm)
    for k in range(begin, end):
        request = work.order[np.uintp(k)]
        if request & SLOW_PATH or not fast:
            _run_slow_path(sm, request, run)
            last = np.int64(-1)
            continue
        line = request >> LINE_BIT
        sectors = (request >> SECTOR_BIT) & SECTORS
        if line == last and not sectors & ~last_held:
            continue
        last_held = sectors if line != last else last_held | sectors
        last = line
        first_way = work.first_way[np.uintp(k)]
        run.caches.seed[seed] += GOLDEN
        state = run.caches.seed[seed]
        missing, _, _ = access_lru(run.caches, g, first_way, line, sectors, 0, state)
        emit_miss(request, sectors & ~missing, missing, run.missed, work.out)


@noinline
def _run_slow_path(sm: Int, request: Int, run: SmCaches) -> None:
    """Run a line request through a cache of any kind, or past the SM's caches."""
    work, missed = run.work, run.missed
    p = np.uintp((request >> STREAM_BIT) & MOST_STREAMS)
    cache = work.first_of[p]
    if cache == run.caches.geometry.shape[0]:
        emit_miss(request, np.int64(0), np.int64(1), missed, work.out)
        return
    if cache == CONSTANT:
        read_constant(run.constant, sm, request, run.per_line, run.overfetch, missed, work.out)
        return
    line, sectors, kind = request >> LINE_BIT, (request >> SECTOR_BIT) & SECTORS, work.kind_of[p]
    missing, fetched, _ = access(run.caches, cache, sm, line, sectors, run.per_line, kind)
    if kind & READ:
        # A read that brings in no line may miss sectors that are not fetched into the cache.
        sectors = fetched | missing
        run.overfetch[p] += bits(fetched & ~missing)
    rest = request & ~np.int64(SECTORS << SECTOR_BIT)
    emit_miss(rest | (sectors << SECTOR_BIT), np.int64(0), sectors, missed, work.out)
