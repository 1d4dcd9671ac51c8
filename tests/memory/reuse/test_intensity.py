"""Instructions per cycle, by hand."""

from dataclasses import replace

import pytest

from placewise.kernel.launch import Launch
from placewise.machine.load import load_machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.reuse.intensity import instructions_per_cycle, intensity_of, issue_rate

A100 = load_machine("A100")
LAUNCH = Launch((216, 1, 1), (128, 1, 1))
RESIDENT = Occupancy(16, 64, 64, ())


def _found(instructions, served, machine=A100):
    return instructions_per_cycle(machine, LAUNCH, RESIDENT, instructions, served)


def test_without_memory_the_schedulers_are_busy():
    assert issue_rate(A100) == 4.0
    assert _found(1e6, {}) == pytest.approx(4.0)
    assert intensity_of(A100, 4.0) == "compute"


def test_warps_wait_for_their_own_requests():
    # Two blocks of four warps are on each of the 108 SMs; 1000 requests of an SM to L2.
    latency = A100.memory("L2").latency_cycles
    cycles = 1000 * latency / 8
    assert _found(108 * 500, {"L2": (108e3, 0.0)}) == pytest.approx(500 / cycles)


def test_dram_delivers_so_many_bytes_a_cycle():
    limits = A100.limits
    per_cycle = limits.dram_bandwidth_gb_per_s * 1e3 / limits.clock_mhz
    found = _found(108 * 500, {"globalMem": (1.0, 1e6 * per_cycle)})
    assert found == pytest.approx(500 / 1e6)
    assert intensity_of(A100, found) == "memory"
    unknown = replace(A100, limits=replace(limits, dram_bandwidth_gb_per_s=None))
    assert _found(108 * 500, {"globalMem": (0.0, 1e9)}, unknown) == pytest.approx(4.0)


def test_caches_on_the_sms_cost_no_bandwidth_of_dram():
    assert _found(1e6, {"L1": (0.0, 1e12)}) == pytest.approx(4.0)
