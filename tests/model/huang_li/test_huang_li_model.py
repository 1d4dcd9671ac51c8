"""The model of Huang and Li as a whole, on a launch small enough to work out by hand."""

from dataclasses import replace

import pytest

from placewise.errors import CaseError
from placewise.machine import load_machine
from placewise.machine.machine import Dram
from placewise.model.huang_li.banks import BankLoad
from placewise.model.huang_li.model import (
    ABLATIONS,
    BASELINE,
    COUNTED,
    WHOLE,
    HuangLiModel,
)
from placewise.model.huang_li.observe import Latencies, Observed, Requests, latencies
from placewise.model.huang_li.overlap import Events, fit_overlap
from placewise.model.huang_li.replays import Replays
from placewise.model.registry import known_model
from placewise.model.sim import sim_model

LATENCY = {
    "L1": 36.0, "L2": 213.0, "globalMem": 570.0, "cL1": 75.0, "cL2": 121.0, "sharedMem": 23.0,
}  # fmt: skip
"""Cycles."""


def fixed(machine):
    """The machine with the figures that the numbers below rest on, whatever its file says."""
    memories = tuple(
        replace(m, latency_cycles=LATENCY.get(m.name, m.latency_cycles)) for m in machine.memories
    )
    limits = replace(machine.limits, clock_mhz=1410.0, dram_bandwidth_gb_per_s=1555.0)
    return replace(machine, memories=memories, limits=limits, pipes=(), instructions=(), dram=None)


A100 = fixed(load_machine("A100"))


def launch(**changed):
    """10,800 warps on 108 SMs, 50 resident; each executes 200 instructions with a mean stall of 2,
    10 global requests half of which miss L1, a fifth L2, and 10 shared ones with two passes."""
    warps = 10_800.0
    plain = Observed(
        total_warps=warps,
        active_sms=108.0,
        resident_warps=50.0,
        instructions=200.0,
        special=0.0,
        stall=2.0,
        mlp=2.0,
        replays=Replays(bank_conflicts=10 * warps),
        global_=Requests(10 * warps, 5 * warps, 2 * warps),
        texture=Requests(),
        constant=Requests(),
        shared=Requests(10 * warps),
        passes_per_request=1.0,
        dram_sectors=8 * warps,
        sector_bytes=32.0,
    )
    return replace(plain, **changed)


def test_latencies_of_a_machine():
    assert latencies(A100) == Latencies(
        first=36.0, l2=213.0, dram=357.0, constant=75.0, shared=23.0, second_constant=121.0
    )
    old = latencies(load_machine("C1060"))
    assert (old.first, old.l2, old.dram) == (0.0, 0.0, 548.0)


def test_computation_time():
    """64 lanes take a warp in half a cycle: 8 of 4 cycles' latency fill the SM, which 50 warps with
    an ILP of 2 do; so 2 instructions a cycle. 100 warps per SM, 200 instructions and 10 replays."""
    parts = WHOLE.parts(launch(), A100)
    assert parts.t_comp == pytest.approx(100 * 210 / 2)
    assert COUNTED.parts(launch(), A100).t_comp == pytest.approx(100 * 210 / 2)
    assert sim_model().parts(launch(), A100).t_comp == pytest.approx(100 * 200 / 2)
    few = launch(resident_warps=2.0)
    # Two warps with two instructions in flight each, 4 in all: 1 per cycle.
    assert WHOLE.parts(few, A100).t_comp == pytest.approx(100 * 210)


def test_memory_time():
    """AMAT = 357 · 0.1 + (5 · 36 + 5 · 213) / 20 + 23 / 2 = 109.45 cycles. MWP is bounded by the
    50 warps: 109.45 / 1 cycle apart, and 12.8 B per request at 1,102.8 B/clk would be 87. CWP =
    (20 · 109.45 + 200 / 2) / (200 / 2) = 22.9, so 21.9 warps wait at once, two requests each."""
    parts = sim_model().parts(launch(), A100)
    access = 357 * 0.1 + (5 * 36 + 5 * 213) / 20 + 23 / 2
    cwp = (20 * access + 100) / 100
    # Two each are 43.8 requests; a peak of 109.45 leave within one's time.
    at_once = 2 * (cwp - 1)
    assert parts.t_mem == pytest.approx(20 * 10_800 / (108 * at_once) * access)
    assert parts.dram_latency == 357.0
    # CWP below MWP: the last warp's computation is not hidden.
    assert parts.t_overlap == pytest.approx(min(parts.t_comp * 49 / 50, parts.t_mem))
    assert parts.total == pytest.approx(parts.t_comp + parts.t_mem - parts.t_overlap)


def test_load_store_units_bound_what_is_in_service():
    """Four requests in flight per warp would be 87 at once, but the units take 2 cycles for each:
    half of 109.45, so that memory takes 2 cycles for each of an SM's 2,000 requests."""
    parts = sim_model().parts(launch(mlp=4.0, passes_per_request=2.0), A100)
    assert parts.t_mem == pytest.approx(20 * 100 * 2)


def test_baseline_takes_the_samples_instructions():
    sample, target = launch(), launch(instructions=400.0)
    assert BASELINE.parts(target, A100, sample).t_comp == pytest.approx(100 * 200 / 2)
    assert COUNTED.parts(target, A100, sample).t_comp == pytest.approx(100 * 410 / 2)


def test_queues_add_to_the_dram_latency_and_grow_with_load():
    quiet = WHOLE.parts(launch(dram_sectors=10_800.0), A100).dram_latency
    busy = WHOLE.parts(launch(dram_sectors=40 * 10_800.0), A100).dram_latency
    assert 357.0 < quiet < busy
    limits = replace(A100.limits, dram_bandwidth_gb_per_s=None)
    unknown = WHOLE.parts(launch(), replace(A100, limits=limits))
    assert unknown.dram_latency == 357.0
    assert "constant DRAM latency" in unknown.notes[0]


def test_mapped_banks_wait_by_their_own_load():
    """One bank has all requests, in pairs of row hit and conflict; the launch computes for 10,500
    cycles. A bank is busy for 96 · 32 B / 1,102.8 B/clk = 2.79 cycles for a hit."""
    dram = Dram(channels=6, banks=16, hit_ns=100.0, miss_ns=200.0, conflict_ns=300.0)
    machine = replace(A100, dram=dram)
    seen = launch(
        dram_sectors=1000.0, banks=(BankLoad(1000.0, 500.0, 0.0, 500.0, 1 / 1000, 1 / 1000),)
    )
    parts = WHOLE.parts(seen, machine)
    hit = 96 * 32 / 1555e9 * 1410e6
    mean, gap = 2 * hit, parts.t_comp / 1000
    load = mean / gap
    wait = (1 + 0.25) / 2 * load / (1 - load) * mean
    assert parts.dram_latency == pytest.approx(357 + wait + mean - hit)
    assert parts.events.rows == pytest.approx(500 / seen.requests)
    # Of several sectors to a request, the bank is busy for each.
    wider = WHOLE.parts(replace(seen, dram_sectors=2000.0), machine)
    assert wider.dram_latency > parts.dram_latency + hit
    even = replace(WHOLE, queue="even").parts(seen, machine)
    assert even.dram_latency < parts.dram_latency
    assert even.events.rows == 0


def test_trained_overlap_replaces_that_of_the_warps():
    half = fit_overlap([Events(1, 0, 0, 0, 0, 32)] * 2, [0.5, 0.5], ["a", "b"])
    trained = replace(WHOLE, regression=half)
    parts, plain = trained.parts(launch(), A100), WHOLE.parts(launch(), A100)
    assert (parts.t_comp, parts.t_mem) == (plain.t_comp, plain.t_mem)
    assert parts.t_overlap == pytest.approx(
        min(half.ratio(parts.events) * parts.t_mem, parts.t_comp, parts.t_mem)
    )


def test_printed_kingman_and_latency_as_service_time_can_be_had():
    names = {model.name for model in ABLATIONS}
    assert len(names) == len(ABLATIONS) == 5
    printed = HuangLiModel(kingman="printed").parts(launch(), A100).dram_latency
    literal = HuangLiModel(service="latency").parts(launch(), A100).dram_latency
    usual = WHOLE.parts(launch(), A100).dram_latency
    assert printed != usual
    assert literal > usual


def test_a_launch_without_memory_accesses():
    nothing = launch(global_=Requests(), shared=Requests(), replays=Replays(), dram_sectors=0.0)
    for model in ABLATIONS:
        parts = model.parts(nothing, A100)
        assert parts.total == pytest.approx(parts.t_comp)


def test_parts_are_switched_off_by_name():
    assert known_model("huang-li:no-queue").make() == HuangLiModel(
        "huang-li:no-queue", queue="none"
    )
    even = known_model("huang-li:even-queue").make()
    observed = launch()
    assert even.parts(observed, A100) == HuangLiModel(queue="even").parts(observed, A100)
    replayed = known_model("huang-li:no-replays").make()
    assert not replayed.count_replays
    assert replayed.queue == HuangLiModel().queue
    with pytest.raises(CaseError, match="no model 'huang-li:queue'"):
        known_model("huang-li:queue")
