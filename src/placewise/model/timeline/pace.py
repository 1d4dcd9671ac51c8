"""What the timeline takes from a machine file."""

from __future__ import annotations

from placewise.machine.machine import Machine
from placewise.model.timeline.schedule import partitions
from placewise.model.timeline.warps import Pace

QUEUE_CYCLES = 16.0
HAND_OVER_CYCLES = 2.0
BARRIER_CYCLES = 20.0
LAUNCH_CYCLES = 100.0
"""Not documented, and the same for all machines: order of magnitude, from trying factors of two on
one half of the measured configurations (docs/model.md tells how little they matter)."""
ACHIEVED_DRAM = 0.9
"""Of the peak bandwidth, where the machine file has no achieved one: gpu-benches' streams reach
0.86 (A100, 1,381 of 1,555 GB/s with stores) to 0.96 (reads)."""
L2_PORT_BYTES = 64.0
"""That one SM can receive from L2 in a cycle (NVIDIA, A100 whitepaper: 5,120 B/clk in all for
Ampere's L2; 64 per SM is what the request path of each is described with)."""


def pace_of(machine: Machine, busy_sms: int) -> Pace:
    """Figures for an SM when ``busy_sms`` share L2 and DRAM. Raises MachineError where the machine
    file lacks its schedulers, clock or DRAM bandwidth."""
    l2 = l2_bytes_per_cycle(machine)
    dram = dram_bytes_per_cycle(machine)
    levels = machine.levels(machine.spaces[0].name)
    last = next((m for m in levels if m.scope == "die" and m is not levels[-1]), levels[-1])
    return Pace(
        partitions=partitions(machine),
        l2_cycles_per_byte=1.0 / min(L2_PORT_BYTES, l2 / busy_sms),
        dram_cycles_per_byte=busy_sms / dram,
        l2_latency=last.latency_cycles,
        dram_latency=levels[-1].latency_cycles,
        queue=QUEUE_CYCLES,
        hand_over=HAND_OVER_CYCLES,
        barrier=BARRIER_CYCLES,
        launch=LAUNCH_CYCLES,
    )


def l2_bytes_per_cycle(machine: Machine) -> float:
    """Of the whole die; what every SM's port takes where the file does not say."""
    for memory in machine.levels(machine.spaces[0].name):
        if memory.scope == "die" and memory.detail.bytes_per_cycle:
            return memory.detail.bytes_per_cycle
    return L2_PORT_BYTES * machine.processor.sms


def dram_bytes_per_cycle(machine: Machine) -> float:
    """Achieved bandwidth of DRAM in bytes per cycle of the SMs; endless where it is unknown."""
    limits = machine.limits
    bandwidth = limits.dram_bandwidth_achieved_gb_per_s
    if bandwidth is None and limits.dram_bandwidth_gb_per_s is not None:
        bandwidth = limits.dram_bandwidth_gb_per_s * ACHIEVED_DRAM
    if bandwidth is None or limits.clock_mhz is None:
        return float("inf")
    return bandwidth * 1e3 / limits.clock_mhz
