"""Pieces of the reproduction of PORPLE's Table 4, judged by hand and by brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from placewise.advisor.explain.access_facts import access_facts
from placewise.advisor.prepare import prepare
from placewise.machine import load_machine
from placewise.memory.reuse.stream import ArrayStream
from placewise.reproduce.porple_costs import TIE, PlacementCosts, by_thread, first_of
from placewise.reproduce.porple_inputs import particle_case, poisson_matrix, spmv_case
from placewise.reproduce.porple_reading import CALIBRATED, FEWEST_MOVES, LITERAL
from placewise.reproduce.porple_table4 import (
    PARTICLEFILTER,
    SPMV,
    constant_answer,
    decide,
    matching,
    rule_row,
)
from placewise.space import Placement


def test_constant_answers_score():
    """By counting in the printed table."""
    assert constant_answer(SPMV) == (("C", "T", "T", "T", "G"), 9)
    assert constant_answer(PARTICLEFILTER)[1] == 16
    assert matching(("C", "T"), ("C", "G"), 2) == 1


def test_poisson_matrix():
    matrix = poisson_matrix(4)
    dense = matrix.toarray()
    assert dense.shape == (16, 16)
    assert (np.diag(dense) == 4).all()
    assert dense[5].sum() == 0
    assert sorted(np.flatnonzero(dense[5] == -1)) == [1, 4, 6, 9]


def stream(base, stride, mask, row, offsets):
    n = len(base)
    zeros = np.zeros(n, np.int32)
    return ArrayStream(
        np.array(base, np.int64), np.array(stride, np.int32), np.array(mask, np.uint32),
        np.array(row, np.int32), offsets, np.full(n, 4, np.int32), zeros, zeros,
        np.zeros(n, np.uint8), np.zeros(n, np.uint8),
    )  # fmt: skip


def test_accesses_of_single_threads():
    offsets = np.arange(32, dtype=np.int32)[None, :] * 100
    threads = by_thread(stream([8, 0], [4, 0], [0b1011, 0b101], [-1, 0], offsets))
    assert threads.base.tolist() == [8, 12, 20, 0, 200]
    assert (threads.mask == 1).all()


def test_calibration_changes_what_it_says_and_no_more():
    kepler, fermi = load_machine("K20c"), load_machine("M2075")
    for machine in (kepler, fermi):
        literal = LITERAL.machine(machine)
        changed = [m.name for m in machine.memories if literal.memory(m.name) != m]
        assert changed == ["cL1"], "lines, as Fig. 4 has it, in place of addresses"
        assert literal.memory("cL1").condition == machine.memory("cL2").condition
        assert literal.spaces == machine.spaces
    assert CALIBRATED.machine(fermi) == LITERAL.machine(fermi)
    changed = CALIBRATED.machine(kepler)
    assert changed.space("readonly").path == "readonly"
    assert changed.memory("readOnly").block_bytes == changed.memory("tL1").block_bytes == 128
    assert changed.memory("L2") == kepler.memory("L2")
    first = CALIBRATED.machine(load_machine("C1060"))
    assert first.memory("globalMem").condition == first.memory("constantMem").condition


@pytest.fixture(scope="module")
def small():
    return spmv_case(poisson_matrix(20))


def test_miss_shares_are_those_of_a_stack(small):
    """Element reuse distances of single threads, counted one by one in Python."""
    machine = load_machine("M2075")
    prepared = prepare(small, machine)
    costs = PlacementCosts(prepared.profile, prepared.legality, LITERAL)
    array = prepared.profile.array("x")
    cache = replace(machine.memory("tL1"), size_bytes=160)
    threads = by_thread(array.stream)
    missed = 0
    for sm in np.unique(threads.sm):
        stack = []
        for address in threads.base[threads.sm == sm].tolist():
            distance = stack.index(address) if address in stack else None
            missed += distance is None or distance >= 40 // 2
            if distance is not None:
                stack.pop(distance)
            stack.insert(0, address)
    assert costs._missed(array, cache, 2) == pytest.approx(missed / len(threads))


def test_paths_add_up_by_hand(small):
    """All arrays in global memory on a C1060, which has no caches: transactions times 548 · 0.2."""
    prepared = prepare(small, load_machine("C1060"))
    costs = PlacementCosts(prepared.profile, prepared.legality, LITERAL)
    names = prepared.legality.arrays
    memory = prepared.machine.memory("globalMem")
    transactions = sum(prepared.profile.transactions(n, memory).sum() for n in names)
    times = costs.path_times(names, ("global",) * len(names))
    assert times[0] == pytest.approx(transactions * 548 * 0.2)
    assert times[1:] == (0.0, 0.0)
    doubled = costs.path_times(names, ("global",) * len(names), 0.4)
    assert doubled[0] == pytest.approx(2 * times[0])


def test_choice_among_equals():
    ranked = [
        ((10.0, 1.0), ("constant", "texture", "texture")),
        ((10.001, 2.0), ("constant", "global", "global")),
        ((11.0, 0.0), ("global", "global", "global")),
    ]
    present = ("global",) * 3
    assert first_of(ranked, present, LITERAL) == ("constant", "texture", "texture")
    assert first_of(ranked, present, FEWEST_MOVES) == ("constant", "global", "global")


def test_readings_share_what_they_can():
    case = particle_case(200)
    kepler = load_machine("K20c")
    both = decide(case, PARTICLEFILTER, kepler, [LITERAL, FEWEST_MOVES])
    assert [d.reading for d in both] == ["literal", "fewest moves"]
    assert (both[1],) == decide(case, PARTICLEFILTER, kepler, [FEWEST_MOVES])
    # A broadcast costs 48 · 0.2 in the cache of constant memory, 103 · 0.2 in texture's.
    assert all(d.chosen[0] == "C" for d in both)
    moved = [sum(letter != "G" for letter in d.chosen) for d in both]
    assert moved[1] <= moved[0]


def test_shared_memory_is_a_choice_beside_the_printed_ones(small):
    """Brute force: every placement by its own path times, with tiles and without."""
    machine = load_machine("M2075")
    (found,) = decide(small, SPMV, machine, [LITERAL])
    prepared = prepare(small, LITERAL.machine(machine))
    costs = PlacementCosts(prepared.profile, prepared.legality, LITERAL)
    names = prepared.legality.arrays
    tiles = [
        s
        for s in product(*(prepared.legality.spaces(n) for n in names))
        if prepared.legality.fits(Placement(tuple(zip(names, s, strict=True)))) is None
    ]
    times = sorted(costs.path_times(names, s)[0] for s in tiles)
    spaces, _, margin = found.with_shared
    assert len(spaces) == 5
    assert margin == pytest.approx(next(t for t in times if t > times[0] * (1 + TIE)) / times[0])
    assert margin <= found.runner_up * (1 + TIE)
    (particles,) = decide(particle_case(200), PARTICLEFILTER, machine, [LITERAL])
    assert particles.with_shared is None


def test_rules_on_spmv_and_particles(small):
    letters, why = rule_row(small, SPMV)
    assert letters == SPMV.rule_based
    assert len(why) == 5
    letters, _ = rule_row(particle_case(200), PARTICLEFILTER)
    # CDF differs: the text has the rules put it in texture memory, the table in global memory.
    assert letters == ("T", "S&G", "G", "G", "G", "G")


def test_facts_of_spmv(small):
    facts = access_facts(prepare(small, load_machine("K20c")))
    assert facts["y"].written
    assert not facts["y"].repeated
    assert facts["columns"].repeated
    assert facts["x"].index_from_data
    assert not facts["row_start"].coalesced


@pytest.mark.slow
@pytest.mark.parametrize(("reading", "cells"), [(LITERAL, 9), (CALIBRATED, 12)])
def test_spmv_cells(reading, cells):
    """How many of the twelve informative cells come out: a finding, kept from slipping away."""
    case = spmv_case(poisson_matrix(100))
    agree = 0
    for name, printed in SPMV.porple.items():
        (decision,) = decide(case, SPMV, load_machine(name), [reading])
        agree += matching(decision.chosen, printed, SPMV.free)
        assert decision.runner_up > 1
    assert agree == cells
