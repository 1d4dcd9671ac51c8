"""Printed figures of GPUs against the machine files."""

import pytest

from placewise.machine import load_machine
from placewise.reproduce.machine_tables import LATENCIES, latency_of, machine_tables


@pytest.mark.parametrize(
    ("machine", "column", "cycles"),
    [("K20c", "Read-only", 141), ("M2075", "gL1", 80), ("C1060", "tL2", 366), ("K20c", "tL2", 222)],
)
def test_latencies_come_from_the_memory_of_the_column(machine, column, cycles):
    assert latency_of(load_machine(machine), column) == cycles


def test_memories_that_a_gpu_lacks_have_no_latency():
    for machine, printed in LATENCIES.items():
        ours = [latency_of(load_machine(machine), c) for c in ("gL2", "gL1", "Read-only")]
        assert [v is None for v in ours] == [printed[n] is None for n in (4, 5, 6)]


def test_only_fermis_l1_differs_from_what_is_printed():
    """Peng et al. print L1 and shared memory together."""
    found = machine_tables()
    differing = [row for table in found.tables for row in table.rows if row[-1] == "no"]
    assert [row[0] for row in differing] == ["L1, bytes"]
    assert found.figures["rows"] - found.figures["rows as printed"] == 1
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
