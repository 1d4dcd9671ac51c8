"""Clocks that a machine may run at, and the one that is taken."""

from dataclasses import replace

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine, parse_machine
from placewise.machine.clocks import ClockRange, clock_range, known_clock, machine_at
from placewise.machine.load import machine_text


def heir(limits):
    return parse_machine(f'machine Mine like A100 "mine";\nlimits {{ {limits} }}', "mine.msl")


def test_an_unknown_clock_lies_between_base_and_boost():
    assert clock_range(load_machine("A100")) == ClockRange(765, 1410, 1410)


def test_a_sustained_clock_is_assumed_even_beyond_the_boost():
    found = clock_range(heir("clock_sustained = 1200 MHz;"))
    assert found == ClockRange(765, 1200, 1410)
    assert clock_range(heir("clock_sustained = 1500 MHz;")) == ClockRange(765, 1500, 1500)


def test_boards_may_run_beyond_the_boost():
    found = clock_range(heir("clock_highest = 1600 MHz;"))
    assert found == ClockRange(765, 1410, 1600)
    assert clock_range(known_clock(heir("clock_highest = 1600 MHz;"), 1500)).is_known


def test_without_a_base_clock_there_is_one_clock():
    assert clock_range(heir("clock_base = ?;")) == ClockRange(1410, 1410, 1410)
    assert clock_range(heir("clock_base = ?;")).is_known


def test_a_calibrated_machine_runs_at_its_sustained_clock():
    found = clock_range(heir("clock_sustained = 1200 MHz; time_factor = 1.1;"))
    assert found == ClockRange(1200, 1200, 1200)


def test_a_clock_of_its_own_does_not_inherit_the_base_s_other_clocks():
    calibrated = 'machine Mine like RTX2080Ti "mine";\nlimits { clock = 1600 MHz; }'
    limits = parse_machine(calibrated, "mine.msl").limits
    assert (limits.clock_base_mhz, limits.clock_sustained_mhz) == (None, None)
    assert parse_machine(
        calibrated.replace("clock", "launch_overhead").replace("MHz", "ns"), "mine.msl"
    ).limits.clock_sustained_mhz == 1787  # fmt: skip


def test_a_named_clock_is_the_file_s():
    machine = load_machine("A100")
    assert clock_range(machine_at(machine, "base")) == ClockRange(765, 765, 765)
    assert clock_range(machine_at(machine, "boost")).is_known
    assert clock_range(machine_at(machine, "1095")).assumed == 1095
    assert machine_at(machine, None) is machine
    # DRAM keeps its latency in time.
    own, slow = machine.memory("globalMem"), machine_at(machine, 705).memory("globalMem")
    assert slow.latency_cycles == pytest.approx(own.latency_cycles / 2)


@pytest.mark.parametrize(
    ("clock", "message"),
    [
        ("fast", "'fast' is not a clock"),
        ("0", "0 MHz"),
        ("-5", "-5 MHz"),
        ("inf", "a clock of inf"),
    ],
)
def test_what_is_no_clock_is_said(clock, message):
    with pytest.raises(MachineError, match=message):
        machine_at(load_machine("A100"), clock)


def test_a_base_clock_that_no_source_gives_is_said():
    with pytest.raises(MachineError, match="its base clock is not known"):
        machine_at(load_machine("GH200"), "base")


def test_the_text_of_the_file_states_what_the_machine_has():
    assert "clock_base = 765 MHz" in machine_text("A100")
    limits = known_clock(load_machine("A100"), 900).limits
    assert limits == replace(load_machine("A100").limits, clock_mhz=900, clock_base_mhz=None)
