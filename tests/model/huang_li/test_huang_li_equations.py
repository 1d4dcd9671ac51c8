"""Equations of Huang and Li 2017 on numbers worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from placewise.executor.trace import Site
from placewise.machine.machine import Dram
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.model import parallelism as pl
from placewise.model.huang_li import banks as bk
from placewise.model.huang_li import computation as c
from placewise.model.huang_li import overlap as ov
from placewise.model.huang_li import replays as rp
from placewise.model.huang_li import requests as rq


def test_time_is_the_sum_less_what_overlaps():
    assert c.execution_time(100.0, 250.0, 80.0) == 270.0


def test_computation():
    # Kepler: 192 lanes take a warp in 32 / 192 of a cycle, so 9 cycles' latency needs 54 in flight.
    most = c.itilp_max(9.0, 32.0, 192.0)
    assert most == pytest.approx(54.0)
    assert c.itilp(2.0, 16.0, most) == 32.0
    assert c.itilp(2.0, 48.0, most) == pytest.approx(54.0)
    # 32 in flight, each for 9 cycles: 32 / 9 leave per cycle, one every 9 / 32 of a cycle.
    assert c.effective_throughput(9.0, 32.0) == pytest.approx(32 / 9)
    assert c.effective_throughput_printed(9.0, 32.0) == pytest.approx(9 / 32)
    assert c.serialization(5.0, 7.0, 11.0) == 23.0
    # 100 instructions × 640 warps on 10 SMs are 6,400 per SM; at 32 / 9 per cycle, 1,800 cycles.
    assert c.t_comp(100.0, 640.0, 10.0, 32 / 9, 23.0) == pytest.approx(1823.0)
    assert c.t_comp_printed(100.0, 640.0, 10.0, 0.25, 23.75) == pytest.approx(6400 / 24)


def test_printed_form_runs_backwards():
    """More latency per instruction must not make a kernel faster; as printed it does."""

    def printed(latency, serial):
        throughput = c.effective_throughput_printed(latency, 32.0)
        return c.t_comp_printed(100.0, 640.0, 10.0, throughput, serial)

    def corrected(latency, serial):
        return c.t_comp(100.0, 640.0, 10.0, c.effective_throughput(latency, 32.0), serial)

    assert printed(18.0, 0.0) < printed(9.0, 0.0)
    assert printed(9.0, 50.0) < printed(9.0, 0.0)
    assert corrected(18.0, 0.0) == 2 * corrected(9.0, 0.0)
    assert corrected(9.0, 50.0) == corrected(9.0, 0.0) + 50.0


def test_memory_time():
    # 20 memory instructions × 640 warps on 10 SMs, 8 at once: 160 turns.
    requests = rq.effective_requests(20.0, 640.0, 10.0, 8.0)
    assert requests == 160.0
    # A quarter misses L2 (400 more cycles), half is shared memory (30 more).
    latency = rq.amat(400.0, 0.25, 200.0, 30.0, 0.5)
    assert latency == 315.0
    assert rq.t_mem(requests, latency) == 50400.0


def test_parallelism():
    # 128 bytes each 400 cycles are 0.32 B/clk per warp; 64 B/clk serve 200 warps, 20 on each of 10.
    assert pl.bandwidth_per_warp(128.0, 400.0) == pytest.approx(0.32)
    assert pl.mwp_peak_bandwidth(64.0, 128.0, 400.0, 10.0) == pytest.approx(20.0)
    assert pl.mwp(400.0, 50.0, 20.0, 48.0) == 8.0
    assert pl.mwp(400.0, 4.0, 20.0, 48.0) == 20.0
    assert pl.mwp(400.0, 4.0, 60.0, 48.0) == 48.0
    assert pl.mwp(4.0, 40.0, 60.0, 48.0) == 1.0
    assert pl.cwp(900.0, 100.0, 48.0) == 10.0
    assert pl.cwp(90000.0, 100.0, 48.0) == 48.0
    assert pl.cwp(900.0, 0.0, 48.0) == 48.0
    assert pl.mwp_cp(8.0, 10.0) == 8.0
    assert pl.mwp_cp(8.0, 5.0) == 4.0
    assert pl.mwp_cp(8.0, 1.5) == 1.0
    assert pl.itmlp(2.0, 8.0, 20.0) == 16.0
    assert pl.itmlp(4.0, 8.0, 20.0) == 20.0
    assert pl.overlap_of_warps(8.0, 10.0, 48.0) == 1.0
    assert pl.overlap_of_warps(8.0, 8.0, 48.0) == pytest.approx(47 / 48)


def site(space, requests, lines=0.0, wavefronts=0.0):
    none = Estimate(0.0, 0.0)
    what = Site("ld", space, "load", 4, 1, 1)
    return SiteTraffic(
        what, None, requests, 32 * requests, 0.0, lines, wavefronts, none, none, none
    )


def test_replays_by_reason():
    found = rp.replays_of(
        [
            site("global", 10.0, lines=40.0),
            site("constant", 5.0, wavefronts=20.0),
            site("shared", 8.0, wavefronts=16.0),
            site("local", 3.0, lines=9.0),
        ],
        constant_misses=2.0,
    )
    assert (found.global_divergence, found.constant_misses) == (30.0, 2.0)
    assert (found.constant_divergence, found.bank_conflicts) == (15.0, 8.0)
    assert found.total == 55.0
    # 100 in all in the sample, 55 of the counted reasons; 12 in the target.
    assert rp.replays_of_target(100.0, 55.0, 12.0) == 57.0


TIMES = bk.RowTimes(352.0, 742.0, 1008.0)
"""Section III-C2, of a K80, in ns."""


def test_banks_from_address_bits():
    dram = Dram(row_bits=(8, 9), bank_hashes=(1 << 6, 1 << 7 | 1 << 8))
    bank, row = bk.banks_and_rows(np.array([0, 64, 128, 256, 384, 512]), dram)
    # Bit 6 is the first bank bit, the parity of bits 7 and 8 the second.
    assert bank.tolist() == [0, 2, 1, 1, 0, 0]
    assert row.tolist() == [0, 0, 0, 256, 256, 512]


def test_service_time():
    mean = bk.service_time(TIMES, 6.0, 1.0, 3.0)
    assert mean == pytest.approx(0.6 * 352 + 0.1 * 742 + 0.3 * 1008)
    values = [352.0] * 6 + [742.0] + [1008.0] * 3
    assert mean == pytest.approx(np.mean(values))
    assert bk.service_deviation(TIMES, 6.0, 1.0, 3.0) == pytest.approx(np.std(values))
    assert bk.service_time(TIMES, 0.0, 0.0, 0.0) == 0.0


def test_the_mean_over_banks():
    loads = (
        bk.BankLoad(3.0, 1.0, 1.0, 1.0, 2000.0, 1000.0),
        bk.BankLoad(2.0, 1.0, 1.0, 0.0, 4000.0, 0.0),
    )
    # Bank 1: service 547 ± 195, arrivals without variation: c_s² / 2 · ρ / (1 − ρ) · τ_s.
    mean, deviation = (352 + 742) / 2, (742 - 352) / 2
    load = mean / 4000
    wait = (deviation / mean) ** 2 / 2 * load / (1 - load) * mean
    assert bk.bank_latency(loads[1], TIMES) == pytest.approx(mean + wait)
    each = [bk.bank_latency(load, TIMES) for load in loads]
    assert bk.dram_latency(loads, TIMES) == pytest.approx(0.6 * each[0] + 0.4 * each[1])
    assert bk.dram_latency((), TIMES) == 0.0


def test_no_more_wait_than_are_under_way():
    """A thousand requests at once at a bank that takes 742 for each: 499.5 of them wait in the
    mean, unless only ten can be under way."""
    load = bk.BankLoad(1000.0, 0.0, 1000.0, 0.0, 0.0, 0.0)
    assert bk.bank_latency(load, TIMES) == pytest.approx(499.5 * 742 + 742)
    assert bk.bank_latency(load, TIMES, outstanding=10.0) == pytest.approx(11 * 742)
    # Two such banks share twenty.
    assert bk.dram_latency((load, load), TIMES, outstanding=20.0) == pytest.approx(11 * 742)


def test_loads_from_what_the_memory_system_counted():
    """Two banks in a launch of 1,000 instructions. Bank 0's gaps are 10, 20 and 30 instructions,
    bank 1 was asked once. With half as many requests the gaps are twice as long."""
    counted = BankTraffic(
        requests=np.array([4.0, 1.0, 0.0]),
        hits=np.array([1.0, 0.0, 0.0]),
        misses=np.array([1.0, 1.0, 0.0]),
        conflicts=np.array([2.0, 0.0, 0.0]),
        gap_sum=np.array([60.0, 0.0, 0.0]),
        gap_squares=np.array([1400.0, 0.0, 0.0]),
        duration=1000.0,
        sectors=20.0,
    )
    first, second = bk.loads_of(counted)
    assert (first.requests, first.hits, first.misses, first.conflicts) == (4, 1, 1, 2)
    assert first.gap_mean == pytest.approx(20 / 1000)
    assert first.gap_deviation == pytest.approx(np.std([10, 20, 30]) / 1000)
    assert second.requests == 1
    assert math.isinf(second.gap_mean)
    many = replace(counted, requests=1e6 * counted.requests, gap_sum=1e6 * counted.gap_sum,
                   gap_squares=1e6 * counted.gap_squares)  # fmt: skip
    (thin, *_), (all_, *_) = bk.loads_of(many.thinned(0.5)), bk.loads_of(many)
    assert thin.requests == 0.5 * all_.requests
    assert thin.gap_mean == pytest.approx(2 * all_.gap_mean, rel=1e-5)
    assert thin.gap_deviation / thin.gap_mean == pytest.approx(
        all_.gap_deviation / all_.gap_mean, rel=1e-4
    )


def test_even_load_is_a_poisson_stream():
    load = bk.even_load(1000.0, 10, 5000.0)
    assert load == bk.BankLoad(100.0, 0.0, 100.0, 0.0, 50.0, 50.0)
    assert math.isinf(bk.even_load(0.0, 10, 5000.0).gap_mean)


def test_overlap_regression_recovers_a_linear_law():
    rng = np.random.default_rng(3)
    rows = rng.random((40, 6)) * [3.0, 1.0, 1.0, 2.0, 0.5, 64.0]
    truth = np.array([0.1, -0.2, 0.05, 0.15, -0.3, 0.004])
    ratios = rows @ truth + 0.2
    fitted = ov.fit_overlap([ov.Events(*r) for r in rows], ratios, [f"row {n}" for n in range(40)])
    assert np.allclose(fitted.coefficients, truth)
    assert fitted.constant == pytest.approx(0.2)
    assert fitted.training_error < 1e-9
    assert len(fitted.trained_on) == 40
    assert fitted.held_out == "not tested"
    unseen = ov.Events(1.0, 0.0, 0.5, 2.0, 0.1, 32.0)
    expected = 0.1 + 0.025 + 0.3 - 0.03 + 0.128 + 0.2
    assert fitted.ratio(unseen) == pytest.approx(expected)


def test_an_event_that_never_varies_gets_no_weight_of_its_own():
    rows = [ov.Events(g, 0.0, 0.0, 0.0, 0.0, 32.0) for g in (1.0, 2.0, 3.0)]
    fitted = ov.fit_overlap(rows, [0.5, 0.6, 0.7], ["a", "b", "c"])
    assert fitted.coefficients[0] == pytest.approx(0.1)
    assert fitted.coefficients[1:5] == pytest.approx((0.0,) * 4)
    assert fitted.ratio(ov.Events(4.0, 0.0, 0.0, 0.0, 0.0, 32.0)) == pytest.approx(0.8)


def test_similar_events_count_together():
    """The third event follows the first (cosine 1 of proportional counts), the second does not."""
    rng = np.random.default_rng(2)
    first, second = rng.random(50), rng.random(50) * (rng.random(50) > 0.5)
    rows = [ov.Events(a, b, 2.0 * a, 0.0, 0.0, 0.0) for a, b in zip(first, second, strict=True)]
    ratios = 0.3 * (first + 2.0 * first) - 0.5 * second
    fitted = ov.fit_overlap(rows, ratios, ["x"] * 50, merge=0.94)
    assert fitted.coefficients[:3] == pytest.approx((0.3, -0.5, 0.3))
    counts = np.stack([first, second, 2.0 * first], axis=1)
    assert ov.similar(counts, 0.94) == [[0, 2], [1]]
    assert ov.similar(counts, 1.1) == [[0], [1], [2]]


def test_overlap_from_a_measured_time_and_back():
    ratio = ov.observed_ratio(300.0, 500.0, 600.0)
    assert ratio == pytest.approx(0.4)
    assert c.execution_time(300.0, 500.0, ov.t_overlap(ratio, 500.0)) == pytest.approx(600.0)
    assert ov.bounded_overlap(400.0, 300.0, 500.0) == 300.0
    assert ov.bounded_overlap(-1.0, 300.0, 500.0) == 0.0
