"""All that is found of a memory path: its caches, its TLBs, and its latencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from placewise.errors import MachineError
from placewise.probe.chase import OutOfTimeError, ProbeDevice
from placewise.probe.infer.latencies import Survey, survey
from placewise.probe.infer.lines import capacity_lines, fetched_bytes, size_beyond
from placewise.probe.infer.policy import infer_policy
from placewise.probe.infer.sets import find_sets, full, sectors_per_line, sharers
from placewise.probe.infer.structure import NO_TIME, NOT_LOOKED_AT, Structure, labels_of, mapping
from placewise.probe.infer.view import View, false_rate

_STRIDE = 256
"""Bytes; at least a line, so that each load of a survey is of another line."""
_FINER = (32, 64, 128)
_ELEMENT = 4
_PAGE_STEP = 1 << 16
"""Smallest page that is looked for: GPUs have 64 KB or 2 MB for device memory."""
_PAGES = 1024
"""Most loads of a chase whose loads are a page apart."""
_SPREAD = 128
"""Bytes that loads a page apart are moved by, one to the next: a line of the last cache."""
_FEWEST = 32
"""Fewest loads, a page apart, from which a TLB can be seen."""
_PART = 16
"""Loads that are to hit in the last cache use at most one in so many of its lines."""
_HELD = 0.02
"""Largest share of loads that miss the last cache while an array still counts as fitting."""
_MARGIN = 1.25
"""Factor above the slowest latency from which a load is an outlier."""
_WIDE = 2.0
"""Factor above the slowest latency from which a load is an outlier, where TLBs may add latency that
is not looked for."""
_HUGE = 200_000
"""Lines of a cache above which only half as many of its sets are examined."""
_NO_MEMBER = "lines that should share a set could not be told from the others"


@dataclass(frozen=True)
class Plan:
    """What to look for."""

    tlbs: bool = True
    levels: int | None = None
    """Caches, nearest first, that are taken apart; of others only the latency is found."""
    most_sets: int = 128
    """Sets of a cache that are looked at one by one; of caches with more, some."""
    sampled_sets: int = 8
    """Sets examined in a cache with more sets; half as many if it has more than ``_HUGE`` lines,
    since each then takes long."""
    slowest_cycles: float = 0.0
    """Latency of a load from DRAM, where all arrays are too small to show it: the first load of a
    line takes as long and is no outlier."""
    seed: int = 0


@dataclass(frozen=True)
class Hierarchy:
    """Levels nearest to the cores first."""

    caches: tuple[Structure, ...]
    memory_cycles: float
    tlbs: tuple[Structure, ...] = ()
    walk_cycles: float = 0.0
    """Cycles that a load takes longer if no TLB holds its page."""
    doubts: tuple[str, ...] = ()


def infer_hierarchy(
    device: ProbeDevice,
    plan: Plan = Plan(),
    progress: Callable[[str], None] = lambda _: None,
) -> Hierarchy:
    """Find caches and TLBs by timed chases alone.

    Once the latencies are known, a device that refuses a chase with OutOfTimeError ends the search:
    what was not taken apart by then says so. Raises MachineError where the timings show no latency
    that many loads share.
    """
    progress("latencies")
    seen = survey(device, stride=_STRIDE, finer=_FINER)
    levels = len(seen.cycles) - 1
    tlbs: tuple[Structure, ...] = ()
    walk = 0.0
    caches: list[Structure] = []
    late: tuple[str, ...] = ()
    try:
        if plan.tlbs:
            progress("TLBs")
            tlbs, walk = _tlbs(device, seen, plan)
        page = min((t.line_bytes for t in tlbs if t.line_bytes), default=None)
        margin = _MARGIN if plan.tlbs else _WIDE
        high = margin * max(seen.cycles[-1] + walk, plan.slowest_cycles)
        for level in range(levels if plan.levels is None else min(plan.levels, levels)):
            progress(f"cache {level + 1} of {levels}")
            nearer = 0
            if level > device.bypasses:
                nearer = (caches[-1].capacity_bytes or 0) // (caches[-1].line_bytes or 1)
            caches.append(_cache(device, seen, level, high, page, nearer, plan))
    except OutOfTimeError:
        late = (NO_TIME,)
    others = late or (NOT_LOOKED_AT,)
    caches += [Structure(cycles, doubts=others) for cycles in seen.cycles[len(caches) : levels]]
    low = any(s.doubts not in ((), (NOT_LOOKED_AT,)) for s in (*caches, *tlbs))
    doubts = ("a level that is not understood may be two",) if low else ()
    return Hierarchy(tuple(caches), seen.cycles[-1], tlbs, walk, (*doubts, *late))


def _cache(
    device: ProbeDevice,
    seen: Survey,
    level: int,
    high: float,
    page: int | None,
    nearer: int,
    plan: Plan,
) -> Structure:
    latency = seen.cycles[level]
    bypass = min(level, device.bypasses)
    view = View(
        device, _ELEMENT, seen.between(level), high, bypass=bypass, page_bytes=page, seed=plan.seed
    )
    view = replace(view, false=false_rate(view))
    size = size_beyond(seen, level)
    piece = fetched_bytes(view, size, _ELEMENT) if size else None
    if piece is None:
        return Structure(latency, doubts=("no load was seen to miss",))
    return _structure(replace(view, stride=piece), latency, plan, nearer)


def _pages(seen: Survey) -> int:
    """Loads, a page apart, that the last cache holds in any case."""
    held = seen.sizes[seen.shares[:, -1] < _HELD]
    return min(_PAGES, int(held[-1]) // (_PART * _SPREAD)) if len(held) else 0


def _tlbs(device: ProbeDevice, cached: Survey, plan: Plan) -> tuple[tuple[Structure, ...], float]:
    pages = _pages(cached)
    found: list[Structure] = []
    stride, nearer = _PAGE_STEP, 0
    known = cached
    while stride * _FEWEST <= device.reach_bytes and pages:
        try:
            seen = survey(device, stride=stride, spread=_SPREAD, bypass=device.bypasses, most=pages)
        except MachineError:
            break
        level = len(found)
        if len(seen.cycles) <= level + 1:
            stride *= 2
            continue
        known = seen
        view = _tlb_view(device, stride, seen, level, cached.cycles[-1], plan)
        size = size_beyond(seen, level)
        page = fetched_bytes(view, size, stride) if size else None
        if page is None:
            break
        stride = page
        view = _tlb_view(device, stride, seen, level, cached.cycles[-1], plan)
        found.append(_structure(view, seen.cycles[level] - seen.cycles[0], plan, nearer))
        nearer = (found[-1].capacity_bytes or 0) // page
    return tuple(found), known.cycles[-1] - known.cycles[0] if found else 0.0


def _tlb_view(
    device: ProbeDevice, stride: int, seen: Survey, level: int, memory: float, plan: Plan
) -> View:
    """View of a TLB level. The first load of a line misses the caches, too, and counts as a
    miss."""
    walk = seen.cycles[-1] - seen.cycles[0]
    view = View(
        device,
        stride,
        seen.between(level),
        _MARGIN * (memory + walk),
        spread=_SPREAD,
        bypass=device.bypasses,
        seed=plan.seed,
    )
    return replace(view, false=false_rate(view))


# One branch for each property that a level may or may not show.
def _structure(view: View, latency: float, plan: Plan, nearer: int) -> Structure:
    """Structure of the level that ``view``, in pieces as they are fetched, looks at."""
    pieces = capacity_lines(view)
    if pieces is None:
        return Structure(latency, sector_bytes=view.stride, doubts=("no array was too large",))
    partial = Structure(latency, pieces * view.stride, view.stride)
    members = sharers(view, np.arange(pieces), pieces)
    if not len(members):
        return replace(partial, doubts=(_NO_MEMBER,))
    q = 1 if view.spread else sectors_per_line(view, pieces, pieces, members)
    if pieces % q or not (members // q * q == members - members % q).all():
        return replace(partial, doubts=(_NO_MEMBER,))
    lines = pieces // q
    by_line = replace(view, stride=view.stride * q)
    sampled = plan.sampled_sets if lines <= _HUGE else plan.sampled_sets // 2
    sets = find_sets(by_line, lines, most=plan.most_sets, sampled=sampled)
    if not sets.members:
        return replace(partial, doubts=(_NO_MEMBER,))
    doubts = []
    sizes = [len(m) for m in sets.members]
    if sets.overlap:
        doubts.append("a line seems to lie in two sets")
    filled = len(sets.lines) > lines
    if sets.all:
        ways = tuple(sizes)
        if sum(sizes) != len(sets.lines):
            doubts.append("the sets do not add up to the capacity")
    else:
        ways = (sizes[0],) * (lines // sizes[0])
        if len(set(sizes)) > 1 or lines % sizes[0]:
            doubts.append("sets are of several sizes, and not all were looked at")
    first = min(range(len(sizes)), key=lambda k: (sizes[k], int(sets.members[k][0])))
    if not filled and not full(by_line, lines):
        doubts.append("it holds more than consecutive lines can fill")
    rest = np.setdiff1d(np.arange(lines), sets.members[first])
    policy = infer_policy(by_line, sets.members[first], sets.others[first], rest, nearer)
    if policy.doubt:
        doubts.append(policy.doubt)
    index, run = mapping(sets.members, sets.others, lines, len(ways))
    if index == "table" and not sets.all:
        # One of them may be of another size, and the sum fit all the same.
        doubts.append("lines follow no rule to their sets, of which some were looked at")
    labels = labels_of(sets.members, lines) if sets.all and not sets.overlap else ()
    return replace(
        partial,
        capacity_bytes=len(sets.lines) * by_line.stride,
        line_bytes=by_line.stride,
        ways=ways,
        policy=policy.name,
        way_probabilities=policy.probabilities,
        index=index,
        run=run,
        labels=labels,
        doubts=tuple(doubts),
    )
