"""A whole probe of a simulated machine, and the machine file that it writes."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter
from small_machine import TEXT

from placewise.advisor import advise
from placewise.cli.commands.machines.probe import Part
from placewise.errors import MachineError
from placewise.machine import load_machine, machine_names, parse_machine
from placewise.probe.infer.banks import infer_banks
from placewise.probe.infer.structure import Structure
from placewise.probe.session import PARTS, TIME_LIMIT_S, Request, probe
from placewise.probe.simulated.target import SimulatedTarget, bank_wavefronts
from placewise.probe.target import INSTRUCTIONS, BankTimes, instructions_of
from placewise.probe.write_machine import machine_text
from placewise.report.formats import json_text
from placewise.report.probe.probe import probe_document
from placewise.schemas import DOCUMENTS


@pytest.fixture(scope="module")
def hidden():
    return parse_machine(TEXT, "tiny.msl")


@pytest.fixture(scope="module")
def found(hidden):
    return probe(SimulatedTarget(hidden, seed=3))


@pytest.fixture(scope="module")
def written(found):
    return parse_machine(machine_text(found, load_machine("RTX3090"), "2026-01-31"), "found.msl")


@pytest.mark.slow
def test_nothing_is_left_out_and_time_is_kept(found):
    assert found.failures == ()
    assert 0 < found.seconds < TIME_LIMIT_S


def test_the_document_of_all_that_was_found_is_what_its_schema_describes(found):
    text = json_text(probe_document(found))
    TypeAdapter(DOCUMENTS["placewise-probe"]).validate_json(text, strict=True)


def test_the_caches_in_the_file_are_those_hidden(hidden, written):
    for name in ("L1", "L2", "cL1", "cL2"):
        ours, theirs = written.memory(name), hidden.memory(name)
        assert ours.size_bytes == theirs.size_bytes
        assert ours.latency_cycles == pytest.approx(theirs.latency_cycles, rel=0.02)
    for name in ("L1", "L2"):
        ours, theirs = written.memory(name).detail, hidden.memory(name).detail
        assert (ours.line_bytes, ours.sector_bytes) == (theirs.line_bytes, theirs.sector_bytes)
        assert (ours.ways, ours.policy) == (theirs.ways, theirs.policy)
    assert written.memory("L2").detail.index == "hashed"
    assert written.memory("globalMem").latency_cycles == pytest.approx(600, rel=0.02)


def test_other_paths_meet_the_same_caches_with_the_same_policy(found):
    first = found.paths["global"].caches[0]
    for path in ("readonly", "texture"):
        cache = found.paths[path].caches[0]
        assert (cache.capacity_bytes, cache.policy) == (first.capacity_bytes, first.policy)
        assert cache.confidence == "high"


def test_tlbs_dram_and_banks_in_the_file_are_those_hidden(hidden, written):
    for ours, theirs in zip(written.tlbs, hidden.tlbs, strict=True):
        assert (ours.entries, ours.ways, ours.page_bytes) == (
            theirs.entries,
            theirs.ways,
            theirs.page_bytes,
        )
    assert written.tlbs[1].latency_cycles == pytest.approx(80, abs=5)
    assert written.tlbs[1].walk_cycles == pytest.approx(220, abs=10)
    assert written.dram.row_bits == hidden.dram.row_bits
    assert set(written.dram.bank_hashes) == set(hidden.dram.bank_hashes)
    assert written.dram.conflict_ns == pytest.approx(560, rel=0.02)
    assert written.memory("sharedMem").banks == 32
    assert written.memory("sharedMem").detail.conflict_cycles == pytest.approx(1.5, rel=0.1)


def test_pace_of_instructions_is_that_hidden(written):
    timing = next(t for t in written.instructions if t.opcode == "FFMA")
    assert timing.lanes_per_cycle == pytest.approx(128, rel=0.05)
    assert timing.latency_cycles == pytest.approx(4, rel=0.05)
    assert written.processor.cores_per_sm == 128
    assert {t.opcode.replace(".", "_") for t in written.instructions} >= set(INSTRUCTIONS)


def test_the_patterns_add_up_by_hand(found):
    # L2 hit 210, DRAM 600; an L2 TLB hit adds 80, a miss of both 220. It switches no page tables,
    # so that there is no sixth pattern.
    by_hand = {1: 210, 2: 290, 3: 430, 4: 600, 5: 820}
    assert {p.number: p.cycles for p in found.patterns} == pytest.approx(by_hand, rel=0.03)


def test_every_figure_says_where_it_is_from(written):
    for memory in written.memories:
        sources = dict(memory.sources)
        assert {"latency", "serialCondition"} <= set(sources)
        assert memory.size_bytes is None or "size" in sources
    assert "confidence high" in dict(written.memory("L1").sources)["size"]
    assert dict(written.memory("L1").detail.sources)["unified"] == "assumed: as of the RTX3090"


def test_a_third_level_is_the_far_partition_of_l2(found):
    path = found.paths["global"]
    far = Structure(260.0, doubts=("not looked at",))
    split = replace(path, caches=(*path.caches, far))
    both = replace(found, paths={**found.paths, "global": split})
    machine = parse_machine(machine_text(both, load_machine("RTX3090"), "2026-01-31"))
    assert machine.memory("L2").latency_cycles == pytest.approx(210, rel=0.02)
    assert machine.memory("L2").detail.far_latency_cycles == 260


def test_a_doubted_address_mapping_is_left_out(found):
    doubted = replace(found, dram=replace(found.dram, doubts=("some pairs do not follow it",)))
    dram = parse_machine(machine_text(doubted, load_machine("RTX3090"), "2026-01-31")).dram
    assert (dram.row_bits, dram.column_bits, dram.bank_hashes) == ((), (), ())
    assert dram.hit_ns == pytest.approx(300, rel=0.02)
    assert "confidence low" in dict(dram.sources)["hit"]


@pytest.mark.slow
def test_advise_works_on_the_file(written, gather_case):
    advice = advise(gather_case, written, finalists=1)
    assert advice.options


def test_quick_takes_only_the_nearest_cache_apart(hidden):
    found = probe(SimulatedTarget(hidden), Request(parts=("global", "curve"), quick=True))
    first, second = found.paths["global"].caches
    assert first.capacity_bytes == 4096
    assert second.capacity_bytes is None
    assert found.paths["global"].doubts == ()
    text = machine_text(found, load_machine("RTX3090"), "2026-01-31")
    machine = parse_machine(text)
    assumed = load_machine("RTX3090").memory("cL1")
    assert machine.memory("cL1").latency_cycles == assumed.latency_cycles
    sizes, cycles = found.curve.sizes, found.curve.cycles
    assert np.interp(2048, sizes, cycles) == pytest.approx(33, rel=0.05)
    assert np.interp(24 << 10, sizes, cycles) == pytest.approx(210, rel=0.05)
    assert np.interp(200 << 10, sizes, cycles) == pytest.approx(600, rel=0.05)


def test_the_curve_of_arrays_that_are_timed_only_in_part():
    large = parse_machine(TEXT.replace("L2 7 N RW na 64KB", "L2 7 N RW na 1MB"), "tiny.msl")
    curve = probe(SimulatedTarget(large), Request(parts=("curve",))).curve
    held = (curve.sizes > 8 << 10) & (curve.sizes < 1000 << 10)
    assert curve.cycles[held] == pytest.approx(210, rel=0.05)
    assert curve.cycles[curve.sizes > 1400 << 10] == pytest.approx(600, rel=0.05)


def test_parts_for_which_no_time_is_left_are_named(hidden):
    found = probe(SimulatedTarget(hidden), Request(time_limit_s=0.001))
    assert found.launch_ns is not None
    assert found.failures[0] == ("global", "no time was left")
    assert ("curve", "no time was left") in found.failures
    with pytest.raises(MachineError, match="no cache of global memory"):
        machine_text(found, load_machine("RTX3090"), "2026-01-31")


class Late(SimulatedTarget):
    """Its time is over once it is told so."""

    late = False

    def elapsed_s(self):
        return 1e6 if self.late else 0.0


def test_a_probe_that_runs_out_of_time_still_writes_what_it_knows(hidden):
    target = Late(hidden)

    def watch(what, _done, _total):
        target.late = "cache 1" in what

    found = probe(target, Request(parts=("global",)), watch)
    assert found.failures == (("global", "no time was left for more than is shown"),)
    l1, l2 = found.paths["global"].caches
    assert (l1.latency_cycles, l2.latency_cycles) == pytest.approx((33, 210), rel=0.02)
    assert l1.doubts == l2.doubts == ("no time was left",)
    machine = parse_machine(machine_text(found, load_machine("RTX3090"), "2026-01-31"))
    assert machine.memory("L2").latency_cycles == pytest.approx(210, rel=0.02)
    assumed = load_machine("RTX3090").memory("L1")
    assert machine.memory("L1").size_bytes == assumed.size_bytes


def test_progress_says_how_much_of_the_time_is_spent(hidden):
    seen = []
    probe(
        SimulatedTarget(hidden),
        Request(parts=("launch", "constant"), time_limit_s=100),
        lambda what, done, total: seen.append((what, done, total)),
    )
    assert seen[0] == ("launch (0 of at most 100 s)", 0, 2)
    assert ("constant, cache 1 of 2 (0 of at most 100 s)", 1, 2) in seen
    assert seen[-1] == ("done", 2, 2)


class OneRefuses(SimulatedTarget):
    def instruction(self, name):
        if name == "DADD":
            raise MachineError("not on this device")
        return super().instruction(name)


def test_an_instruction_that_is_refused_costs_only_itself(hidden):
    found = probe(OneRefuses(hidden), Request(parts=("instructions",)))
    assert found.failures == (("instruction DADD", "not on this device"),)
    assert len(found.instructions) == len(instructions_of((8, 6))) - 1


def test_tensor_cores_are_timed_where_there_are_some():
    assert "HMMA_16816_F32" in instructions_of((9, 0))
    assert "HMMA_16816_F32" not in instructions_of((7, 5))
    assert instructions_of((7, 0)) == INSTRUCTIONS


def test_a_part_that_fails_does_not_stop_the_others(hidden):
    found = probe(SimulatedTarget(hidden), Request(parts=("patterns", "launch")))
    assert found.failures == (("patterns", "needs the caches and TLBs of the part 'global'"),)
    assert found.launch_ns == pytest.approx(2000, rel=0.05)


def test_the_command_names_the_same_parts():
    assert tuple(part.value for part in Part) == PARTS


@pytest.mark.parametrize(
    ("stride", "width", "wavefronts"),
    [(1, 4, 1), (2, 4, 2), (3, 4, 1), (32, 4, 32), (1, 8, 2), (1, 16, 4), (16, 8, 32), (8, 16, 32)],
)
def test_wavefronts_of_strided_lanes(stride, width, wavefronts):
    assert bank_wavefronts(stride, width, 32) == wavefronts


@pytest.mark.parametrize("banks", [32, 64, 128])
def test_banks_follow_from_strides(banks):
    times = tuple(
        BankTimes(s, 4, 20.0 + 2.0 * (w - 1), 1.1 * w)
        for s in (1, 16, 32)
        for w in (bank_wavefronts(s, 4, banks),)
    )
    found = infer_banks(times)
    assert (found.banks, found.conflict_cycles) == (banks, pytest.approx(2.0))


def test_times_that_are_no_banks_are_refused():
    flat = tuple(BankTimes(s, 4, 20.0, 1.0) for s in (1, 16, 32))
    with pytest.raises(MachineError, match="as long as 1"):
        infer_banks(flat)
    with pytest.raises(MachineError, match="strides of 1, 16 and 32"):
        infer_banks(flat[:2])


@pytest.mark.parametrize("name", [n for n in machine_names() if "readonly" in
                                  {s.name for s in load_machine(n).spaces}])  # fmt: skip
def test_bundled_machines_can_be_simulated(name):
    target = SimulatedTarget(load_machine(name))
    for path in ("global", "readonly", "texture", "constant", "shared"):
        assert target.chaser(path).reach_bytes > 0
    assert target.facts.l2_bytes > 0
