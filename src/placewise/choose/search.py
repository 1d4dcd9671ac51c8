"""Search for the best placements: PORPLE's hybrid (Chen et al. 2017, section 3.2).

If there are few placements, all are evaluated. If there are many, branch and bound finds the best.
If there are too many even for that, it gives up, and the best placement that it or greedy search
has found is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.choose.branch_bound import branch_and_bound
from placewise.choose.exhaustive import TIE, exhaustive, placements, ranked
from placewise.choose.greedy import greedy
from placewise.choose.legality import Legality
from placewise.choose.table import CostTable
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.reuse.counters import Counters, Reading, counters
from placewise.memory.reuse.profile import Profile
from placewise.model.additive import AdditiveModel
from placewise.model.base import Prediction
from placewise.model.uncertainty import Ratio, relative
from placewise.space import Placement

EXHAUSTIVE_UP_TO = 300_000
"""Up to this many combinations of legal spaces, all are evaluated; that takes about a second."""


@dataclass(frozen=True)
class Candidate:
    """One placement and what the model says of it."""

    placement: Placement
    present: bool
    """Whether the source has this placement now."""
    moves: tuple[tuple[str, str, str], ...]
    """(array, from, to) of every array that moves."""
    prediction: Prediction
    ratio: Ratio
    """Predicted time over that of the present placement."""
    counters: Counters
    occupancy: Occupancy

    @property
    def copy_bytes(self) -> int:
        """Bytes that the host has to copy before the launch."""
        return sum(a.copy_bytes for a in self.counters.arrays)

    @property
    def copy_seconds(self) -> float | None:
        """Seconds that those copies take; None where the machine file has no copy bandwidth."""
        seconds = [a.copy_seconds for a in self.counters.arrays]
        known = [s for s in seconds if s is not None]
        return sum(known) if len(known) == len(seconds) else None

    @property
    def staging_bytes(self) -> float:
        """Bytes that per-block tiles move in and out."""
        return sum(a.staging_bytes for a in self.counters.arrays)


def search(
    profile: Profile,
    legality: Legality,
    machine: Machine,
    model: AdditiveModel,
    *,
    limit: int = 20,
    reading: Reading | None = None,
    equals: bool = False,
) -> tuple[Candidate, ...]:
    """The ``limit`` best placements that are legal and fit, by predicted time, best first; the
    present one is always among them (behind the others where it is not one of the best).

    Every combination is evaluated if there are at most ``EXHAUSTIVE_UP_TO``. If there are more,
    only these are: the placements of branch and bound and of greedy search, the present one, and
    all that differ from one of these in one array. Ties go to fewer moves, then to fewer bytes
    copied. A placement with a move that changes nothing, among several moves, is listed only if
    ``equals``.
    """
    table = CostTable(profile, legality, machine, model, reading)
    table.prepare()
    if placements(table) <= EXHAUSTIVE_UP_TO:
        choice, _ = exhaustive(table, limit, equals=equals)
    else:
        best = _without_idle_moves(table, branch_and_bound(table).choice)
        starts = np.array([best, greedy(table), table.present])
        near = np.unique(np.concatenate([_neighbours(table, row) for row in starts]), axis=0)
        choice, _ = ranked(table, near, table.times(near), limit)

    chosen = [table.placement(row) for row in choice]
    if legality.present not in chosen:
        chosen.append(legality.present)
    return judged(chosen, profile, legality, machine, model, reading)


def judged(
    chosen: Iterable[Placement],
    profile: Profile,
    legality: Legality,
    machine: Machine,
    model: AdditiveModel,
    reading: Reading | None = None,
) -> tuple[Candidate, ...]:
    """The model's predictions for some placements, which are assumed to be legal and to fit."""
    present = counters(profile, machine, legality.present, reading=reading)
    candidates = []
    for placement in chosen:
        counted = counters(profile, machine, placement, reading=reading)
        candidates.append(
            Candidate(
                placement,
                placement == legality.present,
                placement.moved(legality.present),
                model.predict(counted, machine),
                relative(model, counted, present, machine),
                counted,
                legality.occupancy_of(placement),
            )
        )
    return tuple(candidates)


def combinations(legality: Legality) -> int:
    """Number of placements of legal choices that are searched, whether they fit together or not."""
    return math.prod(len(legality.searched(array)) for array in legality.arrays)


def _without_idle_moves(table: CostTable, choice: NDArray[np.int64]) -> NDArray[np.int64]:
    """``choice`` after undoing every move that does not shorten the time."""
    kept = choice.copy()
    least = table.times(kept[None])[0]
    for a, present in enumerate(table.present):
        undone = kept.copy()
        undone[a] = present
        if table.fits(undone[None])[0] and table.times(undone[None])[0] <= least * (1 + TIE):
            kept = undone
    return kept


def _neighbours(table: CostTable, choice: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, arrays) ``choice`` and every fitting placement that differs from it in one array."""
    rows = [choice]
    for a, spaces in enumerate(table.options):
        for o in range(len(spaces)):
            if o != choice[a]:
                row = choice.copy()
                row[a] = o
                rows.append(row)
    near = np.array(rows)
    return near[table.fits(near)]
