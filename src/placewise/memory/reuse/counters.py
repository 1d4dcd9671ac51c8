"""N_ij: the transactions of every array in every memory under a placement.

Chen et al. 2017, sections 3.1.1 and 3.1.2: the serialization condition of a memory turns an
array's warp accesses into transactions; the reuse-distance histogram tells which share of them each
level of the hierarchy serves; arrays that share a cache get equal portions of it; a level sees what
the level before missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine, Memory
from placewise.memory.reuse.intensity import Intensity
from placewise.memory.reuse.profile import ArrayProfile, Profile
from placewise.memory.reuse.staging import LevelCount, staging_traffic
from placewise.memory.reuse.stream import LOAD, STORE, TAGS
from placewise.space import Placement

WHOLE, FIRST_HALF, SECOND_HALF = 0, 1, 2
"""The part of the sampled blocks that counters are made from."""


@dataclass(frozen=True)
class Reading:
    """Interpretation of the paper where its text allows several."""

    unit: Literal["block", "element"] = "block"
    """What a reuse distance counts. Section 3.1.1 says "data items"; a cache holds blocks, so
    blocks of the level's size are the default. ``element`` counts single elements."""
    charge: Literal["served", "reaching"] = "served"
    """N_ij "happen on" memory j: transactions that j serves (default; T_j is the latency of an
    access that is served at j), or all that reach it, hits and misses."""


@dataclass(frozen=True)
class ArrayCounters:
    """Counters of one array under a placement: its accesses, and the memories that serve them."""

    array: str
    space: str
    path: str
    requests: float
    """Warp accesses of the whole launch."""
    lanes_per_request: float
    transactions_per_request: float
    """Transactions of a request in the memory nearest to the cores."""
    levels: tuple[LevelCount, ...]
    """Nearest memory first; one entry per level of the space."""
    staging: tuple[LevelCount, ...] = ()
    """Traffic of filling the per-block tiles and copying them back: in shared memory, and in the
    memories of plain loads."""
    staging_path: str = ""
    staging_bytes: float = 0.0
    """Bytes that all blocks' tiles move in and out."""
    copy_bytes: int = 0
    """Bytes that the host copies before the launch, to fill constant memory."""
    copy_seconds: float | None = 0.0
    """Time of that copy; None where the machine file has no copy bandwidth."""
    atomic: bool = False
    """Whether the kernel updates the array by atomics, whose cost transactions do not give."""


@dataclass(frozen=True)
class Counters:
    """N_ij of a placement."""

    placement: Placement
    arrays: tuple[ArrayCounters, ...]
    """The placed arrays in order, then those that the source itself has placed."""
    halves: tuple[Counters, ...] = ()
    """Counters from each half of the block sample; empty where a half has no access."""
    intensity: Intensity = "memory"
    """Whether memory or computation limits the kernel; it decides between a memory's two
    concurrency factors."""

    def array(self, name: str) -> ArrayCounters:
        """Counters of array ``name``; raises KeyError for an unknown one."""
        return {a.array: a for a in self.arrays}[name]


def full_placement(profile: Profile, placement: Placement) -> Placement:
    """``placement`` extended by the arrays that the source itself has placed."""
    placed = set(placement.arrays)
    fixed = tuple((a.name, a.fixed) for a in profile.arrays if a.fixed and a.name not in placed)
    return Placement(placement.spaces + fixed)


def occupies(array: ArrayProfile, memory: Memory) -> bool:
    """Whether the array's accesses put blocks into cache ``memory`` if their path leads there."""
    loads, stores = array.requests
    return (loads > 0 and memory.readable) or (stores > 0 and memory.writable)


def cache_sharers(profile: Profile, machine: Machine, placement: Placement) -> Mapping[str, int]:
    """Number of arrays that share each cache under ``placement``, by memory name."""
    sharers: Counter[str] = Counter()
    for name, space in full_placement(profile, placement):
        array = profile.array(name)
        sharers.update(m.name for m in machine.levels(space)[:-1] if occupies(array, m))
    return sharers


def misses(
    profile: Profile,
    array: ArrayProfile,
    memory: Memory,
    sharers: NDArray[np.int64],
    part: int,
    reading: Reading,
) -> NDArray[np.float64]:
    """(2, n) shares of all loads and of all stores that ``memory`` would miss, the array having a
    1/``sharers`` portion of it, for (n,) numbers of sharers. Kinds of access that bypass the memory
    always miss."""
    block = array.element_bytes if reading.unit == "element" else memory.block_bytes
    block = block or array.element_bytes
    rates = profile.miss_rates(
        array.name,
        memory,
        block_bytes=block,
        capacity_bytes=(memory.size_bytes or 0) / np.maximum(1, sharers),
    )
    at = TAGS if part == WHOLE else 2 * (part - 1)
    missed = rates[[at + LOAD, at + STORE]]
    missed[[not memory.readable, not memory.writable]] = 1.0
    return missed


def shares_reaching(
    profile: Profile,
    array: ArrayProfile,
    caches: Sequence[Memory],
    sharers: Sequence[NDArray[np.int64]],
    part: int,
    reading: Reading,
) -> NDArray[np.float64]:
    """(caches + 1, 2, n) shares of all loads and of all stores that reach each level of a path
    through ``caches`` (nearest first), and the memory behind them.

    ``sharers`` has for each cache the (n,) numbers of arrays that share it; n is the same for all,
    and 1 where there is no cache.
    """
    count = len(sharers[0]) if caches else 1
    reach = np.ones((len(caches) + 1, 2, count))
    for k, (cache, number) in enumerate(zip(caches, sharers, strict=True)):
        missed = misses(profile, array, cache, number, part, reading)
        reach[k + 1] = np.minimum(missed, reach[k])
    return reach


def _per_request(
    profile: Profile, array: ArrayProfile, memory: Memory, part: int, *, in_tile: bool
) -> tuple[float, float]:
    """Transactions per load and per store request if ``memory`` served them all."""
    counted = profile.transactions(array.name, memory, in_tile=in_tile)
    result = []
    for kind in (LOAD, STORE):
        tags = slice(kind, None, 2)
        if part != WHOLE and array.sampled[2 * (part - 1) + kind]:
            tags = slice(2 * (part - 1) + kind, 2 * (part - 1) + kind + 1)
        requests = array.sampled[tags].sum()
        result.append(float(counted[tags].sum() / requests) if requests else 0.0)
    return result[0], result[1]


def _level_counts(
    profile: Profile,
    array: ArrayProfile,
    memories: tuple[Memory, ...],
    sharers: Mapping[str, int],
    part: int,
    reading: Reading,
    *,
    tiled: bool,
) -> tuple[LevelCount, ...]:
    """Transactions of an array in each memory of its path, nearest first: each level sees what the
    one before missed."""
    lanes = float(array.sampled_lanes.sum() / max(1, array.sampled.sum()))
    caches = memories[:-1]
    numbers = [np.array([sharers.get(c.name, 1)]) for c in caches]
    shares = shares_reaching(profile, array, caches, numbers, part, reading)[:, :, 0].tolist()
    levels = []
    for memory, reach, on in zip(memories, shares, [*shares[1:], [0.0, 0.0]], strict=True):
        each = _per_request(profile, array, memory, part, in_tile=tiled)
        full = [n * e for n, e in zip(array.requests, each, strict=True)]
        arriving = [n * share for n, share in zip(full, reach, strict=True)]
        rate = None
        if memory is not memories[-1]:
            kind = LOAD if array.requests[LOAD] else STORE
            rate = on[kind] / reach[kind] if reach[kind] else None
        charged = [n * (a - b) for n, a, b in zip(full, reach, on, strict=True)]
        if reading.charge == "reaching":
            taken = (memory.readable, memory.writable)
            charged = [n if takes else 0.0 for n, takes in zip(arriving, taken, strict=True)]
        moved = memory.block_bytes or lanes * array.element_bytes / max(1e-300, max(each))
        levels.append(
            LevelCount(
                memory.name, charged[0], charged[1], sum(arriving), rate, sum(charged) * moved
            )
        )
    return tuple(levels)


def charged_transactions(
    profile: Profile,
    machine: Machine,
    name: str,
    space: str,
    sharers: Sequence[NDArray[np.int64]],
    *,
    reading: Reading | None = None,
) -> NDArray[np.float64]:
    """(levels, 2, n) load and store transactions N_ij of one array in the levels of ``space``,
    nearest first, without staging, for n combinations of numbers of sharers: ``sharers`` has for
    each cache (all levels but the last) the (n,) numbers of arrays in it."""
    reading = reading or Reading()
    array = profile.array(name)
    memories = machine.levels(space)
    tiled = machine.space(space).way.facts.per_block
    reach = shares_reaching(profile, array, memories[:-1], sharers, WHOLE, reading)
    each = np.array([_per_request(profile, array, m, WHOLE, in_tile=tiled) for m in memories])
    full = (each * np.array(array.requests))[:, :, None]
    if reading.charge == "reaching":
        taken = np.array([(m.readable, m.writable) for m in memories])
        reaching: NDArray[np.float64] = full * reach * taken[:, :, None]
        return reaching
    further = np.concatenate([reach[1:], np.zeros_like(reach[:1])])
    served: NDArray[np.float64] = full * (reach - further)
    return served


def array_counters(
    profile: Profile,
    machine: Machine,
    name: str,
    space: str,
    sharers: Mapping[str, int],
    *,
    reading: Reading | None = None,
    part: int = WHOLE,
) -> ArrayCounters:
    """Counters of one array in ``space``. ``sharers`` is the number of arrays that share each
    cache, this one included."""
    reading = reading or Reading()
    array = profile.array(name)
    where = machine.space(space)
    tiled = where.way.facts.per_block
    requests = sum(array.requests)
    memories = machine.levels(space)
    levels = _level_counts(profile, array, memories, sharers, part, reading, tiled=tiled)
    each = _per_request(profile, array, memories[0], part, in_tile=tiled)
    nearest = sum(r * e for r, e in zip(array.requests, each, strict=True))
    copied = array.bytes if where.way.facts.host_filled and array.fixed is None else 0
    bandwidth = machine.limits.copy_bandwidth_gb_per_s
    seconds = copied / (bandwidth * 1e9) if bandwidth else None
    result = ArrayCounters(
        name,
        space,
        where.path,
        requests,
        float(array.sampled_lanes.sum() / max(1, array.sampled.sum())),
        nearest / requests if requests else 0.0,
        levels,
        copy_bytes=copied,
        copy_seconds=seconds if copied else 0.0,
        atomic=array.atomic,
    )
    if not tiled or array.tile is None or not requests:
        return result
    staged = staging_traffic(profile, machine, array, array.tile, memories[-1])
    return replace(
        result,
        staging=staged.levels,
        staging_path=machine.direct_space.path,
        staging_bytes=staged.bytes,
    )


def counters(
    profile: Profile, machine: Machine, placement: Placement, *, reading: Reading | None = None
) -> Counters:
    """N_ij of all arrays of the profile under ``placement`` (chosen for ``machine``)."""
    everything = full_placement(profile, placement)
    sharers = cache_sharers(profile, machine, placement)

    def of(part: int) -> tuple[ArrayCounters, ...]:
        return tuple(
            array_counters(profile, machine, a, s, sharers, reading=reading, part=part)
            for a, s in everything
        )

    halves: tuple[Counters, ...] = ()
    if all(any(a.sampled[2 * h : 2 * h + 2].any() for a in profile.arrays) for h in (0, 1)):
        halves = tuple(
            Counters(placement, of(part), intensity=profile.intensity)
            for part in (FIRST_HALF, SECOND_HALF)
        )
    return Counters(placement, of(WHOLE), halves, profile.intensity)


def served_accesses(profile: Profile, machine: Machine) -> Mapping[str, tuple[float, float]]:
    """For each memory, by name, the number of warp accesses whose data come from it and the bytes
    that they move. Every array that may be placed is taken to be in global memory."""
    names = tuple(a.name for a in profile.arrays if a.fixed is None)
    placement = Placement.uniform(names, machine.direct_space.name)
    sharers = cache_sharers(profile, machine, placement)
    served: dict[str, tuple[float, float]] = {}
    for name, space in full_placement(profile, placement):
        counted = array_counters(profile, machine, name, space, sharers)
        for level in counted.levels:
            accesses, size = served.get(level.memory, (0.0, 0.0))
            each = max(1.0, counted.transactions_per_request)
            served[level.memory] = accesses + level.transactions / each, size + level.bytes
    return served
