"""Decides whether memory or computation limits a kernel, from its instructions per cycle.

MSL gives a memory two concurrency factors, one for memory-intensive kernels and one for
compute-intensive ones; "IPC in the profiling phase can be used to tell the two types of kernels
apart" (Chen et al. 2017, section 2). A run on the CPU has no cycles, so they are estimated. An SM
needs at least the largest of three times: to issue its instructions, for DRAM to deliver its share
of the bytes, and for its resident warps to wait for all their requests, one request of each warp at
a time (Hong and Kim 2009).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import WARP_SIZE, Occupancy

Intensity = Literal["memory", "compute"]
"""What limits a kernel's time."""

COMPUTES_FROM = 0.5
"""A kernel is compute-intensive if it executes at least this share of the instructions per cycle
that an SM can issue. The paper gives no figure, and this one is not fitted to anything."""


def issue_rate(machine: Machine) -> float:
    """Warp instructions that an SM can issue in a cycle; one for each 32 cores if the machine file
    does not give the number of schedulers."""
    limits = machine.limits
    schedulers = limits.schedulers_per_sm or max(1, machine.processor.cores_per_sm // WARP_SIZE)
    return float(schedulers * (limits.issues_per_scheduler or 1))


def instructions_per_cycle(
    machine: Machine,
    launch: Launch,
    occupancy: Occupancy,
    warp_instructions: float,
    served: Mapping[str, tuple[float, float]],
) -> float:
    """Warp instructions that an SM executes in a cycle, estimated.

    ``warp_instructions`` are those of the whole launch; ``served`` has for each memory, by name,
    the warp accesses whose data come from it and the bytes that they move.
    """
    sms = min(machine.processor.sms, max(1, launch.blocks))
    per_sm = warp_instructions / sms
    resident = min(occupancy.blocks, -(-launch.blocks // sms)) * launch.warps_per_block
    latencies = sum(n * machine.memory(name).latency_cycles for name, (n, _) in served.items())
    cycles = max(per_sm / issue_rate(machine), latencies / sms / max(1, resident))
    limits = machine.limits
    if limits.dram_bandwidth_gb_per_s and limits.clock_mhz:
        homes = {s.levels[-1] for s in machine.spaces if not s.way.facts.per_block}
        moved = sum(size for name, (_, size) in served.items() if name in homes)
        bytes_per_cycle = limits.dram_bandwidth_gb_per_s * 1e3 / limits.clock_mhz
        cycles = max(cycles, moved / bytes_per_cycle)
    return per_sm / cycles if cycles else issue_rate(machine)


def intensity_of(machine: Machine, per_cycle: float) -> Intensity:
    """What limits a kernel that executes ``per_cycle`` warp instructions per cycle on an SM."""
    return "compute" if per_cycle >= COMPUTES_FROM * issue_rate(machine) else "memory"
