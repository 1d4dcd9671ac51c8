"""``pipe``, ``instruction``, ``tlb`` and ``dram`` entries as values, and what is wrong in them."""

import pytest

from placewise.errors import MachineError
from placewise.machine import parse_machine
from placewise.machine.figures import figures
from placewise.machine.opcode_pipes import pipes_of, timing_of

SMALL = """machine Small;
source guide "A guide";
die = 1 tpc; tpc = 1 sm; sm = 32 core;
globalMem 1 Y RW na 1GB 32B ? 500clk <L2> <> die ? warp{address1 != address2};
L2 2 N RW na 1MB 32B ? 200clk <> <globalMem> die ? warp{address1 != address2};
space global G direct <L2 globalMem> global RW;
"""


def parsed(text):
    return parse_machine(SMALL + text, "small.msl")


def test_pipes_and_instructions():
    machine = parsed("""
        pipe fma { width = 64 lanes/clk from guide "Table 1"; latency = 4 clk;
                   executes = <FFMA IMAD>; }
        pipe lite { width = 32.5 lanes/clk; executes = <FFMA FADD>; }
        pipe heavy { width = ?; executes = <IMAD.WIDE>; }
        instruction IMAD.HI { rate = 16 lanes/clk; latency = 6 clk; }
        instruction IMAD { latency = 5 clk; issue = 2 clk; }
    """)
    fma, lite, heavy = machine.pipes
    assert (fma.name, fma.lanes_per_cycle, fma.latency_cycles) == ("fma", 64.0, 4.0)
    assert fma.executes == ("FFMA", "IMAD")
    assert fma.sources == (("width", "A guide, Table 1"),)
    assert (lite.lanes_per_cycle, lite.latency_cycles, heavy.lanes_per_cycle) == (32.5, None, None)
    assert pipes_of(machine, "FFMA.RM") == (fma, lite)
    assert pipes_of(machine, "IMAD.X") == (fma,)
    assert pipes_of(machine, "IMAD.WIDE.U32") == (heavy,)
    assert pipes_of(machine, "IMADX") == ()
    assert timing_of(machine, "IMAD.HI.U32").latency_cycles == 6.0
    assert timing_of(machine, "IMAD.U32").latency_cycles == 5.0
    assert timing_of(machine, "IMAD.U32").issue_cycles == 2.0
    assert timing_of(machine, "IMAD.HI.U32").issue_cycles is None
    assert timing_of(machine, "FFMA") is None


def test_tlbs_with_even_and_uneven_sets():
    machine = parsed("""
        tlb first { entries = 16; ways = 4; page = 2 MB; scope = sm; before = L2; policy = plru;
                    latency = 0 clk; }
        tlb second { entries = 33; ways = <17 8 8>; page = 64 KB; latency = 90 clk;
                     walk = 250 clk; }
        tlb third { ways = ?; }
    """)
    first, second, third = machine.tlbs
    assert first.ways == (4, 4, 4, 4)
    assert (first.page_bytes, first.scope, first.before) == (2 << 20, "sm", "L2")
    assert (first.policy, first.latency_cycles, first.walk_cycles) == ("plru", 0.0, None)
    assert (second.ways, second.walk_cycles) == ((17, 8, 8), 250.0)
    assert (third.entries, third.ways, third.page_bytes) == (None, (), None)


def test_dram_mapping_and_timings():
    dram = parsed("""
        dram { channels = 2; banks = 4; row = 2 KB; columns = <3 4 5>; rows = <15 16 17>;
               bank = <6 15>; bank = <7 16>; channel = <8 17>;
               hit = 352 ns; miss = 742 ns; conflict = 1.008 us from guide; }
    """).dram
    assert (dram.channels, dram.banks, dram.row_bytes) == (2, 4, 2048)
    assert (dram.column_bits, dram.row_bits) == ((3, 4, 5), (15, 16, 17))
    assert dram.bank_hashes == (1 << 6 | 1 << 15, 1 << 7 | 1 << 16)
    assert dram.channel_hashes == (1 << 8 | 1 << 17,)
    assert (dram.hit_ns, dram.miss_ns, dram.conflict_ns) == (352.0, 742.0, 1008.0)
    assert dram.sources == (("conflict", "A guide"),)


def test_limits_and_details_of_issue_and_conflicts():
    machine = parsed("""
        limits { schedulers_per_sm = 4; issues_per_scheduler = 2; launch_overhead = 2.2 us;
                 dram_bandwidth_achieved = 1.39 TB/s; }
        detail L2 { conflict = 2 clk; far_latency = 400 clk; }
    """)
    limits, detail = machine.limits, machine.memory("L2").detail
    assert (limits.schedulers_per_sm, limits.issues_per_scheduler) == (4, 2)
    assert limits.launch_overhead_ns == 2200.0
    assert limits.dram_bandwidth_achieved_gb_per_s == 1390.0
    assert (detail.conflict_cycles, detail.far_latency_cycles) == (2.0, 400.0)


def test_what_is_not_stated_is_unknown():
    machine = parsed("")
    assert (machine.pipes, machine.instructions, machine.tlbs) == ((), (), ())
    assert machine.dram is None
    assert machine.limits.launch_overhead_ns is None


def test_figures_show_every_part():
    machine = parsed("""
        pipe fma { width = 64 lanes/clk from guide; }
        instruction FFMA { latency = 4 clk; }
        tlb first { entries = 2; page = 2 MB; }
        dram { bank = <6 15>; bank = <7>; rows = <15 16>; }
    """)
    shown = {(f.part, f.name): f for f in figures(machine)}
    assert shown["pipe fma", "width"].value == 64.0
    assert shown["pipe fma", "width"].source == "A guide"
    assert shown["pipe fma", "latency"].value is None
    assert shown["instruction FFMA", "latency"].unit == "clk"
    assert ("instruction FFMA", "rate") not in shown
    assert shown["tlb first", "page"].value == 2 << 20
    assert shown["dram", "bank"].value == "6^15, 7"
    assert shown["dram", "rows"].value == "15 16"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("pipe a { } pipe a { }", "8:12", "a second pipe entry of a"),
        ("dram { }\ndram { }", "9:1", "a second dram entry"),
        ("pipe a { speed = 3; }", "8:10", "unknown setting 'speed'"),
        ("pipe a { width = 64; }", "8:10", "width should look like: width = 64 lanes/clk;"),
        ("pipe a { width = 64 B; }", "8:10", "unknown unit 'B' of width"),
        ("pipe a { executes = FFMA; }", "8:10", "executes should look like"),
        ("pipe a { executes = <FFMA FFMA>; }", "8:10", "executes should look like"),
        ("pipe a { latency = 4 clk; latency = 5 clk; }", "8:27", "'latency' is given twice"),
        ("instruction ffma { }", "8:13", "expected an opcode such as FFMA"),
        ("tlb a { before = L3; }", "8:1", "no memory is called 'L3'"),
        ("tlb a { entries = 16; ways = <8 9>; }", "8:1", "do not add up"),
        ("tlb a { page = 3 KB; }", "8:1", "power of two"),
        ("tlb a { policy = weighted; }", "8:9", "policy cannot be 'weighted'"),
        ("dram { rows = <16 15>; }", "8:8", "rows should look like"),
        ("dram { rows = <70>; }", "8:8", "rows should look like"),
        ("dram { rows = <1.5>; }", "8:8", "rows should look like"),
        ("dram { rows = <5>; columns = <5 6>; }", "8:1", "bit 5 is both"),
        ("dram { banks = 4; bank = <5>; }", "8:1", "1 bank lines tell 2 banks apart"),
        ("dram { hit = 3 clk; }", "8:8", "unknown unit 'clk' of hit"),
        ("dram { rows = <5 six>; }", "8:18", "expected"),
        ("pip a { width = 64 lanes/clk; }", "8:5", "did you mean 'pipe'"),
        ("limits { launch_overhead = 3; }", "8:10", "launch_overhead should look like"),
    ],
)
def test_errors_say_where_and_what(text, place, message):
    with pytest.raises(MachineError) as caught:
        parsed("\n" + text)
    assert message in str(caught.value)
    assert f"small.msl:{place}" in str(caught.value)
