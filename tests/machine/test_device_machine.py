"""The machine file that stands for a GPU."""

import pytest

from placewise.machine.device_machine import machine_for


@pytest.mark.parametrize(
    ("device", "capability", "machine"),
    [
        ("NVIDIA A100-SXM4-80GB", (8, 0), "A100_80"),
        ("NVIDIA A100-PCIE-40GB", (8, 0), "A100"),
        ("NVIDIA H200", (9, 0), "H200"),
        ("NVIDIA H100 80GB HBM3", (9, 0), "H100"),
        ("Tesla K20c", (3, 5), "K20c"),
        ("NVIDIA GeForce RTX 3090", (8, 6), "RTX3090"),
        ("NVIDIA RTX A4000", (8, 6), "A4000"),
        ("NVIDIA RTX A1000", (8, 6), "A4000"),
        ("Tesla V100-PCIE-16GB", (7, 0), "V100"),
        ("Tesla K80", (3, 7), "K80"),
        ("Tesla K40m", (3, 5), "K20c"),
    ],
)
def test_by_name_then_by_compute_capability(device, capability, machine):
    assert machine_for(device, capability).name == machine
