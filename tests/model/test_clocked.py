"""Intervals of times whose clock is not known, against Monte Carlo and models known exactly."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.machine import load_machine
from placewise.machine.machine import Machine
from placewise.model.base import Evidence, PathTime, Prediction
from placewise.model.clocked import interval, predict_clocked


@dataclass(frozen=True)
class Computes:
    """A kernel of a fixed number of cycles, ``busy``, and one of a fixed time, ``waits``."""

    busy: float
    waits_us: float
    name: str = "computes"

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        clock = machine.limits.clock_mhz or 0.0
        total = self.busy + self.waits_us * clock
        parts = (PathTime("work", total),)
        return Prediction(self.name, total, parts, (0.9 * total, 1.2 * total), True, clock)


A100 = load_machine("A100")


def test_a_kernel_that_computes_takes_as_much_longer_as_the_clock_is_slower():
    found = predict_clocked(Computes(1.41e6, 0.0), Evidence(), A100)
    assert found.nanoseconds == pytest.approx(1e6)
    fast, slow = found.at_clocks
    assert (fast.clock_mhz, fast.nanoseconds) == pytest.approx((1410, 1e6))
    assert (slow.clock_mhz, slow.nanoseconds) == pytest.approx((765, 1e6 * 1410 / 765))
    assert found.model_error == pytest.approx((0.9, 1.2))
    low, high = found.interval_nanoseconds
    assert 0.9e6 < low < 1e6
    assert 1.6e6 < high < 1.2e6 * 1410 / 765


def test_the_clock_is_nothing_to_a_kernel_that_waits():
    found = predict_clocked(Computes(0.0, 1000.0), Evidence(), A100)
    assert [one.nanoseconds for one in found.at_clocks] == pytest.approx([1e6, 1e6])
    assert found.interval_nanoseconds == pytest.approx((0.9e6, 1.2e6), rel=0.002)


def test_a_known_clock_leaves_the_model_s_error_alone():
    limits = replace(A100.limits, clock_sustained_mhz=705.0, time_factor=1.1)
    found = predict_clocked(Computes(1.41e6, 0.0), Evidence(), replace(A100, limits=limits))
    assert found.nanoseconds == pytest.approx(2.2e6)
    assert found.at_clocks == ()
    assert found.interval_nanoseconds == pytest.approx((0.9 * 2.2e6, 1.2 * 2.2e6))
    assert found.parts[0].cycles == pytest.approx(found.total)


@given(st.floats(1.0, 2.0), st.floats(0.0, 1.0), st.floats(0.5, 0.99), st.floats(1.01, 2.0))
def test_the_interval_holds_80_percent_of_what_it_assumes(slower, where, below, above):
    assumed = slower**where
    low, high = interval(assumed, (1.0, slower), (below, above))
    random = np.random.default_rng(0)
    clocks = np.exp(random.uniform(0.0, np.log(slower), 20_000))
    clocks[::2] = assumed
    sizes = random.normal(size=20_000) / 1.2815515655446004
    errors = np.where(sizes < 0.0, below ** np.abs(sizes), above ** np.abs(sizes))
    times = clocks * errors
    assert np.mean((times >= low) & (times <= high)) == pytest.approx(0.8, abs=0.015)
    assert np.mean(times < low) == pytest.approx(0.1, abs=0.012)
    assert low < assumed < high
