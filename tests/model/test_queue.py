"""Kingman's formula, as usually given and as printed, against queues that are simulated."""

import math

import numpy as np
import pytest

from placewise.model.queue import QueueMoments, kingman, mean_wait, moments

CUSTOMERS = 200_000


def simulated_wait(gaps, service):
    """Mean wait of a single server's customers, event by event: each begins when it has come and
    the one before is done."""
    clock = free = waited = 0.0
    for gap, busy in zip(gaps.tolist(), service.tolist(), strict=True):
        clock += gap
        begin = max(clock, free)
        waited += begin - clock
        free = begin + busy
    return waited / len(gaps)


def hyperexponential(rng, mean, n):
    """Bursts: 90 % of the gaps short, the others long; coefficient of variation 2."""
    short = rng.random(n) < 0.9
    return np.where(short, rng.exponential(mean / 2.25, n), rng.exponential(mean * 6.0, n))


def rows(rng, n):
    """Service of a DRAM bank: row hits, misses and conflicts of a K80, in ns."""
    return rng.choice([352.0, 742.0, 1008.0], n, p=[0.6, 0.1, 0.3])


ARRIVALS = {
    "exponential": lambda rng, mean, n: rng.exponential(mean, n),
    "regular": lambda rng, mean, n: rng.uniform(0.5 * mean, 1.5 * mean, n),
    "bursts": hyperexponential,
}
SERVICE = {
    "rows": lambda rng, n: rows(rng, n),
    "constant": lambda rng, n: np.full(n, 500.0),
    "exponential": lambda rng, n: rng.exponential(500.0, n),
}


def test_moments_and_ratios():
    queue = moments([1.0, 3.0], [1.0, 1.0])
    assert queue == QueueMoments(2.0, 1.0, 1.0, 0.0)
    assert (queue.utilization, queue.arrival_variation, queue.service_variation) == (0.5, 0.5, 0.0)


def test_known_queues():
    # M/M/1 with ρ = 0.8 and τ_s = 1 waits ρ / (1 − ρ) = 4; M/D/1 half as long. Both are exact.
    assert kingman(QueueMoments(1.25, 1.25, 1.0, 1.0)) == pytest.approx(4.0)
    assert kingman(QueueMoments(1.25, 1.25, 1.0, 0.0)) == pytest.approx(2.0)
    # As printed: (1 + 1) / 2 · 4 · 1.25, too long by 1 / ρ.
    assert kingman(QueueMoments(1.25, 1.25, 1.0, 1.0), "printed") == pytest.approx(5.0)
    assert math.isinf(kingman(QueueMoments(1.0, 1.0, 1.0, 1.0)))


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("service", SERVICE)
@pytest.mark.parametrize("arrivals", ["exponential", "bursts"])
def test_usual_form_is_near(arrivals, service, load):
    rng = np.random.default_rng(7)
    busy = SERVICE[service](rng, CUSTOMERS)
    gaps = ARRIVALS[arrivals](rng, busy.mean() / load, CUSTOMERS)
    truth = simulated_wait(gaps, busy)
    # It is exact for exponential gaps, an approximation in heavy traffic for others; the bound
    # leaves room for a mean over a finite run of a heavily loaded queue.
    within = 0.1 if arrivals == "exponential" else 0.3
    assert kingman(moments(gaps, busy)) == pytest.approx(truth, rel=within)


def test_usual_form_is_the_better_one():
    """Why it is the default: mean relative error over all kinds of arrivals, service and load. The
    printed form is nearer in single cases only, where its two deviations cancel."""
    rng = np.random.default_rng(11)
    errors = []
    for arrive in ARRIVALS.values():
        for serve in SERVICE.values():
            for load in (0.3, 0.6, 0.9):
                busy = serve(rng, CUSTOMERS // 4)
                gaps = arrive(rng, busy.mean() / load, CUSTOMERS // 4)
                truth = simulated_wait(gaps, busy)
                if truth < 0.01 * busy.mean():
                    continue
                queue = moments(gaps, busy)
                errors.append([abs(kingman(queue, r) / truth - 1) for r in ("usual", "printed")])
    usual, printed = np.mean(errors, axis=0)
    assert len(errors) > 20
    assert usual < 0.5
    assert printed > 4 * usual


def test_regular_arrivals_wait_less():
    rng = np.random.default_rng(8)
    busy = rows(rng, CUSTOMERS)
    gaps = ARRIVALS["regular"](rng, busy.mean() / 0.9, CUSTOMERS)
    truth = simulated_wait(gaps, busy)
    queue = moments(gaps, busy)
    assert kingman(queue) == pytest.approx(truth, rel=0.3)
    assert kingman(queue, "printed") > 2 * truth


def test_an_overloaded_bank_builds_up_a_queue():
    rng = np.random.default_rng(9)
    n = 2000
    busy = rows(rng, n)
    gaps = rng.exponential(busy.mean() / 1.5, n)
    truth = simulated_wait(gaps, busy)
    assert mean_wait(moments(gaps, busy), n) == pytest.approx(truth, rel=0.1)


def test_no_wait_is_longer_than_that_of_a_burst():
    busy = np.full(100, 10.0)
    assert simulated_wait(np.zeros(100), busy) == pytest.approx(495.0)
    assert mean_wait(moments(np.zeros(100), busy), 100) == pytest.approx(495.0)
    # Nearly saturated, Kingman's settled queue is far longer than a hundred requests can make it.
    nearly = QueueMoments(10.001, 10.0, 10.0, 10.0)
    assert kingman(nearly) > 90_000
    assert mean_wait(nearly, 100) == pytest.approx(495.0)
    assert mean_wait(nearly, 1) == 0.0
