"""Figures of a machine that the timeline uses, from the machine file or assumed."""

from __future__ import annotations

from placewise.kernel.binary.sass.instruction import INSTRUCTION_BYTES
from placewise.machine.machine import Machine
from placewise.model.timeline.schedule import FETCHED, partitions
from placewise.model.timeline.warps import Pace

QUEUED = 5
HAND_OVER_CYCLES = 4.0
"""Loads and stores that a partition issues before the SM's load/store pipe has begun with the
first, and cycles from one to the next where no other partition sends any. Measured on an RTX A6000
by Huerta et al. 2025 ("Analyzing Modern NVIDIA GPU Cores", on the memory pipeline); all machines
are taken to have the same."""
BARRIER_CYCLES = 20.0
"""Not documented, and right only in order of magnitude; half of it and twice as much predict nearly
the same (docs/explanation/models.md)."""
LAUNCH_CYCLES = 200.0
"""Cycles from the end of a block to the first instruction of the next one in its slot. Fitted, to
tens of cycles, on gpu-benches' streams with two blocks of 64 threads on an SM, on A100, A40 and
H200."""
BLOCKS_PER_CYCLE = 0.8
"""Blocks that the block scheduler starts in a cycle, on all SMs together. No document says. Fitted
on one time of an H100 (benchmarks/results/gpu): a triad of 32,768 blocks, whose arrays L2 holds,
takes 24.1 us, of which an empty launch takes 2.9. A copy of single bytes by 1,048,576 blocks gets
0.71 of them a cycle."""
DRAIN_SHARE = 0.5
"""Share of L2's round-trip latency that a store needs to reach L2."""
ACHIEVED_DRAM = 0.97
"""Share of the peak DRAM bandwidth that is achieved if all is read or all is written, where the
machine file does not say. gpu-benches' gpu-stream, all SMs full: read 0.96 to 0.98, written 0.97 to
0.99 (V100, A100, A40, L40)."""
TURNING = 0.36
"""Loss of achieved DRAM bandwidth by switching between reads and writes: this times the share of
reads times the share of writes. From gpu-benches' gpu-stream, which achieves 0.88 to 0.94 of the
peak where a half, or a third, of the traffic is written."""
SAME_ADDRESS_CYCLES = 1.0
"""Cycles of an atomic operation, of all SMs together, on one address in global memory, where the
machine file does not give them (NVIDIA, Kepler GK110 whitepaper: "one operation per clock"; no
newer figure is documented)."""
SAME_LINE_PER_CYCLE = 1.7
"""Atomic operations of all SMs together in one line of 128 bytes of global memory, whichever of its
addresses they are on. No document says. Fitted: the histogram in shared memory of
benchmarks/breadth, whose 32,768 blocks add 512 counts each to the same 16 lines, takes 361 to 369
us on RTX 3080 and RTX 3060 Ti, whatever their SMs, L2 and DRAM: 1.70 and 1.71 at their rated
clocks."""
L2_PORT_BYTES = 64.0
"""Bytes that one SM can receive from L2 in a cycle (NVIDIA, A100 whitepaper: 5,120 B/clk in all for
Ampere's L2; 64 per SM is what the request path of each is described with)."""


def pace_of(machine: Machine, busy_sms: int, written: float = 0.0) -> Pace:
    """Figures for an SM and its share of L2 and DRAM when ``busy_sms`` SMs share them; ``written``
    is the share of stores in DRAM's traffic. Raises MachineError where the machine file lacks its
    schedulers, clock or DRAM bandwidth."""
    l2 = l2_bytes_per_cycle(machine)
    dram = dram_bytes_per_cycle(machine, written)
    levels = machine.levels(machine.direct_space.name)
    last = next((m for m in levels if m.scope == "die" and m is not levels[-1]), levels[-1])
    line_bytes = FETCHED * INSTRUCTION_BYTES
    limits = machine.limits
    buffer, supply = limits.instruction_buffer_bytes, limits.instruction_bytes_per_cycle
    return Pace(
        partitions=partitions(machine),
        l2_cycles_per_byte=busy_sms / l2,
        dram_cycles_per_byte=busy_sms / dram,
        l2_latency=last.latency_cycles,
        dram_latency=levels[-1].latency_cycles,
        queue=QUEUED,
        hand_over=HAND_OVER_CYCLES,
        barrier=BARRIER_CYCLES,
        launch=LAUNCH_CYCLES,
        # The SM's constant caches lose the parameters of the launch before.
        parameters=last.latency_cycles,
        start=busy_sms / BLOCKS_PER_CYCLE,
        drain=DRAIN_SHARE * last.latency_cycles,
        code_lines=buffer // line_bytes if buffer and supply else 0,
        fetch=line_bytes / supply if buffer and supply else 0.0,
        port_cycles_per_byte=1.0 / L2_PORT_BYTES,
        write_delay=write_delay_cycles(machine),
    )


def l2_bytes_per_cycle(machine: Machine) -> float:
    """Bytes per cycle that L2 delivers to all SMs together; where the machine file does not give
    it, the most that the ports of all SMs can take."""
    for memory in machine.levels(machine.direct_space.name):
        if memory.scope == "die" and memory.detail.bytes_per_cycle:
            return memory.detail.bytes_per_cycle
    return L2_PORT_BYTES * machine.processor.sms


def dram_bytes_per_cycle(machine: Machine, written: float = 0.0) -> float:
    """Achieved bandwidth of DRAM in bytes per cycle of the SMs, where ``written`` is the share of
    stores in its traffic; infinite where the bandwidth is not known."""
    limits = machine.limits
    bandwidth = limits.dram_bandwidth_achieved_gb_per_s
    if bandwidth is None and limits.dram_bandwidth_gb_per_s is not None:
        bandwidth = limits.dram_bandwidth_gb_per_s * ACHIEVED_DRAM
        bandwidth *= 1.0 - TURNING * written * (1.0 - written)
    if bandwidth is None or limits.clock_mhz is None:
        return float("inf")
    return bandwidth * 1e3 / limits.clock_mhz


def write_delay_cycles(machine: Machine) -> float:
    """Cycles that a load waits longer for a DRAM that is busy all the time, half of it with stores.
    0 where the machine file has no ``write_delay``.

    DRAM serves stores in groups, since it loses time whenever it turns from reads to writes; reads
    wait meanwhile. gpu-benches' gpu-stream shows it well before the bandwidth is used up: scaling
    an array takes up to 1.15 times as long as with the latency of reads alone on V100, A100 and
    H100, and 1.36 times on an H200. An A40 and an L40, which have GDDR6, do not show it.
    """
    delay_ns = machine.levels(machine.direct_space.name)[-1].detail.write_delay_ns
    if delay_ns is None or machine.limits.clock_mhz is None:
        return 0.0
    return delay_ns * machine.limits.clock_mhz / 1e3
