"""The machine file that stands for a GPU."""

import pytest

from placewise.machine.device_machine import machine_for, machine_named


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
        ("NVIDIA RTX A1000", (8, 6), "A10"),
        ("Tesla V100-PCIE-16GB", (7, 0), "V100"),
        ("Tesla K80", (3, 7), "K80"),
        ("Tesla K40m", (3, 5), "K20c"),
    ],
)
def test_by_name_then_by_compute_capability(device, capability, machine):
    assert machine_for(device, capability).name == machine


@pytest.mark.parametrize(
    ("device", "machine"),
    [
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "RTX3060_Laptop"),
        ("NVIDIA GeForce RTX 3060 Ti", "RTX3060Ti"),
        ("NVIDIA GeForce RTX 3060", "RTX3060"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX2080Ti"),
        ("NVIDIA TITAN RTX", "TitanRTX"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA GeForce RTX 3080 Ti", None),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("NVIDIA GeForce RTX 2070 SUPER", None),
        ("NVIDIA GeForce RTX 2070 with Max-Q Design", None),
    ],
)
def test_a_variant_is_a_board_of_its_own(device, machine):
    assert machine_named(device) == machine
