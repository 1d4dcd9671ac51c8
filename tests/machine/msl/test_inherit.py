"""Inheritance of machine files: what replaces, what merges, what goes, and errors."""

from __future__ import annotations

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine, parse_machine
from placewise.machine.load import architecture_names, machine_names
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.printer import print_specification

HEIR = """machine Mine like A100 "My board";
source sheet "a datasheet";
without pipe tex;
without space streaming;
limits { dram_bandwidth = 2 TB/s from sheet; launch_overhead = 3 us; }
change globalMem { size = 80 GB from sheet "80 GB"; latency = <568 500> clk; }
detail L2 { slices = ?; ways = 16 from mt4g; }
pipe fma { width = 32 lanes/clk; }
instruction FFMA { latency = 5 clk; }
space global X direct <L2 globalMem> global RW;
"""


def test_own_entries_change_the_base():
    base, heir = load_machine("A100"), parse_machine(HEIR)
    assert (heir.name, heir.title) == ("Mine", "My board")
    assert heir.limits.dram_bandwidth_gb_per_s == 2000
    assert heir.limits.launch_overhead_ns == 3000
    assert heir.limits.clock_mhz == base.limits.clock_mhz
    memory = heir.memory("globalMem")
    assert memory.size_bytes == 80 << 30
    assert (memory.latency_cycles, memory.write_latency_cycles) == (568, 500)
    assert memory.condition == base.memory("globalMem").condition
    assert heir.memory("L2").detail.slices is None
    assert heir.memory("L2").detail.ways == 16
    assert heir.memory("L2").detail.line_bytes == 128
    assert [p.name for p in heir.pipes] == [p.name for p in base.pipes if p.name != "tex"]
    assert heir.pipes[0].lanes_per_cycle == 32
    assert heir.pipes[0].executes == base.pipes[0].executes
    assert heir.instructions[-1].opcode == "FFMA"
    assert [s.name for s in heir.spaces] == [s.name for s in base.spaces if s.name != "streaming"]
    assert (heir.space("global").letter, heir.space("global").levels) == ("X", ("L2", "globalMem"))
    assert heir.processor.sms == base.processor.sms


def test_sources_say_what_is_inherited():
    heir = parse_machine(HEIR)
    limits, memory = dict(heir.limits.sources), dict(heir.memory("globalMem").sources)
    assert limits["dram_bandwidth"] == "a datasheet"
    assert limits["clock"].endswith("highest SM clock, inherited from A100")
    assert "inherited from SinceVolta" in dict(heir.limits.sources)["max_grid"]
    assert memory["size"] == "a datasheet, 80 GB"
    assert "latency" not in memory, "the base's source does not hold for another figure"
    ways = dict(heir.memory("L2").detail.sources)["ways"]
    assert ways == "mt4g topology of an NVIDIA A100-PCIE-40GB, 2025-08-10"


def test_a_repeated_setting_is_replaced_as_a_whole(tmp_path):
    base = tmp_path / "base.msl"
    base.write_text(
        "machine B like A100; detail L2 { slices = 4; slice = <7 8>; slice = <9 10>; }", "utf-8"
    )
    own = tmp_path / "own.msl"
    own.write_text(
        'machine M like "base.msl"; detail L2 { slices = 2; slice = <7 11>; }', encoding="utf-8"
    )
    assert load_machine(base).memory("L2").detail.slice_hashes == (0x180, 0x600)
    assert load_machine(own).memory("L2").detail.slice_hashes == (1 << 7 | 1 << 11,)


def test_a_header_alone_is_the_base_under_another_name():
    twin = parse_machine("machine Twin like h100;")
    base = load_machine("H100")
    assert (twin.name, twin.title) == ("Twin", "Twin")
    assert [(m.name, m.latency_cycles, m.detail.ways) for m in twin.memories] == [
        (m.name, m.latency_cycles, m.detail.ways) for m in base.memories
    ]
    assert twin.spaces == base.spaces


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("machine M like A101;", "<machine>:1:16", "no machine or architecture named 'A101'"),
        ('machine M like "none.msl";', "<machine>:1:16", "cannot read the base none.msl"),
        ("machine M like A100; change L3 { size = 1 MB; }", "<machine>:1:29", "called 'L3'"),
        ("machine M like A100; change L2 { rw = R; }", "<machine>:1:34", "not 'rw'"),
        ("machine M like A100; change L2 { size = 1 clk; }", "<machine>:1:34", "size = 80 GB"),
        (
            "machine M like A100; change L2 { size = 1 KB; size = 2 KB; }",
            "<machine>:1:47",
            "given twice",
        ),
        ("machine M like A100; without pipe fmb;", "<machine>:1:30", "no pipe fmb to leave out"),
        ("machine M like A100; without dram;", "<machine>:1:30", "no dram to leave out"),
        ("machine M like A100; without memory L2;", "A100.msl", "L2"),
        ("architecture A like SinceVolta;", "<machine>:1:14", "is an architecture"),
        ("machine M like SinceVolta;", "<machine>:1:1", "no processor entry"),
        (
            "machine M; die = 1 tpc; tpc = 1 sm; sm = 1 core; without dram;",
            "<machine>:1:58",
            "nothing inherited",
        ),
    ],
)
def test_errors_are_located(text, where, message):
    with pytest.raises(MachineError) as caught:
        parse_machine(text)
    assert message in str(caught.value)
    if where != "A100.msl":
        assert caught.value.where == where


def test_bases_that_lead_back_are_an_error(tmp_path):
    for name, base in (("a", "b"), ("b", "a"), ("c", "c")):
        (tmp_path / f"{name}.msl").write_text(f'machine {name} like "{base}.msl";', "utf-8")
    for name in "ac":
        with pytest.raises(MachineError, match="lead back to themselves") as caught:
            load_machine(tmp_path / f"{name}.msl")
        assert caught.value.where is not None


def test_an_error_in_the_base_names_the_base(tmp_path):
    (tmp_path / "base.msl").write_text("machine B like A100;\nlimits { clock = 1 s; }", "utf-8")
    (tmp_path / "own.msl").write_text('machine M like "base.msl";', "utf-8")
    with pytest.raises(MachineError) as caught:
        load_machine(tmp_path / "own.msl")
    assert caught.value.where == f"{tmp_path / 'base.msl'}:2:10"


def test_inheritance_survives_printing():
    specification = parse_specification(HEIR)
    assert parse_specification(print_specification(specification)) == specification


def test_architectures_are_no_machines():
    assert architecture_names() == ("SinceAmpere", "SinceTuring", "SinceVolta")
    assert not set(architecture_names()) & set(machine_names())
    with pytest.raises(MachineError):
        load_machine("SinceVolta")
