"""Plateaus of latency curves made by hand."""

import numpy as np
import pytest

from placewise.errors import MachineError
from placewise.probe.infer.curve import Curve, plateaus, read_latency_curve


def test_levels_of_a_sharp_staircase():
    sizes = np.geomspace(1024, 1 << 28, 200)
    cycles = np.where(sizes < 65536, 30.0, np.where(sizes < 4 << 20, 200.0, 600.0))
    first, second, last = plateaus(Curve(sizes, cycles))
    assert [first.cycles, second.cycles, last.cycles] == [30.0, 200.0, 600.0]
    assert first.capacity_bytes == pytest.approx(65536, rel=0.07)
    assert second.capacity_bytes == pytest.approx(4 << 20, rel=0.07)
    assert last.capacity_bytes is None


def test_file_of_gpu_latency(tmp_path):
    path = tmp_path / "latency.txt"
    rows = [(k, 30.0 if k < 100 else 90.0) for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)]
    path.write_text("clock: 1380 1380\n" + "".join(f" 100 1380 {k} 1.0 {c}\n" for k, c in rows))
    curve = read_latency_curve(path)
    assert curve.sizes.tolist() == [k * 1024 for k, _ in rows]
    assert len(plateaus(curve)) == 2


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.txt"
    path.write_text("nothing\n")
    with pytest.raises(MachineError, match="no latencies"):
        read_latency_curve(path)
    with pytest.raises(MachineError, match="cannot read"):
        read_latency_curve(tmp_path / "absent.txt")


def test_what_is_no_number_is_no_latency(tmp_path):
    file = tmp_path / "latency.txt"
    file.write_text("1 1410 1 25.5 nan\n" * 8)
    with pytest.raises(MachineError, match="no latencies"):
        read_latency_curve(file)
