"""What converting arrays to a layout and back costs."""

from types import SimpleNamespace

import pytest

from placewise.advisor.layouts.layout_trial import Trial
from placewise.machine import load_machine
from placewise.model.timeline.model import LAUNCH_NS


@pytest.mark.parametrize(("megabytes", "launches"), [(0, 4), (64, 2)])
def test_conversions_take_a_launch_each_however_little_they_move(megabytes, launches):
    machine = load_machine("A100")
    limits = machine.limits
    overhead = (limits.launch_overhead_ns or LAUNCH_NS) * 1e-6
    bandwidth = limits.dram_bandwidth_achieved_gb_per_s or limits.dram_bandwidth_gb_per_s
    moving = 4 * megabytes / bandwidth
    gain = max(moving, overhead) / 2 * 1.01
    trial = Trial(None, None, machine, None, SimpleNamespace(ms=1.0), None, None, 0)
    tried = SimpleNamespace(timed=SimpleNamespace(ms=1.0 - gain))
    found = trial.conversion(tried, megabytes * 10**6, megabytes * 10**6)
    assert found.bytes == 4 * megabytes * 10**6
    assert found.milliseconds == pytest.approx(moving + 2 * overhead)
    assert found.launches == -(-found.milliseconds // gain)
