"""What every array costs in every space, for models in which arrays add up."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placewise.choose.capacity import limited_memories
from placewise.choose.costs import Costs, with_covers
from placewise.choose.legality import Legality
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import (
    Reading,
    array_counters,
    charged_transactions,
    occupies,
)
from placewise.memory.reuse.profile import Profile
from placewise.model.additive import AdditiveModel
from placewise.space import Placement


class CostTable:
    """Path times of each array in each legal space, by how many arrays share its caches.

    An array's time depends on the others only through the number of arrays in each cache, so a
    table over all such numbers has every time that a search can ask for.
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
        self.model = model.judging(profile.intensity)
        self.legality = legality
        self._profile = profile
        self._machine = machine
        self._reading = reading
        self.paths = model.path_names(machine)
        self.caches = tuple(dict.fromkeys(c for space in machine.spaces for c in space.levels[:-1]))
        fixed = [(a.name, a.fixed) for a in profile.arrays if a.fixed is not None]
        self._fixed = tuple(fixed)
        self.memories = limited_memories(machine)
        """Names of the memories whose room the arrays there share."""

    def prepare(self) -> None:
        """Compute all histograms that the table needs, on several cores."""
        wanted = []
        for array, spaces in self._everything():
            element = self._profile.array(array).element_bytes
            by_element = self._reading is not None and self._reading.unit == "element"
            for space in spaces:
                for memory in self._machine.levels(space)[:-1]:
                    block = element if by_element else memory.block_bytes or element
                    wanted.append((array, block, memory.scope))
        self._profile.prepare(wanted)

    @cached_property
    def costs(self) -> Costs:
        """The table as plain arrays; the arrays that the source has placed come last."""
        everything = self._everything()
        widest = max((len(spaces) for _, spaces in everything), default=1)
        shape = (len(everything), widest, len(self.caches))
        uses, stride = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        sizes = np.zeros((*shape[:2], len(self.memories)), np.int64)
        start = np.zeros(shape[:2], np.int64)
        filled = np.zeros(shape[:2], np.bool_)
        for a, (name, spaces) in enumerate(everything):
            for o, space in enumerate(spaces):
                uses[a, o] = self._caches_used(name, space)
                filled[a, o] = self._machine.space(space).way.facts.host_filled
                if a < len(self.arrays):
                    choice = self.legality.choice(name, space)
                    for m, memory in enumerate(self.memories):
                        taken = choice.taken_bytes if choice.memory == memory else 0
                        sizes[a, o, m] = taken
        # Most arrays that can be in each cache at once, plus one for a cache without any.
        most = uses.max(axis=1, initial=0).sum(axis=0) + 1
        rows, floors, used = [], [], 0
        for a, (name, spaces) in enumerate(everything):
            for o, space in enumerate(spaces):
                levels = [self.caches.index(c) for c in self._machine.space(space).levels[:-1]]
                grid = tuple(int(most[c]) for c in levels)
                cycles = self._cycles(name, space, grid)
                start[a, o] = used
                moved = 1
                for c, length in zip(reversed(levels), reversed(grid), strict=True):
                    stride[a, o, c] = moved
                    moved *= length
                rows.append(cycles.reshape(-1, len(self.paths)))
                floor = cycles
                for axis in range(len(grid)):
                    floor = np.flip(np.minimum.accumulate(np.flip(floor, axis), axis), axis)
                floors.append(floor.reshape(-1, len(self.paths)))
                used += len(rows[-1])
        none = np.zeros((0, len(self.paths)))
        room = np.array([self.legality.room(m) for m in self.memories], np.int64)
        takes, limits = with_covers(sizes, room)
        return Costs(
            options=np.array([len(spaces) for _, spaces in everything], np.int64),
            present=np.array([*self.present, *(0 for _ in self._fixed)], np.int64),
            uses=uses,
            stride=stride,
            start=start,
            cycles=np.ascontiguousarray(np.concatenate([none, *rows])),
            floor=np.ascontiguousarray(np.concatenate([none, *floors])),
            takes=takes,
            room=limits,
            host_filled=filled,
            sums=self.model.combine == "sum",
        )

    def path_times(self, choice: NDArray[np.int64]) -> NDArray[np.float64]:
        """(placements, paths) cycles, for ``choice`` (placements, arrays) of options."""
        costs, whole = self.costs, self._whole(choice)
        each = np.arange(whole.shape[1])
        counts = costs.uses[each, whole].sum(axis=1)
        rows = costs.start[each, whole] + (costs.stride[each, whole] * counts[:, None]).sum(axis=2)
        times: NDArray[np.float64] = costs.cycles[rows].sum(axis=1)
        return times

    def times(self, choice: NDArray[np.int64]) -> NDArray[np.float64]:
        """(placements,) predicted times, for ``choice`` (placements, arrays) of options."""
        return self.model.total(self.path_times(choice))

    def fits(self, choice: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(placements,) whether each placement's arrays fit together. The present placement always
        fits, whatever the limits say."""
        whole = self._whole(choice)
        each = np.arange(whole.shape[1])
        taken = self.costs.takes[each, whole].sum(axis=1)
        fit: NDArray[np.bool_] = (taken <= self.costs.room).all(axis=1)
        return fit

    def copied_bytes(self, choice: NDArray[np.int64]) -> NDArray[np.int64]:
        """(placements,) bytes that the host copies before the launch."""
        whole = self._whole(choice)
        each = np.arange(whole.shape[1])
        taken = self.costs.takes[each, whole, : len(self.memories)].sum(axis=2)
        copied: NDArray[np.int64] = (taken * self.costs.host_filled[each, whole]).sum(axis=1)
        return copied

    def moves(self, choice: NDArray[np.int64]) -> NDArray[np.int64]:
        """(placements,) arrays that are not where the source has them."""
        moved: NDArray[np.int64] = (choice != np.array(self.present)).sum(axis=1)
        return moved

    def placement(self, choice: NDArray[np.int64]) -> Placement:
        """One placement as a value."""
        picked = zip(self.arrays, self.options, choice.tolist(), strict=True)
        return Placement(tuple((a, spaces[o]) for a, spaces, o in picked))

    def _whole(self, choice: NDArray[np.int64]) -> NDArray[np.int64]:
        """``choice`` extended by the arrays that the source itself has placed."""
        return np.pad(choice, ((0, 0), (0, len(self._fixed))))

    def _everything(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every array with its options, those that the source has placed last."""
        placed = list(zip(self.arrays, self.options, strict=True))
        return placed + [(name, (space,)) for name, space in self._fixed]

    def _caches_used(self, array: str, space: str) -> NDArray[np.int64]:
        """(caches,) 1 where the array takes a portion of the cache."""
        held = self._profile.array(array)
        levels = {m.name for m in self._machine.levels(space)[:-1] if occupies(held, m)}
        return np.array([c in levels for c in self.caches], dtype=np.int64)

    def _cycles(self, array: str, space: str, grid: tuple[int, ...]) -> NDArray[np.float64]:
        """Cycles of an array in a space: (numbers of arrays in each of its caches, paths)."""
        numbers = [n.reshape(-1) for n in np.indices(grid)]
        charged = charged_transactions(
            self._profile, self._machine, array, space, numbers, reading=self._reading
        )
        where = self._machine.space(space)
        times = np.zeros((max(1, int(np.prod(grid))), len(self.paths)))
        for path, cycles in self.model.cycles(charged, where, self._machine).items():
            times[:, self.paths.index(path)] += cycles
        if where.way.facts.per_block:
            counted = array_counters(
                self._profile, self._machine, array, space, {}, reading=self._reading
            )
            staged = self.model.staging_times(counted, self._machine)
            for path, cycles_of_tiles in staged.items():
                times[:, self.paths.index(path)] += cycles_of_tiles
        return times.reshape(*grid, len(self.paths))
