"""A machine whose SMs run at another clock."""

from __future__ import annotations

from dataclasses import replace

from placewise.errors import MachineError
from placewise.machine.machine import Machine


def at_clock(machine: Machine, clock_mhz: float) -> Machine:
    """``machine`` with its SMs at ``clock_mhz``: DRAM keeps its latency and bandwidth in time, so
    that it takes fewer or more cycles; caches keep theirs in cycles.

    Raises MachineError for a clock that is not positive, or a machine whose own is not known.
    """
    own = machine.limits.clock_mhz
    if own is None:
        raise MachineError(
            "its clock is not known, so that it cannot be changed", where=machine.name
        )
    if clock_mhz <= 0:
        raise MachineError(f"a clock of {clock_mhz:g} MHz", where=machine.name)
    if clock_mhz == own:
        return machine
    share = clock_mhz / own
    memories = tuple(
        replace(
            m,
            latency_cycles=m.latency_cycles * share,
            write_latency_cycles=m.write_latency_cycles * share,
        )
        if m.software_managed and m.scope == "die" and m.banks is None
        else m
        for m in machine.memories
    )
    limits = replace(machine.limits, clock_mhz=clock_mhz)
    return replace(machine, memories=memories, limits=limits)
