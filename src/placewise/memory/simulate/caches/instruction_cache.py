"""Reads of machine code through L2, where it does not fit the instruction caches.

A block goes through the code, each line as often as its average warp executes it. A loop whose code
fits the last instruction cache is fetched once; a larger loop is fetched again in every iteration.
Instruction caches nearer to the warps are smaller and are left out.

Blocks that run close together find the code that the first of them fetched. If each SM has its own
last cache, its resident blocks are assumed to run in step. If several SMs share it, the result
depends on what limits the kernel's speed. (On Turing the SMs of a graphics processing cluster share
it: in recorded counters, kernels of twice its size are fetched as seldom as once for all SMs of a
cluster.)

- Blocks at unrelated places of the code ask for its lines in random order. With random replacement
  and independent requests, a line that a block executes t times is then found with probability
  tT / (1 + tT), where T has the value with which the cache is full (Fricker, Robert and Roberts, "A
  versatile and accurate approximation for LRU cache performance", 2012).
- If fetching code limits the speed, all blocks wait for the same lines and stay together. They also
  stay together if shared memory limits it and an SM holds few blocks.
- If DRAM limits the speed, as with spilled registers, blocks wait for DRAM and not for code: each
  line is fetched once for all blocks that the SMs hold.
- Blocks with less work than their neighbours end earlier and bring those that stay together out of
  step.

Which case applies follows from the work for one line of code: the instructions that the warps of an
SM issue, and the data that they move through shared memory, while each warp executes one line.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from placewise.executor.result import Execution
from placewise.kernel.binary.sass.instruction import INSTRUCTION_BYTES
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine, Memory
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.cache import Caches, lines_missed, new_caches
from placewise.memory.simulate.caches.geometry import Geometry
from placewise.memory.simulate.caches.hierarchy import shared_memory
from placewise.memory.simulate.metrics.traffic import CodeTraffic

APART, TOGETHER = 0.78, 0.24
"""Factors on the misses of blocks at unrelated places of the code, where SMs share an instruction
cache: APART for blocks that drift apart, TOGETHER for blocks that stay together. A block that lacks
a share of the others' work takes those that stay together as far towards APART. Fitted on L2 reads
of an RTX 2080 Ti under 45 convolutions of even number with more than 46 KB of code, by least
squares of relative errors; those of odd number lead to 0.66 and 0.20."""

FETCH_CYCLES = 45.0
"""Cycles from one line of code to the next if SMs wait for code. It is the least that these kernels
took, and the time of 128 bytes for each of eleven SMs at 32 bytes a cycle."""

_PACED = 2.5
"""Shared memory limits the speed if it is busy for more than this times the issue time."""
_IN_STEP = 2
"""Most blocks on an SM that stay together if shared memory limits the speed."""
_WARPS_IN_STEP = 4
"""Most warps of a scheduler that stay together if shared memory limits the speed, where each block
has a warp for every scheduler."""
_BISECTIONS = 60
_BANK_BYTES = 4

_SIMULATED = 12
"""Passes through the code that are simulated; further ones are assumed to be like the last half of
these."""


def instruction_cache(machine: Machine) -> Memory | None:
    """The last instruction cache; None where the machine file has none."""
    return next((m for m in machine.memories if m.detail.holds == "instructions"), None)


def code_traffic(
    execution: Execution,
    launch: Launch,
    occupancy: Occupancy,
    machine: Machine,
    sector_bytes: int,
    *,
    shared_wavefronts: float = 0.0,
    dram_sectors: float = 0.0,
    divergence: float = 0.0,
) -> CodeTraffic:
    """Sectors of machine code that all SMs together read in a launch; none where the machine file
    has no instruction cache. ``execution`` must be one of machine code; ``shared_wavefronts`` and
    ``dram_sectors`` are those of all accesses; ``divergence`` is the result of
    :func:`placewise.memory.simulate.schedule.block_divergence.block_divergence`."""
    cache = instruction_cache(machine)
    if cache is None or not cache.size_bytes:
        return CodeTraffic()
    line_bytes = _line_bytes(cache)
    sms = min(machine.processor.sms, launch.blocks)
    resident = max(1, min(occupancy.blocks, -(-launch.blocks // sms)))
    executed = _line_executions(execution, launch, line_bytes)
    lines = np.flatnonzero(executed * resident * launch.warps_per_block >= 1.0)
    held = cache.size_bytes // line_bytes
    caches = min(sms, cache.detail.partitions or sms)
    sectors = caches * line_bytes / sector_bytes
    if caches == sms:
        passes = max(1.0, launch.blocks / sms / resident)
        first, later = _own_cache(cache, _rounds(lines, executed, held), passes)
        return CodeTraffic(first * sectors, later * sectors)
    schedulers = machine.limits.schedulers_per_sm or 1
    issuing = execution.warp_instructions / schedulers
    moving = shared_wavefronts * _wavefront_cycles(machine)
    busy = max(issuing, moving)
    work = resident * busy / max(1.0, float(executed.sum())) / launch.blocks
    apart = missed_apart(executed[lines], held)
    # Each line is fetched once for all blocks that the SMs with a common cache hold.
    per_block = min(apart, len(lines) * caches / sms / resident)
    if apart and _dram_cycles(machine, dram_sectors * sector_bytes) <= busy / sms:
        warps = launch.warps_per_block
        few = schedulers <= warps and resident * warps <= _WARPS_IN_STEP * schedulers
        paced = (few or resident <= _IN_STEP) and moving > _PACED * issuing
        together = work < FETCH_CYCLES or paced
        share = TOGETHER + (APART - TOGETHER) * divergence if together else APART
        per_block = max(per_block, share * apart)
    later = max(0, launch.blocks - caches) * per_block * line_bytes / sector_bytes
    return CodeTraffic(len(lines) * sectors, later)


def _dram_cycles(machine: Machine, moved: float) -> float:
    """Cycles of an SM in which DRAM moves ``moved`` bytes; 0 where its bandwidth is not known."""
    rate, clock = machine.limits.dram_bandwidth_gb_per_s, machine.limits.clock_mhz
    return moved / (rate * 1e9) * clock * 1e6 if rate and clock else 0.0


def missed_apart(executed: NDArray[np.float64], held: int) -> float:
    """Number of lines that a block misses while it goes through the code, in a cache of ``held``
    lines that many blocks at unrelated places of the code share. ``executed`` (lines,) is how often
    the block executes each line."""
    if len(executed) <= held:
        return 0.0
    low, high = 0.0, 1.0
    while (executed * high / (1.0 + executed * high)).sum() < held:
        low, high = high, 2.0 * high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        found = (executed * middle / (1.0 + executed * middle)).sum()
        low, high = (middle, high) if found < held else (low, middle)
    return float((executed / (1.0 + executed * high)).sum())


def _wavefront_cycles(machine: Machine) -> float:
    """Cycles in which an SM serves a wavefront of shared memory."""
    memory = shared_memory(machine)
    banks = (memory.banks or 0) if memory else 0
    rates = (m.detail.bytes_per_cycle or 0.0 for m in machine.memories if m.scope == "sm")
    moved = max(rates, default=0.0)
    return max(1.0, banks * _BANK_BYTES / moved) if moved else 1.0


def _own_cache(
    cache: Memory, rounds: list[tuple[NDArray[np.int64], float]], passes: float
) -> tuple[float, float]:
    """Number of lines that an SM's own cache misses in the first of ``passes`` passes through the
    code, and in all further passes."""
    places = (cache.size_bytes or 0) // _line_bytes(cache)
    ways = cache.detail.ways or places
    policy, probabilities = cache.detail.policy or "lru", cache.detail.way_probabilities
    state = new_caches([Geometry(1, max(1, places // ways), ways, policy, probabilities)])
    missed = [_pass(state, rounds) for _ in range(min(_SIMULATED, math.ceil(passes)))]
    later = float(np.mean(missed[len(missed) // 2 :]))
    return missed[0], max(0.0, sum(missed[1:]) + (passes - len(missed)) * later)


def exceeds_cache(execution: Execution, machine: Machine) -> bool:
    """Whether the executed machine code is larger than the last instruction cache."""
    cache = instruction_cache(machine)
    if cache is None or not cache.size_bytes:
        return False
    line_bytes = _line_bytes(cache)
    lines = {c.place // line_bytes for c in execution.instruction_counts() if c.warps}
    return len(lines) * line_bytes > cache.size_bytes


def _line_bytes(cache: Memory) -> int:
    return cache.detail.line_bytes or cache.block_bytes or 128


def _line_executions(execution: Execution, launch: Launch, line_bytes: int) -> NDArray[np.float64]:
    """(lines,) number of times that the average warp executes each line of code."""
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
    """Sets of lines to go through one after the other, and how often to go through each.

    First all lines once, then those that are executed at least twice, and so on, as long as these
    are more lines than the cache holds.
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
    """Number of lines missed in one pass through the code."""
    total = 0.0
    for lines, times in rounds:
        simulated = min(_SIMULATED, math.ceil(times))
        missed = [int(lines_missed(state, lines)) for _ in range(simulated)]
        later = missed[-1] * max(0.0, times - simulated)
        total += sum(missed) * min(1.0, times / simulated) + later
    return total
