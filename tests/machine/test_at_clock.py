"""A machine at another clock: what belongs to DRAM stays as it was in time."""

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine
from placewise.machine.at_clock import at_clock


def test_dram_keeps_its_time_and_caches_their_cycles():
    own = load_machine("A100")
    slow = at_clock(own, own.limits.clock_mhz / 2)
    assert slow.limits.clock_mhz == 705
    for name in ("L1", "L2", "sharedMem", "cL1"):
        assert slow.memory(name).latency_cycles == own.memory(name).latency_cycles
    assert slow.memory("globalMem").latency_cycles == own.memory("globalMem").latency_cycles / 2
    assert slow.limits.dram_bandwidth_gb_per_s == own.limits.dram_bandwidth_gb_per_s


def test_refusals():
    with pytest.raises(MachineError, match="a clock of 0 MHz"):
        at_clock(load_machine("A100"), 0)
