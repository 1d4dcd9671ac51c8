"""Recomputes tables of papers and shows the printed figures beside the program's."""

from placewise.reproduce.ablations import ablations
from placewise.reproduce.addressing_table import addressing_reproduction
from placewise.reproduce.coverage import coverage
from placewise.reproduce.event_selection import event_selection
from placewise.reproduce.hu_liu.hu_liu_tables import hu_liu_tables
from placewise.reproduce.machine_tables import machine_tables
from placewise.reproduce.mei_tables import mei_tables
from placewise.reproduce.peng_tables import peng_tables
from placewise.reproduce.placement_tests import placement_tests
from placewise.reproduce.porple_table4 import porple_table4
from placewise.reproduce.result import Reproduction, Table
from placewise.reproduce.speedups.porple_speedups import porple_speedups

__all__ = [
    "Reproduction",
    "Table",
    "ablations",
    "addressing_reproduction",
    "coverage",
    "event_selection",
    "hu_liu_tables",
    "machine_tables",
    "mei_tables",
    "peng_tables",
    "placement_tests",
    "porple_speedups",
    "porple_table4",
]
