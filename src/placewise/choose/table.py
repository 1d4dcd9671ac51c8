"""What every array costs in every space, for models in which arrays add up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from placewise.choose.legality import Legality
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import Reading, array_counters, occupies
from placewise.memory.reuse.profile import Profile
from placewise.model.additive import AdditiveModel
from placewise.space import Placement


class CostTable:
    """Path times of each array in each legal space, by how many arrays share its caches.

    An array's time depends on the others only through the number of arrays in each cache, so the
    table holds few entries and fills as they are asked for.
    """

    def __init__(
        self,
        profile: Profile,
        legality: Legality,
        machine: Machine,
        model: AdditiveModel,
        reading: Reading | None = None,
    ) -> None:
        self.arrays = legality.arrays
        self.options = tuple(legality.searched(a) for a in self.arrays)
        self.present = tuple(
            spaces.index(legality.present[a])
            for a, spaces in zip(self.arrays, self.options, strict=True)
        )
        self.model = model
        self.legality = legality
        self._profile = profile
        self._machine = machine
        self._reading = reading
        self.paths = model.path_names(machine)
        self.caches = tuple(dict.fromkeys(c for space in machine.spaces for c in space.levels[:-1]))
        fixed = [(a.name, a.fixed) for a in profile.arrays if a.fixed is not None]
        self._fixed = tuple(fixed)
        self.fixed_uses: NDArray[np.int64] = np.zeros(len(self.caches), np.int64)
        for name, space in fixed:
            self.fixed_uses += self._caches_used(name, space)
        self.uses = tuple(
            tuple(self._caches_used(a, s) for s in spaces)
            for a, spaces in zip(self.arrays, self.options, strict=True)
        )
        """Per array and option: (caches,) 1 where the array takes a portion of the cache."""
        self.sizes = tuple(
            np.array(
                [
                    (c.constant_bytes, c.shared_bytes)
                    for c in (legality.choice(a, s) for s in spaces)
                ],
                dtype=np.int64,
            )
            for a, spaces in zip(self.arrays, self.options, strict=True)
        )
        """Per array: (options, 2) bytes of constant and of shared memory."""
        self._costs: dict[tuple[str, str, tuple[int, ...]], NDArray[np.float64]] = {}

    def prepare(self) -> None:
        """Have every histogram that the table needs worked out ahead, on several cores."""
        wanted = []
        for array, spaces in (*zip(self.arrays, self.options, strict=True), *self._fixed_options()):
            element = self._profile.array(array).element_bytes
            by_element = self._reading is not None and self._reading.unit == "element"
            for space in spaces:
                for memory in self._machine.levels(space)[:-1]:
                    block = element if by_element else memory.block_bytes or element
                    wanted.append((array, block, memory.scope))
        self._profile.prepare(wanted)

    def cost(self, array: int, option: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """(paths,) cycles of an array in one of its options, with ``counts`` (caches,) arrays in
        each cache, the array itself among them."""
        return self._cost(self.arrays[array], self.options[array][option], counts)

    def counts(self, choice: NDArray[np.int64]) -> NDArray[np.int64]:
        """(placements, caches) arrays in each cache, for ``choice`` (placements, arrays)."""
        counts = np.tile(self.fixed_uses, (len(choice), 1))
        for a, uses in enumerate(self.uses):
            counts += np.array(uses)[choice[:, a]]
        return counts

    def path_times(self, choice: NDArray[np.int64]) -> NDArray[np.float64]:
        """(placements, paths) cycles, for ``choice`` (placements, arrays) of options."""
        counts = self.counts(choice)
        radix = len(self.arrays) + len(self._fixed) + 1
        times = np.zeros((len(choice), len(self.paths)))
        for a, spaces in enumerate(self.options):
            for o, space in enumerate(spaces):
                rows = np.flatnonzero(choice[:, a] == o)
                self._accumulate(times, rows, self.arrays[a], space, counts, radix)
        for name, space in self._fixed:
            self._accumulate(times, np.arange(len(choice)), name, space, counts, radix)
        return times

    def fits(self, choice: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(placements,) whether each placement's arrays fit together."""
        totals = np.zeros((len(choice), 2), np.int64)
        for a, sizes in enumerate(self.sizes):
            totals += sizes[choice[:, a]]
        different, which = np.unique(totals, axis=0, return_inverse=True)
        fit = [self.legality.over(int(c), int(s)) is None for c, s in different]
        # What the present placement takes is in use already, whatever the limits say.
        fit = [f or not (c or s) for f, (c, s) in zip(fit, different.tolist(), strict=True)]
        return np.array(fit, dtype=np.bool_)[which.reshape(-1)]

    def moves(self, choice: NDArray[np.int64]) -> NDArray[np.int64]:
        """(placements,) arrays that are not where the source has them."""
        moved: NDArray[np.int64] = (choice != np.array(self.present)).sum(axis=1)
        return moved

    def placement(self, choice: NDArray[np.int64]) -> Placement:
        """One placement as a value."""
        picked = zip(self.arrays, self.options, choice.tolist(), strict=True)
        return Placement(tuple((a, spaces[o]) for a, spaces, o in picked))

    def _fixed_options(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(name, (space,)) for name, space in self._fixed]

    def _caches_used(self, array: str, space: str) -> NDArray[np.int64]:
        held = self._profile.array(array)
        levels = {m.name for m in self._machine.levels(space)[:-1] if occupies(held, m)}
        return np.array([c in levels for c in self.caches], dtype=np.int64)

    def _accumulate(
        self,
        times: NDArray[np.float64],
        rows: NDArray[np.int64],
        array: str,
        space: str,
        counts: NDArray[np.int64],
        radix: int,
    ) -> None:
        """Add one array's cycles to the rows whose placement has it in ``space``."""
        if not len(rows):
            return
        levels = [self.caches.index(c) for c in self._machine.space(space).levels[:-1]]
        code = np.zeros(len(rows), np.int64)
        for cache in levels:
            code = code * radix + counts[rows, cache]
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        costs = np.stack([self._cost(array, space, counts[rows[k]]) for k in first])
        times[rows] += costs[which]

    def _cost(self, array: str, space: str, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        levels = self._machine.space(space).levels[:-1]
        sharers: Mapping[str, int] = {c: int(counts[self.caches.index(c)]) for c in levels}
        key = (array, space, tuple(sharers.values()))
        if key not in self._costs:
            counted = array_counters(
                self._profile, self._machine, array, space, sharers, reading=self._reading
            )
            times = self.model.path_times(counted, self._machine)
            self._costs[key] = np.array([times.get(path, 0.0) for path in self.paths])
        return self._costs[key]
