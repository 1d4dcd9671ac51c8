"""Others' measurements as files, made from caches and bandwidths that are known."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import MachineError
from placewise.probe.chase import Chase
from placewise.probe.recorded.levels import read_levels
from placewise.probe.recorded.mt4g_raw import read_mt4g_raw
from placewise.probe.recorded.raw import (
    bandwidth_levels,
    read_bandwidth_curve,
    read_mt4g_sizes,
    read_size,
)
from placewise.probe.simulated.chases import (
    Noise,
    SimulatedCache,
    SimulatedDevice,
    SimulatedHierarchy,
)

KB = 1024


def raw_file(path, policy, sizes):
    """What mt4g writes, of a simulated cache of 8 KB."""
    cache = SimulatedCache(128, (4,) * 16, 40.0, policy=policy)
    hierarchy = SimulatedHierarchy((cache,), 200.0)
    device = SimulatedDevice(hierarchy, noise=Noise(0.02, 0.0), seed=5)
    rows = []
    for size in sizes:
        lap = np.arange(0, size, 32)
        cycles = device.run(Chase(lap, laps=2, warm=3)).cycles.reshape(-1)[:128]
        rows.append(",".join(str(int(n)) for n in (size, *cycles)))
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(("policy", "over"), [("lru", 0), ("random", 512)])
def test_raw_sizes_of_mt4g_give_the_capacity(tmp_path, policy, over):
    """Exactly, where each lap over one line too many misses. With random replacement the line that
    is absent may be none of the first 128: of 60 seeds most are a step of 256 bytes too high."""
    path = raw_file(tmp_path / "GPU__L1_Size.txt", policy, range(4 * KB, 16 * KB, 256))
    found = read_size(read_mt4g_sizes(path))
    assert 8 * KB <= found.capacity_bytes <= 8 * KB + over
    assert found.hit_cycles == pytest.approx(40, rel=0.03)
    assert found.confidence == "high"


def test_raw_sizes_that_all_fit_are_doubted(tmp_path):
    path = raw_file(tmp_path / "GPU__L1_Size.txt", "lru", range(2 * KB, 8 * KB, 256))
    found = read_size(read_mt4g_sizes(path))
    assert (found.capacity_bytes, found.confidence) == (None, "low")


def device_with(*caches, seed=5):
    return SimulatedDevice(
        SimulatedHierarchy(caches, 300.0), noise=Noise(0.02, 0.002), seed=seed, reach_bytes=1 << 22
    )


@pytest.mark.parametrize("piece", [32, 64, 256])
def test_raw_fetch_granularity_of_mt4g(tmp_path, piece):
    device = device_with(SimulatedCache(256, (8,) * 512, 40.0, piece))
    rows = [
        ",".join(str(int(n)) for n in (stride, *device.run(Chase(lap)).cycles[0]))
        for stride in range(4, 2 * piece + 4, 4)
        for lap in (np.arange(65) * stride,)
    ]
    path = tmp_path / "GPU_-_L1_Fetch_Granularity.txt"
    path.write_text("\n".join(rows))
    found = read_mt4g_raw(path)
    assert (found.fetched_bytes, found.doubts) == (piece, ())
    assert found.cycles == pytest.approx(40, rel=0.1)
    assert read_levels(path)[0].fetched_bytes == piece


@pytest.mark.parametrize("line", [64, 128])
def test_raw_line_size_of_mt4g(tmp_path, line):
    device = device_with(SimulatedCache(line, (8 * KB // line,), 40.0, 32))
    rows = []
    for stride in range(16, 272, 16):
        for size in range(16 * KB // 3, 32 * KB // 3, 512):
            lap = np.arange(0, size, stride)
            cycles = device.run(Chase(lap, warm=1)).cycles[0][:24]
            rows.append(",".join(str(int(n)) for n in (stride, size, *cycles)))
    path = tmp_path / "GPU_-_L1_Line_Size.txt"
    path.write_text("\n".join(rows))
    found = read_mt4g_raw(path)
    assert (found.line_bytes, found.doubts) == (line, ())


def test_raw_latency_of_mt4g(tmp_path):
    path = tmp_path / "GPU_-_L2_Latency.txt"
    path.write_text("\n".join(["210", "230"] * 20))
    assert read_levels(path)[0].cycles == 220


def test_streams_over_occupancy(tmp_path):
    path = tmp_path / "gpu-stream.txt"
    rows = ["blockSize   threads       %occ  |                init       read"]
    rows += [
        f"  {32 * k}  {k * 2688}   {4 * k} %  |  GB/s:  {60 * k}  {62.5 * k}" for k in range(1, 9)
    ]
    path.write_text("\n".join(rows))
    (level,) = read_levels(path)
    assert (level.capacity_bytes, level.gb_per_s) == (None, 500.0)


def test_bandwidth_of_l2_over_size(tmp_path):
    path = tmp_path / "gpu-l2-cache.txt"
    rows = [
        f"  512 kB  {kb} kB   5ms   1.4%  {3000 if kb <= 8192 else 900} GB/s   0 GB/s"
        for kb in np.unique(np.geomspace(1024, 65536, 40).astype(int))
    ]
    path.write_text("\n".join(rows))
    l2, dram = read_levels(path)
    assert (l2.gb_per_s, dram.gb_per_s) == (3000, 900)
    assert l2.capacity_bytes / KB == pytest.approx(8192, rel=0.12)


def test_bandwidth_over_size(tmp_path):
    path = tmp_path / "gpu-cache.txt"
    random = np.random.default_rng(2)
    rows = ["     data set   exec time     spread        Eff. bw       DRAM read"]
    for kb in np.unique(np.geomspace(1, 65536, 90).astype(int)):
        rate = 9000 if kb <= 128 else 3000 if kb <= 8192 else 900
        rate *= random.uniform(0.97, 1.03)
        rows.append(f"  {kb} kB         5ms       1.4%   {rate:.1f} GB/s         0 GB/s")
    path.write_text("\n".join(rows))
    first, second, last = bandwidth_levels(read_bandwidth_curve(path))
    assert first == (pytest.approx(9000, rel=0.05), pytest.approx(128 * KB, rel=0.15))
    assert second == (pytest.approx(3000, rel=0.05), pytest.approx(8192 * KB, rel=0.15))
    assert last == (pytest.approx(900, rel=0.05), None)


def test_the_command_reads_whichever_file_it_gets(tmp_path):
    path = raw_file(tmp_path / "GPU__L1_Size.txt", "lru", range(4 * KB, 16 * KB, 512))
    result = CliRunner().invoke(app, ["machine", "curve", str(path), "--json"])
    assert result.exit_code == 0, result.output
    (level,) = json.loads(result.stdout)["levels"]
    assert level["capacity_bytes"] == 8 * KB
    assert "8 KB" in CliRunner().invoke(app, ["machine", "curve", str(path)]).stdout
    rows = [(k, 30.0 if k < 100 else 90.0) for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)]
    path.write_text("".join(f" 100 1380 {k} 1.0 {c}\n" for k, c in rows))
    assert [level.cycles for level in read_levels(path)] == [30.0, 90.0]


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.txt"
    with pytest.raises(MachineError, match="no such file"):
        read_levels(path)
    path.write_text("nothing of the kind\n")
    with pytest.raises(MachineError, match="neither latencies nor bandwidths"):
        read_levels(path)
    with pytest.raises(MachineError, match="no chases"):
        read_mt4g_sizes(path)
    with pytest.raises(MachineError, match="no bandwidths"):
        read_bandwidth_curve(path)
