"""Machine code that the caches of instructions do not hold, and so is read through L2.

A block goes through the code, each line as often as its average warp executes it, in the order of
addresses. A loop whose code fits the last cache of instructions is fetched once, one that does not
is fetched piece by piece in every round. The caches nearer to the warps hold parts of the same and
are left out.

Blocks that run close together find what the first of them fetched. Where the last cache is an SM's
own, its resident blocks are taken to run in step. Where several SMs share it (Turing: those of a
graphics processing cluster, which recorded counters show: kernels of twice its size are fetched as
seldom as once for all of a cluster's SMs together), only a share of all blocks fetches for itself,
and that share is fitted: SMs whose blocks all do the same stay in step more than others.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.execute.result import Execution
from placewise.kernel.launch import Launch
from placewise.kernel.sass.instruction import INSTRUCTION_BYTES
from placewise.machine.machine import Machine, Memory
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.cache import Caches, Geometry, Int, access, new_caches
from placewise.memory.simulate.traffic import CodeTraffic

FETCHING_ALIKE, FETCHING_VARIED = 0.14, 0.28
"""Share of the blocks that fetch code for themselves, of those whose SMs share a cache of
instructions: where blocks all do the same, and where they differ along the way. Fitted on L2 reads
of an RTX 2080 Ti under eleven convolutions of even number with more than 46 KB of code, beside the
simulated reads of their arrays; ten of odd number are best at 0.10 and 0.25."""

_SIMULATED = 12
"""Times that code is gone through in the simulation; further ones are taken to be like the last
half of these."""


def instruction_cache(machine: Machine) -> Memory | None:
    """The SM's last cache of instructions; None where the machine's file names none."""
    return next((m for m in machine.memories if m.detail.holds == "instructions"), None)


def code_traffic(
    execution: Execution,
    launch: Launch,
    occupancy: Occupancy,
    machine: Machine,
    sector_bytes: int,
    *,
    alike: bool = True,
) -> CodeTraffic:
    """Sectors of machine code that all SMs together read in a launch; none where nothing is known
    of their instruction caches. ``execution`` is one of machine code; ``alike``: all blocks but the
    last ones execute the same (:mod:`placewise.memory.simulate.alike`)."""
    cache = instruction_cache(machine)
    if cache is None or not cache.size_bytes:
        return CodeTraffic()
    line_bytes = _line_bytes(cache)
    sms = min(machine.processor.sms, launch.blocks)
    resident = max(1, min(occupancy.blocks, -(-launch.blocks // sms)))
    executed = _line_executions(execution, launch, line_bytes)
    lines = np.flatnonzero(executed * resident * launch.warps_per_block >= 1.0)
    rounds = _rounds(lines, executed, cache.size_bytes // line_bytes)
    caches = min(sms, cache.detail.partitions or sms)
    if caches == sms:
        fetching = 1.0 / resident
    else:
        fetching = FETCHING_ALIKE if alike else FETCHING_VARIED
    passes = max(1.0, launch.blocks / caches * fetching)
    ways = cache.detail.ways or cache.size_bytes // line_bytes
    state = new_caches(
        [
            Geometry(
                1,
                max(1, cache.size_bytes // (line_bytes * ways)),
                ways,
                cache.detail.policy or "lru",
                cache.detail.way_probabilities,
            )
        ]
    )
    missed = [_pass(state, rounds) for _ in range(min(_SIMULATED, math.ceil(passes)))]
    later = float(np.mean(missed[len(missed) // 2 :]))
    of_cache = sum(missed[1:]) + (passes - len(missed)) * later
    sectors = caches * line_bytes / sector_bytes
    return CodeTraffic(missed[0] * sectors, max(0.0, of_cache) * sectors)


def exceeds_cache(execution: Execution, machine: Machine) -> bool:
    """Whether machine code that was executed is more than the last cache of instructions holds."""
    cache = instruction_cache(machine)
    if cache is None or not cache.size_bytes:
        return False
    line_bytes = _line_bytes(cache)
    lines = {c.place // line_bytes for c in execution.instruction_counts() if c.warps}
    return len(lines) * line_bytes > cache.size_bytes


def _line_bytes(cache: Memory) -> int:
    return cache.detail.line_bytes or cache.block_bytes or 128


def _line_executions(execution: Execution, launch: Launch, line_bytes: int) -> NDArray[np.float64]:
    """(lines,) how often the average warp executes each line of code."""
    warps = launch.blocks * launch.warps_per_block
    counts = execution.instruction_counts()
    last = max((c.place for c in counts), default=0) + INSTRUCTION_BYTES
    found = np.zeros(-(-last // line_bytes))
    for count in counts:
        line = count.place // line_bytes
        found[line] = max(found[line], count.warps / warps)
    return found


def _rounds(
    lines: NDArray[np.int64], executed: NDArray[np.float64], held: int
) -> list[tuple[NDArray[np.int64], float]]:
    """Sets of lines to go through, one after the other, and how often each.

    Once through all, then through those that are executed twice, and so on, while they are more
    lines than the cache holds.
    """
    rounds = [(lines, 1.0)]
    done = 1.0
    for times in np.unique(executed[lines]):
        more = lines[executed[lines] >= times]
        if times > done:
            if len(more) <= held:
                break
            rounds.append((more, float(times) - done))
            done = float(times)
    return rounds


def _pass(state: Caches, rounds: list[tuple[NDArray[np.int64], float]]) -> float:
    """Lines missed by going through the code once."""
    total = 0.0
    for lines, times in rounds:
        simulated = min(_SIMULATED, math.ceil(times))
        missed = [int(_missed(state, lines)) for _ in range(simulated)]
        later = missed[-1] * max(0.0, times - simulated)
        total += sum(missed) * min(1.0, times / simulated) + later
    return total


@njit(cache=True, nogil=True)
def _missed(state: Caches, lines: NDArray[np.int64]) -> Int:
    """Lines of a sequence that are not found in the cache."""
    missed = 0
    for k in range(lines.shape[0]):
        absent, _, _ = access(state, 0, 0, lines[k], 1, 1, 1)
        missed += absent
    return missed
