"""Which options are written out, run and timed, and which of them is recommended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from placewise.advisor.advice import ArrayFacts, Option
from placewise.advisor.forms.timed_form import TimedForm
from placewise.choose import Legality
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.space import MemorySpace, Placement

AS_GOOD = 0.02
"""Ratios that differ by less than this count as equal. Then the smallest edit wins, since code that
is harder to read must pay for itself."""

HOT = 0.2
"""Arrays that take at least this share of the time of memory accesses are tried in a tile."""
UNCHANGED = 0.995
"""A form whose ratio of times is at least this gains nothing: it would print as 1.00 times as
fast."""
SELDOM = 0.01
"""Arrays with a smaller share of the warp accesses are not tried in constant memory, or with the
read-only load, for the sake of the instructions that this saves."""
MOST_READ = 3
"""Number of arrays, the most read ones, that are tried alone with the read-only load."""
MISSES_NOTICED = 0.05
"""An option is not recommended if a larger share of an array's accesses misses the nearest constant
cache: predicted times have the latency of such misses, but not how few can be under way. A search
on an H100 whose table misses in 3 % of its accesses became 1.6 times as fast with warm caches and
1.8 times with flushed ones, predicted 1.43."""


@dataclass(frozen=True)
class Demand:
    """What a recommendation asks for."""

    probability: float = 0.9
    """Least probability that the form is faster, 0 to 1."""
    gain: float = 0.03
    """Least predicted gain: 0.03 is 1.03 times as fast."""

    def is_met(self, ratio: float, faster: float | None) -> bool:
        """Whether a predicted ratio of times, and the probability that the form is faster, are
        worth a move."""
        return faster is not None and faster >= self.probability and ratio * (1 + self.gain) <= 1.0


DEMAND = Demand()
"""What a recommendation asks for, unless the user says otherwise."""


def finalists(options: list[Option], present: Option, machine: Machine, number: int) -> list[int]:
    """Positions of the ``number`` options to prove. First comes the one to recommend, the smallest
    edit among those that are as good as the best; then the others by rank. Left out are

    - options with moves that gain nothing, since a part of their moves alone is as good, and moves
      that gain alone are tried together later;
    - moves of the same arrays by a larger edit, if they are no better: constant memory and tiles
      whose gain memory traffic does not show are tried by other rules;
    - options whose memory traffic takes as long as that of the present placement, or longer, if the
      present form is timed: other rules choose forms that gain by something else.
    """
    if not options or not number:
        return []
    good = [i for i, o in enumerate(options) if o.ratio <= options[0].ratio + AS_GOOD]
    simplest = min(good, key=lambda i: (edit_size(options[i], present, machine), i))
    most = 1.0 + AS_GOOD if present.rerun is None else UNCHANGED
    moves = [frozenset(o.placement.moved(present.placement)) for o in options]
    arrays = [frozenset(array for array, _, _ in own) for own in moves]
    sizes = [edit_size(o, present, machine) for o in options]

    def is_left_out(i: int) -> bool:
        as_good = [j for j, o in enumerate(options) if o.ratio <= options[i].ratio + AS_GOOD]
        idle = any(moves[j] < moves[i] for j in as_good)
        twin = any(arrays[j] == arrays[i] and (sizes[j], j) < (sizes[i], i) for j in as_good)
        return idle or twin or options[i].ratio > most

    rest = (i for i in range(len(options)) if i != simplest and not is_left_out(i))
    return [simplest, *islice(rest, number - 1)]


def operands(facts: Iterable[ArrayFacts], legality: Legality, machine: Machine) -> list[Placement]:
    """Placements that move one array into constant memory, from where instructions take operands
    without a load. A model of memory traffic does not see that this saves an instruction; the
    predicted time of the written form does."""
    constant = [s.name for s in machine.spaces if s.way.facts.host_filled]
    often = _often_read(facts, legality)
    return [
        placement
        for array, present in legality.present
        if array in often
        for space in legality.spaces(array)
        if space != present and space in constant
        if legality.fits(placement := legality.present.with_moves({array: space})) is None
    ]


def read_only(facts: Iterable[ArrayFacts], legality: Legality, machine: Machine) -> list[Placement]:
    """Placements that read one of the most read arrays by the read-only load; another one does so
    for all arrays that are read often, if these are more. Where all loads go through the same cache
    a model of memory traffic sees no difference; but the compiler may move such a load before a
    store, or leave out its repetition."""
    often = _often_read(facts, legality)
    spaces = [s.name for s in machine.spaces if _is_read_only(s)]
    found = []
    for space in spaces:
        able = [a for a in often if legality.present[a] != space and space in legality.spaces(a)]
        moved = [[array] for array in able[:MOST_READ]]
        moved += [able] if len(able) > MOST_READ else []
        found += [legality.present.with_moves(dict.fromkeys(arrays, space)) for arrays in moved]
    return [p for p in found if legality.fits(p) is None]


def _is_read_only(space: MemorySpace) -> bool:
    """Whether loads of a space differ from plain ones in nothing but the promise that no thread
    writes what they read."""
    return space.way.facts.by_load_function and not space.is_cache_hint


def _often_read(facts: Iterable[ArrayFacts], legality: Legality) -> list[str]:
    """Arrays with at least :data:`SELDOM` of the warp accesses, the most accessed first."""
    requests = {f.array: f.service.requests for f in facts if f.array in dict(legality.present)}
    least = SELDOM * sum(requests.values())
    return sorted((a for a in requests if requests[a] >= least), key=lambda a: -requests[a])


def hot_tiles(facts: Iterable[ArrayFacts], legality: Legality) -> list[Placement]:
    """Placements that move one array into a tile of each block's shared memory, for each array that
    takes much of the time of memory accesses. A model of memory traffic counts what the tile's fill
    costs, but not the latency that loads from it save."""
    shared = [s.name for s in legality.machine.spaces if s.way.facts.per_block]
    present = dict(legality.present)
    return [
        placement
        for array in (f.array for f in facts if f.share >= HOT)
        for space in shared
        if array in present and present[array] != space and space in legality.spaces(array)
        if legality.fits(placement := legality.present.with_moves({array: space})) is None
    ]


def private_copies(legality: Legality, view: SourceView) -> list[Placement]:
    """Placements that give an array that atomics update a copy in each block's shared memory. A
    model of memory traffic does not see how many atomics that saves at L2."""
    merged = [use.name for use in view.arrays if use.tile is not None and use.tile.merge]
    shared = [s.name for s in legality.machine.spaces if s.way.facts.per_block]
    return [
        legality.present.with_moves({array: space})
        for array in merged
        for space in shared
        if array in legality.arrays and space in legality.spaces(array)
    ]


def joined(
    options: Sequence[Option], chunked: Sequence[TimedForm], legality: Legality
) -> list[Placement]:
    """Placements that combine moves of single arrays which each gain by the form's own time. One
    has all these moves; another has the best of the tiles by chunks of a loop, ``chunked``, and
    these moves for the arrays without such tiles. These tiles need not gain alone: where an array
    that is updated in each turn of a loop limits the kernel, tiles of the others pay only once it
    is moved."""
    gaining = [o for o in options if o.proven and o.rerun and o.ratio <= 1.0 - AS_GOOD]
    best: dict[str, tuple[float, str]] = {}
    for option in gaining:
        moves = option.placement.moved(legality.present)
        if len(moves) == 1 and option.placement.chunk is None:
            array, _, space = moves[0]
            best[array] = min(best.get(array, (1.0, "")), (option.ratio, space))
    spaces = {array: space for array, (_, space) in best.items()}
    found = [legality.present.with_moves(spaces)] if len(best) > 1 else []
    if chunked:
        tiled = min(chunked, key=lambda f: f.ratio).placement
        kept = {array for array, _, _ in tiled.moved(legality.present)}
        others = {a: s for a, s in spaces.items() if a not in kept}
        if others:
            found.append(tiled.with_moves(others))
    return [p for p in found if legality.fits(p) is None]


def frequent_misses(option: Option, machine: Machine) -> tuple[str, float] | None:
    """An array that the option moves into constant memory and whose accesses miss the nearest cache
    there often, with the share that misses; None where there is none. The predicted time of the
    form takes these misses for latency alone."""
    constant = [s.name for s in machine.spaces if s.way.facts.host_filled]
    for reason in option.reasons:
        if option.rerun is None or reason.after.space not in constant or not reason.after.served:
            continue
        missed = 1.0 - reason.after.served[0][1]
        if missed > MISSES_NOTICED:
            return reason.array, missed
    return None


def recommended(
    chosen: list[Option], present: Option, machine: Machine, demand: Demand
) -> Option | None:
    """The option to recommend, or None.

    Proven options that meet the demand are compared by their own times where these are known. Of
    those within :data:`AS_GOOD` of the best, the smallest edit is chosen."""
    good = [
        o
        for o in chosen
        if o.proven and demand.is_met(o.ratio, o.judged.faster) and not frequent_misses(o, machine)
    ]
    compared = [o for o in good if o.rerun is not None] or good
    if not compared:
        return None
    least = min(o.ratio for o in compared)
    as_good = [o for o in compared if o.ratio <= least * (1 + AS_GOOD)]
    return min(as_good, key=lambda o: (edit_size(o, present, machine), o.ratio))


def simpler_than_first(recommended: Option, options: Sequence[Option]) -> str:
    """A sentence on why it is ``recommended`` and not the first of ``options``, which are ranked;
    empty where it is the first, or the first is better than as good."""
    first = options[0]
    as_good = first.proven and recommended.ratio <= first.ratio * (1 + AS_GOOD)
    if first.placement == recommended.placement or not as_good:
        return ""
    return " The first in the ranking is hardly faster, and changes more of the code."


def edit_size(option: Option, present: Option, machine: Machine) -> tuple[int, ...]:
    """How much of the code an option changes, as numbers to compare: first the sum, over the moved
    arrays, of the size of the edit that their new way of access takes, then the number of these
    arrays. A cache hint counts one more than a load without it, as it is inline assembly."""
    moves = option.placement.moved(present.placement)
    spaces = [machine.space(space) for _, _, space in moves]
    edits = sum(s.way.facts.edit_size + (s.hint is not None) for s in spaces)
    chunked = option.placement.buffers if option.placement.chunk else 0
    return edits + chunked, len(moves)
