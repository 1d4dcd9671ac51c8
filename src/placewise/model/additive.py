"""Models in which every transaction costs a fixed number of cycles: PORPLE's path model and the
latency-centric model before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine, Memory
from placewise.memory.reuse.counters import ArrayCounters, Counters
from placewise.memory.reuse.intensity import Intensity
from placewise.memory.reuse.staging import LevelCount
from placewise.model.base import PathTime, Prediction, Term
from placewise.space import MemorySpace

DEFAULT_ALPHA = 0.2
"""Chen et al. 2017, section 3.1.2: "we use 1 for constant memory and 0.2 for other types"."""
CONSTANT_ALPHA = 1.0
SHARED = "L2 and DRAM of all paths"
"""Name of the part of a prediction for the memories that all paths share, where paths are joint."""
ALPHAS = (0.1, 0.2, 0.5)
"""Every value that the paper uses for memories other than constant: 0.1 and 0.5 in Fig. 4 for
memory- and compute-intensive kernels, 0.2 in the experiments."""


@dataclass(frozen=True)
class AdditiveModel:
    """T(p) = Σ_i Σ_j N_ij · T_j · α_j for every path p, and a way to combine the paths."""

    name: str
    combine: Literal["max", "sum"]
    intensity: Intensity | None = None
    """Which of a memory's two concurrency factors applies. None: the one for the kernel's
    intensity, which its counters give."""
    alpha: float | None = None
    """Concurrency factor of all memories but constant, in place of the machine file's."""
    joint: bool = False
    """Whether the time is also bounded by the transactions of all paths together in the memories
    that they share: paths run at the same time, but one L2 and one DRAM serve them all."""
    varied: bool = True
    """Whether ``variants`` tries all concurrency factors that the paper uses."""

    def judging(self, intensity: Intensity) -> AdditiveModel:
        """The model for a kernel of this intensity; unchanged if ``intensity`` is set already."""
        return self if self.intensity is not None else replace(self, intensity=intensity)

    def concurrency(self, memory: Memory, machine: Machine) -> float:
        """α of a memory: the machine file's; where that has ``?``, the value of the paper's
        experiments."""
        if self.alpha is not None and memory.name not in machine.constant_memories:
            return self.alpha
        if memory.concurrency is not None:
            return memory.concurrency[1 if self.intensity == "compute" else 0]
        return CONSTANT_ALPHA if memory.name in machine.constant_memories else DEFAULT_ALPHA

    def weights(self, memory: Memory, machine: Machine) -> tuple[float, float]:
        """Cycles of one load and one store transaction in ``memory``: T_j · α_j."""
        alpha = self.concurrency(memory, machine)
        return memory.latency_cycles * alpha, memory.write_latency_cycles * alpha

    def total(self, paths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Time from the times of the paths, over the last axis."""
        combined: Any = paths.max(axis=-1) if self.combine == "max" else paths.sum(axis=-1)
        return np.asarray(combined, dtype=np.float64)

    def path_times(self, array: ArrayCounters, machine: Machine) -> dict[str, float]:
        """Cycles that one array adds to each of the ``path_names``."""
        times: dict[str, float] = {}
        shared = self._shared(machine)
        for path, term in self._terms(array, machine):
            times[path] = times.get(path, 0.0) + term.cycles
            if term.memory in shared:
                times[SHARED] = times.get(SHARED, 0.0) + term.cycles
        return times

    def cycles(
        self, charged: NDArray[np.float64], space: MemorySpace, machine: Machine
    ) -> dict[str, NDArray[np.float64]]:
        """(n,) cycles that an array in ``space`` adds to each of the ``path_names``, its tiles'
        traffic left out. ``charged`` (levels, 2, n) are its load and store transactions in the
        levels of the space, for n cases at once."""
        weights = np.array([self.weights(m, machine) for m in machine.levels(space.name)])
        each = (charged * weights[:, :, None]).sum(axis=1)
        shared = self._shared(machine)
        behind = np.array([name in shared for name in space.levels])
        times = {space.path: each.sum(axis=0)}
        if behind.any():
            times[SHARED] = each[behind].sum(axis=0)
        return times

    def staging_times(self, array: ArrayCounters, machine: Machine) -> dict[str, float]:
        """Cycles that filling an array's tiles, and copying them back, adds to each path."""
        return self.path_times(replace(array, levels=()), machine)

    def path_names(self, machine: Machine) -> tuple[str, ...]:
        """Names of the parts that can bound the time on ``machine``: its paths and, where these are
        ``joint``, the memories that they share."""
        paths = tuple(dict.fromkeys(space.path for space in machine.spaces))
        return (*paths, SHARED) if self._shared(machine) else paths

    def predict(self, counters: Counters, machine: Machine) -> Prediction:
        """Prediction for ``counters``; its uncertainty spans the variants of the model and the two
        halves of the block sample."""
        judging = self.judging(counters.intensity)
        total, parts = judging._evaluate(counters, machine)
        totals = [total]
        for model in judging.variants():
            for part in (counters, *counters.halves):
                totals.append(model._evaluate(part, machine)[0])
        return Prediction(self.name, total, parts, (min(totals), max(totals)), absolute=False)

    def variants(self) -> tuple[AdditiveModel, ...]:
        """The model with its own α first, then with each of the paper's."""
        if not self.varied:
            return (self,)
        return (self, *(replace(self, alpha=a, varied=False) for a in ALPHAS))

    def _evaluate(self, counters: Counters, machine: Machine) -> tuple[float, tuple[PathTime, ...]]:
        by_path: dict[str, list[Term]] = {}
        for array in counters.arrays:
            for path, term in self._terms(array, machine):
                by_path.setdefault(path, []).append(term)
        parts = [
            PathTime(path, sum(t.cycles for t in terms), tuple(terms))
            for path, terms in by_path.items()
        ]
        shared = self._shared(machine)
        asked = [sum(t.cycles for t in p.terms if t.memory in shared) for p in parts]
        if sum(cycles > 0.0 for cycles in asked) > 1:
            # No terms here: they are listed with the paths already.
            parts.append(PathTime(SHARED, sum(asked)))
        parts.sort(key=lambda part: -part.cycles)
        if not parts:
            return 0.0, ()
        return float(self.total(np.array([part.cycles for part in parts]))), tuple(parts)

    def _terms(self, array: ArrayCounters, machine: Machine) -> list[tuple[str, Term]]:
        def terms(
            path: str, levels: tuple[LevelCount, ...], staging: bool
        ) -> list[tuple[str, Term]]:
            result = []
            for level in levels:
                load, store = self.weights(machine.memory(level.memory), machine)
                cycles = level.loads * load + level.stores * store
                if level.transactions:
                    term = Term(array.array, level.memory, staging, level.transactions, cycles)
                    result.append((path, term))
            return result

        return terms(array.path, array.levels, False) + terms(
            array.staging_path, array.staging, True
        )

    def _shared(self, machine: Machine) -> frozenset[str]:
        """Memories that bound joint paths; none where the paths are not joint."""
        return machine.joint_memories if self.joint else frozenset()
