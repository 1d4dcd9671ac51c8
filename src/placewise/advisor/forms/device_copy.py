"""Time of a copy from one array in device memory to another."""

from __future__ import annotations

from placewise.machine import Machine
from placewise.model.timeline.model import LAUNCH_NS


def device_copy_ns(size: int, machine: Machine) -> float:
    """Nanoseconds of a copy of ``size`` bytes on the device: the time that a launch takes to begin
    and end, plus the time to read and write the bytes at DRAM's bandwidth."""
    limits = machine.limits
    bandwidth = limits.reached_dram_gb_per_s
    moving = 2.0 * size / bandwidth if bandwidth else 0.0
    return (limits.launch_overhead_ns or LAUNCH_NS) + moving
