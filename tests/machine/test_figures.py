"""Figures of machines, their differences, and files from mt4g."""

import json

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine, machine_names, parse_machine
from placewise.machine.device_machine import machine_for
from placewise.machine.figures import differences, figures
from placewise.recorded.mt4g import read_mt4g
from placewise.report.machine import as_written, machine_document


def level(size, latency, line=128, fetched=32, confidence=0.99):
    return {
        "size": {"size": size, "confidence": confidence},
        "latency": {"mean": latency},
        "lineSize": {"size": line},
        "fetchGranularity": {"size": fetched},
    }


def topology():
    return {
        "compute": {
            "maxBlocksPerMultiProcessor": 16,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiProcessor": 1024,
            "multiProcessorCount": 40,
            "numberOfCoresPerMultiProcessor": 64,
            "regsPerMultiProcessor": 65536,
        },
        "general": {
            "clockRate": {"unit": "kHz", "value": 1590000},
            "computeCapability": {"major": 7, "minor": 5},
            "name": "Some GPU",
        },
        "memory": {
            "constant": {
                "l1": level(2048, 21.0, 64, 64),
                "l1.5": level(65537, 105.0, 256, 256, confidence=0.0),
                "totalConstMem": {"value": 65536},
            },
            "l1": level(62976, 32.0),
            "l2": {**level(0, 188.0), "size": {"unit": "bytes", "value": 4194304}},
            "main": {
                "latency": {"mean": 480.0},
                "totalGlobalMem": {"value": 16 << 30},
                "readBandwidth": {"unit": "GiB/s", "value": 250.0},
            },
            "shared": {
                "latency": {"mean": 19.0},
                "sharedMemPerBlock": {"value": 49152},
                "sharedMemPerMultiProcessor": {"value": 65536},
            },
        },
    }


def written(tmp_path, content):
    path = tmp_path / "gpu.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_mt4g_figures_arrive_in_the_machine(tmp_path):
    machine = parse_machine(read_mt4g(written(tmp_path, topology())))
    assert machine.processor.sms == 40
    assert machine.limits.clock_mhz == 1590
    assert machine.limits.compute_capability == (7, 5)
    assert machine.limits.dram_bandwidth_gb_per_s == pytest.approx(250 * 1.073741824, rel=1e-3)
    assert machine.memory("L1").size_bytes == 62976
    assert machine.memory("L1").detail.sector_bytes == 32
    assert machine.memory("L2").size_bytes == 4 << 20
    assert machine.memory("globalMem").latency_cycles == 480
    assert machine.memory("cL2").size_bytes is None
    assert {space.name for space in machine.spaces} >= {"global", "shared", "constant"}
    assert "mt4g" in dict(machine.memory("L2").sources)["latency"]


def test_what_mt4g_does_not_measure_is_a_near_machines(tmp_path):
    machine = parse_machine(read_mt4g(written(tmp_path, topology())))
    near = machine_for("Some GPU", (7, 5))
    assert {pipe.name: pipe.lanes_per_cycle for pipe in machine.pipes} == {
        pipe.name: pipe.lanes_per_cycle for pipe in near.pipes
    }
    l1 = machine.memory("L1").detail
    assert (l1.line_bytes, l1.writes) == (128, near.memory("L1").detail.writes)
    assert dict(l1.sources)["writes"] == f"assumed: as of the {near.name}"
    # Sizes and bandwidths of another chip are not taken over.
    assert machine.memory("L2").detail.bytes_per_cycle is None
    assert dict(machine.limits.sources)["schedulers_per_sm"].startswith("assumed")


def test_mt4g_gives_peak_and_achieved_bandwidth(tmp_path):
    content = topology()
    content["memory"]["main"] |= {
        "memoryClockRate": {"unit": "kHz", "value": 7000000},
        "memoryBusWidth": {"unit": "bit", "value": 352},
    }
    limits = parse_machine(read_mt4g(written(tmp_path, content))).limits
    # GDDR6 of a RTX 2080 Ti: 14 Gbit/s on 352 lines.
    assert limits.dram_bandwidth_gb_per_s == pytest.approx(616)
    assert limits.dram_bandwidth_achieved_gb_per_s == pytest.approx(268.4, rel=1e-3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a readable JSON file"),
        ("[]", "not a readable topology"),
        ('{"compute": {}}', "not a readable topology"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    with pytest.raises(MachineError, match=message):
        read_mt4g(written(tmp_path, content))


def test_a_missing_file_is_one_clear_error(tmp_path):
    with pytest.raises(MachineError, match="No such file"):
        read_mt4g(tmp_path / "gone.json")


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_of_the_bundled_machines_that_is_known_has_a_source(name):
    machine = load_machine(name)
    shown = {(f.part, f.name): f for f in figures(machine)}
    assert shown["globalMem", "latency"].value == machine.memory("globalMem").latency_cycles
    for (part, figure), f in shown.items():
        if figure in ("size", "latency", "die", "sm", "clock") and f.value is not None:
            assert f.source, (part, figure)
    json.dumps(machine_document(machine))


def test_differences_are_exactly_what_was_changed():
    text = (
        "machine A; die = 1 tpc; tpc = 1 sm; sm = 32 core;"
        "globalMem 1 Y RW na 1GB 32B ? 500clk <> <> die ?"
        " warp{address1 != address2};"
    )
    one = parse_machine(text)
    assert differences(one, one) == ()
    (found,) = differences(one, parse_machine(text.replace("500clk", "600clk")))
    assert (found.part, found.name) == ("globalMem", "latency")
    assert (as_written(found.one), as_written(found.other)) == ("500 clk", "600 clk")
