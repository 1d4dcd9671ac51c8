"""A simulated target: it answers a whole probe as the GPU of a machine file might.

What the file leaves open (ways, policies, TLBs, the DRAM's mapping, paces of instructions) is drawn
from a seed or set to something: the point is that a probe does not know it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.machine.machine import Machine, Memory, Tlb
from placewise.machine.opcode_pipes import pipes_of, timing_of
from placewise.probe.chase import Chase, Timings
from placewise.probe.simulated.chases import (
    Noise,
    SimulatedCache,
    SimulatedDevice,
    SimulatedHierarchy,
)
from placewise.probe.simulated.dram import NOISE, SimulatedDram, SimulatedPairs
from placewise.probe.target import BankTimes, DeviceFacts, InstructionTimes, StreamTimes

_PAGE = 1 << 21
_LARGEST_REACH = 1 << 33
_LANES = 32
_BANK_BYTES = 4
_MOST_WAYS = 32
_LOOP_CYCLES = 30.0
"""Cycles between two loads of a chase, beside the load itself."""
_IN_FLIGHT_BYTES = 2048
"""Bytes in flight of one streaming warp: four vectors of 16 bytes for each lane."""
_OF_PEAK = 0.9
_LAUNCH_NS = 2000.0
_ALU_CYCLES = 4.0


class SimulatedTarget:
    """A simulated GPU that a probe can measure, see :class:`placewise.probe.target.ProbeTarget`."""

    def __init__(self, machine: Machine, *, seed: int = 0, noise: Noise = NOISE) -> None:
        self.machine = machine
        self.seed = seed
        self.noise = noise
        self._random = np.random.default_rng(seed)
        self._clock_hz = (machine.limits.clock_mhz or 1000.0) * 1e6
        self._seconds = 0.0
        self.tlbs = machine.tlbs or _drawn_tlbs(np.random.default_rng([seed, 1]))
        self.dram = _dram(machine, np.random.default_rng([seed, 2]))

    @property
    def facts(self) -> DeviceFacts:
        machine, limits = self.machine, self.machine.limits
        l2 = next((m for m in machine.memories if m.name == "L2"), None)
        home = machine.levels("global")[-1]
        constant = next((m for m in machine.memories if m.name == "constantMem"), None)
        return DeviceFacts(
            name=f"simulated {machine.title}",
            compute_capability=limits.compute_capability,
            sms=machine.processor.sms,
            clock_mhz=limits.clock_mhz,
            memory_bytes=home.size_bytes or 1 << 32,
            l2_bytes=(l2.size_bytes if l2 else None) or 1 << 20,
            constant_bytes=(constant.size_bytes if constant else None) or 1 << 16,
            max_threads_per_block=limits.max_threads_per_block,
            max_block=limits.max_block,
            max_grid=limits.max_grid,
            max_threads_per_sm=limits.max_threads_per_sm,
            max_blocks_per_sm=limits.max_blocks_per_sm,
            registers_per_sm=limits.registers_per_sm,
            shared_bytes_per_block=limits.shared_bytes_per_block,
            shared_bytes_per_sm=limits.shared_bytes_per_sm,
            dram_gb_per_s=limits.dram_bandwidth_gb_per_s,
        )

    def elapsed_s(self) -> float:
        return self._seconds

    def chaser(self, path: str) -> _Chaser:
        if path == "shared":
            return _Chaser(self, SimulatedHierarchy((), self._shared().latency_cycles), 0, 1 << 15)
        levels = self.machine.levels(path)
        caches = tuple(_cache(level) for level in levels[:-1])
        home = levels[-1]
        virtual = 1 if len(caches) > 1 else 0
        tlbs = tuple(
            SimulatedCache(
                tlb.page_bytes or _PAGE,
                tlb.ways or (tlb.entries or 16,),
                tlb.latency_cycles or 0.0,
            )
            for tlb in self.tlbs
        )
        walk = next((t.walk_cycles for t in self.tlbs if t.walk_cycles is not None), 200.0)
        hierarchy = SimulatedHierarchy(caches, home.latency_cycles, tlbs, walk, virtual)
        reach = min(home.size_bytes or _LARGEST_REACH, _LARGEST_REACH)
        if path == "constant":
            hierarchy = replace(hierarchy, tlbs=())
        return _Chaser(self, hierarchy, virtual if path == "global" else 0, _power(reach))

    def pairs(self) -> SimulatedPairs:
        return SimulatedPairs(self.dram, noise=self.noise, seed=self.seed)

    def banks(self, stride: int, width: int) -> BankTimes:
        memory = self._shared()
        wavefronts = bank_wavefronts(stride, width, memory.banks or _LANES)
        added = memory.detail.conflict_cycles or 2.0
        latency = memory.latency_cycles + added * (wavefronts - 1)
        return BankTimes(stride, width, self._noisy(latency), self._noisy(float(wavefronts)))

    def instruction(self, name: str) -> InstructionTimes:
        opcode = name.replace("_", ".")
        own, pipes = timing_of(self.machine, opcode), pipes_of(self.machine, opcode)
        latencies = [own.latency_cycles if own else None, *(p.latency_cycles for p in pipes)]
        lanes = own.lanes_per_cycle if own else None
        lanes = lanes or sum(p.lanes_per_cycle or 0.0 for p in pipes)
        return InstructionTimes(
            opcode,
            self._noisy(next((c for c in latencies if c is not None), _ALU_CYCLES)),
            self._noisy(lanes or float(self.machine.processor.cores_per_sm)),
        )

    def stream(self, level: str, warps_per_sm: int) -> StreamTimes:
        sms = self.machine.processor.sms
        hz = self._clock_hz / 1e9
        levels = self.machine.levels("global")
        memory = {"L1": levels[0], "L2": levels[-2], "DRAM": levels[-1]}[level]
        dram = self.machine.limits.dram_bandwidth_gb_per_s or 100.0
        moved = memory.detail.bytes_per_cycle
        peak = {
            "L1": sms * hz * (moved or 64.0),
            "L2": hz * moved if moved else 3.0 * dram,
            "DRAM": _OF_PEAK * dram,
        }[level]
        waiting = warps_per_sm * sms * _IN_FLIGHT_BYTES / memory.latency_cycles * hz
        return StreamTimes(level, warps_per_sm, self._noisy(min(peak, waiting)))

    def launch_ns(self) -> float:
        return self._noisy(self.machine.limits.launch_overhead_ns or _LAUNCH_NS)

    def took(self, loads: int, cycles: float) -> None:
        """Add the time of ``loads`` loads of ``cycles`` each to the clock."""
        self._seconds += loads * (cycles + _LOOP_CYCLES) / self._clock_hz

    def _shared(self) -> Memory:
        return self.machine.levels("shared")[-1]

    def _noisy(self, value: float) -> float:
        return value * float(self._random.normal(1.0, self.noise.spread / 4))


class _Chaser:
    def __init__(
        self, target: SimulatedTarget, hierarchy: SimulatedHierarchy, bypasses: int, reach: int
    ) -> None:
        self._target = target
        self._device = SimulatedDevice(
            hierarchy, noise=target.noise, reach_bytes=reach, bypasses=bypasses, seed=target.seed
        )
        self.reach_bytes = reach
        self.bypasses = bypasses

    def run(self, chase: Chase) -> Timings:
        before = self._device.loads
        timings = self._device.run(chase)
        self._target.took(self._device.loads - before, float(np.mean(timings.cycles)))
        return timings


def bank_wavefronts(stride: int, width: int, banks: int) -> int:
    """Wavefronts of a warp's access: lanes of 8 bytes go in halves, of 16 in quarters; in each, as
    many as different words of one bank."""
    words = width // _BANK_BYTES
    wavefronts = 0
    for part in np.split(np.arange(_LANES), words):
        touched = np.unique(part[:, None] * stride * words + np.arange(words))
        wavefronts += int(np.bincount(touched % banks).max())
    return wavefronts


def _cache(memory: Memory) -> SimulatedCache:
    detail = memory.detail
    line = detail.line_bytes or memory.block_bytes
    if line is None or memory.size_bytes is None:
        raise MachineError(f"size or line of {memory.name} are not known: it cannot be simulated")
    ways, sets = _shape(memory.size_bytes // line, detail.ways)
    policy = detail.policy or "lru"
    if policy == "aged":
        # What is drawn among old lines alone is not inferred from misses.
        policy = "lru"
    if policy == "plru" and ways & (ways - 1):
        policy = "lru"
    weights = detail.way_probabilities if len(detail.way_probabilities) == ways else ()
    return SimulatedCache(
        line,
        (ways,) * sets,
        memory.latency_cycles,
        detail.sector_bytes,
        "random" if policy == "weighted" and not weights else policy,
        weights,
        hashed=detail.index == "hashed" and sets > 1 and sets & (sets - 1) == 0,
    )


def _shape(lines: int, ways: int | None) -> tuple[int, int]:
    """Ways and sets of a cache of about ``lines`` lines, many sets where nothing is known."""
    if ways is not None and ways <= lines:
        return ways, lines // ways
    few = min(lines, 4)
    some = next((w for w in range(few, min(lines, _MOST_WAYS) + 1) if lines % w == 0), few)
    return some, lines // some


def _drawn_tlbs(random: np.random.Generator) -> tuple[Tlb, ...]:
    first = int(random.integers(12, 33))
    second = int(random.integers(3, 9)) * 16
    walk = float(random.integers(150, 300))
    return (
        Tlb("first", first, (first,), _PAGE, latency_cycles=0.0),
        Tlb("second", second, (8,) * (second // 8), _PAGE, latency_cycles=80.0, walk_cycles=walk),
    )


def _dram(machine: Machine, random: np.random.Generator) -> SimulatedDram:
    known = machine.dram
    if known is not None and known.row_bits and known.bank_hashes:
        bits = max(known.row_bits) + 1
        hit = known.hit_ns or 300.0
        miss, conflict = known.miss_ns or 1.4 * hit, known.conflict_ns or 1.9 * hit
        hashes = (*known.bank_hashes, *known.channel_hashes)
        return SimulatedDram(bits, known.row_bits, hashes, hit, miss, conflict)
    rows = tuple(range(16, 30))
    banks: NDArray[np.int64] = np.sort(random.choice(np.arange(7, 15), 5, replace=False))
    hashes = tuple(
        sum(1 << b for b in (bank, *random.choice(rows, 2, replace=False).tolist()))
        for bank in banks.tolist()
    )
    return SimulatedDram(30, rows, hashes, 300.0, 420.0, 560.0)


def _power(value: int) -> int:
    """The largest power of two that is at most ``value``."""
    return 1 << (value.bit_length() - 1)
