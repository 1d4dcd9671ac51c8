"""Machines: the language MSL, the files of known GPUs, and what they say as values."""

from placewise.machine.condition import SerialCondition
from placewise.machine.load import MachineLike, load_machine, machine_names, parse_machine
from placewise.machine.machine import Limits, Machine, Memory, Processor

__all__ = [
    "Limits",
    "Machine",
    "MachineLike",
    "Memory",
    "Processor",
    "SerialCondition",
    "load_machine",
    "machine_names",
    "parse_machine",
]
