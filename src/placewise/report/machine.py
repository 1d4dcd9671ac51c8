"""A machine's figures as text and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placewise.machine.figures import Difference, Figure, differences, figures
from placewise.machine.machine import Machine
from placewise.report.tables import plain_table

MACHINE_SCHEMA_VERSION = 1
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def render_machine(machine: Machine) -> RenderableType:
    """All figures with their sources."""
    table = _table("", "figure", "value", "source")
    before = ""
    for figure in figures(machine):
        part = figure.part if figure.part != before else ""
        before = figure.part
        table.add_row(part, figure.name, as_written(figure), figure.source or "")
    return Group(Text(f"{machine.name}: {machine.title}", style="bold"), Text(), table)


def render_difference(one: Machine, other: Machine) -> RenderableType:
    """The figures in which two machines differ."""
    found = differences(one, other)
    if not found:
        return Text(f"{one.name} and {other.name} have the same figures")
    table = _table("", "figure", one.name, other.name)
    for d in found:
        table.add_row(d.part, d.name, as_written(d.one), as_written(d.other))
    return table


def render_list(machines: list[Machine]) -> RenderableType:
    """A table with one row per machine."""
    table = _table("name", "GPU", "SMs", "spaces")
    for machine in machines:
        spaces = ", ".join(space.name for space in machine.spaces)
        table.add_row(machine.name, machine.title, str(machine.processor.sms), spaces)
    return table


def render_check(machine: Machine) -> RenderableType:
    """A summary of what a machine file declares, and the warnings about it."""
    return Group(
        *(Text(f"warning: {warning}") for warning in machine.warnings),
        Text(
            f"{machine.name}: {len(machine.memories)} memories, {len(machine.spaces)} spaces, "
            f"{len(machine.warnings)} warnings"
        ),
    )


def list_document(machines: list[Machine]) -> dict[str, Any]:
    """Name, GPU, compute capability, SMs and spaces of each machine, as JSON types."""
    return {
        "schema": "placewise-machines",
        "schema_version": MACHINE_SCHEMA_VERSION,
        "machines": [
            {
                "name": machine.name,
                "title": machine.title,
                "compute_capability": list(machine.limits.compute_capability),
                "sms": machine.processor.sms,
                "spaces": [space.name for space in machine.spaces],
            }
            for machine in machines
        ],
    }


def check_document(machine: Machine) -> dict[str, Any]:
    """What a machine file declares, and the warnings about it."""
    return {
        "schema": "placewise-machine-check",
        "schema_version": MACHINE_SCHEMA_VERSION,
        "name": machine.name,
        "memories": len(machine.memories),
        "spaces": [space.name for space in machine.spaces],
        "warnings": list(machine.warnings),
    }


def machine_document(machine: Machine) -> dict[str, Any]:
    """All figures of a machine with their sources, as JSON types."""
    return {
        "schema": "placewise-machine",
        "schema_version": MACHINE_SCHEMA_VERSION,
        "name": machine.name,
        "title": machine.title,
        "figures": [asdict(figure) for figure in figures(machine)],
        "warnings": list(machine.warnings),
    }


def difference_document(one: Machine, other: Machine) -> dict[str, Any]:
    """The figures in which two machines differ, as JSON types."""
    found: tuple[Difference, ...] = differences(one, other)
    return {
        "schema": "placewise-machine-difference",
        "schema_version": MACHINE_SCHEMA_VERSION,
        "one": one.name,
        "other": other.name,
        "differences": [asdict(difference) for difference in found],
    }


def as_written(figure: Figure | None) -> str:
    """Value with its unit; ``?`` where unknown, a dash where there is no such figure."""
    if figure is None:
        return "–"
    if figure.value is None:
        return "?"
    if figure.unit == "B" and isinstance(figure.value, int):
        for size, unit in _UNITS:
            if figure.value and figure.value % (size // 1024 * 32) == 0 and figure.value >= size:
                return f"{figure.value / size:g} {unit}"
    value = f"{figure.value:g}" if isinstance(figure.value, float) else str(figure.value)
    return f"{value} {figure.unit}".strip()


def _table(*columns: str) -> Table:
    table = plain_table()
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
