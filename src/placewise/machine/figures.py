"""Every figure of a machine with its unit and where it is from, as rows to show and compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from placewise.machine.machine import (
    Dram,
    InstructionTiming,
    Limits,
    Machine,
    MemoryDetail,
    Pipe,
    Tlb,
)

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Figure:
    """One figure of a machine, with its unit and source."""

    part: str
    """``processor``, ``limits``, a memory's name, or kind and name of another part."""
    name: str
    value: Value
    """The figure; None where it is not known."""
    unit: str = ""
    source: str | None = None


_DETAIL = {
    "line_bytes": ("line", "B"),
    "sector_bytes": ("sector", "B"),
    "way_probabilities": ("way_probabilities", ""),
    "unified_bytes": ("unified", "B"),
    "carve_outs_bytes": ("carve_outs", "B"),
    "tags_per_cycle": ("tags", "lines/clk"),
    "bytes_per_cycle": ("bandwidth", "B/clk"),
    "partial_store_cycles": ("partial_store", "clk"),
    "conflict_cycles": ("conflict", "clk"),
    "far_latency_cycles": ("far_latency", "clk"),
    "same_address_cycles": ("same_address", "clk"),
    "slice_hashes": ("slice", ""),
    "near_bytes": ("near", "B"),
    "write_delay_ns": ("write_delay", "ns"),
    "background_gb_per_s": ("background", "GB/s"),
}
"""(name, unit) in a machine file by field, for settings whose name there differs from the
field's."""

_LIMITS = {
    "clock_mhz": ("clock", "MHz"),
    "clock_base_mhz": ("clock_base", "MHz"),
    "clock_sustained_mhz": ("clock_sustained", "MHz"),
    "clock_highest_mhz": ("clock_highest", "MHz"),
    "shared_bytes_per_block": ("shared_memory_per_block", "B"),
    "shared_bytes_per_sm": ("shared_memory_per_sm", "B"),
    "copy_bandwidth_gb_per_s": ("copy_bandwidth", "GB/s"),
    "dram_bandwidth_gb_per_s": ("dram_bandwidth", "GB/s"),
    "dram_bandwidth_achieved_gb_per_s": ("dram_bandwidth_achieved", "GB/s"),
    "launch_overhead_ns": ("launch_overhead", "ns"),
    "instruction_buffer_bytes": ("instruction_buffer", "B"),
    "instruction_bytes_per_cycle": ("instruction_bandwidth", "B/clk"),
}

_PIPE = {"lanes_per_cycle": ("width", "lanes/clk"), "latency_cycles": ("latency", "clk")}
_INSTRUCTION = {
    **_PIPE,
    "lanes_per_cycle": ("rate", "lanes/clk"),
    "issue_cycles": ("issue", "clk"),
}
_TLB = {
    "page_bytes": ("page", "B"),
    "latency_cycles": ("latency", "clk"),
    "walk_cycles": ("walk", "clk"),
}
_DRAM = {
    "row_bytes": ("row", "B"),
    "column_bits": ("columns", ""),
    "row_bits": ("rows", ""),
    "bank_hashes": ("bank", ""),
    "channel_hashes": ("channel", ""),
    "hit_ns": ("hit", "ns"),
    "miss_ns": ("miss", "ns"),
    "conflict_ns": ("conflict", "ns"),
}
_HASHES = ("bank_hashes", "channel_hashes", "slice_hashes")


def figures(machine: Machine) -> tuple[Figure, ...]:
    """All figures, in the order of a machine file."""
    return tuple(_figures(machine))


def _figures(machine: Machine) -> Iterator[Figure]:
    processor = machine.processor
    sources = dict(processor.sources)
    yield Figure("processor", "die", processor.tpcs, "tpc", sources.get("die"))
    yield Figure("processor", "tpc", processor.sms_per_tpc, "sm", sources.get("tpc"))
    yield Figure("processor", "sm", processor.cores_per_sm, "core", sources.get("sm"))
    yield from _settings("limits", machine.limits, _LIMITS)
    for memory in machine.memories:
        sources = dict(memory.sources)
        elements = memory.size_bytes is None and memory.size_elements is not None
        read, write = memory.latency_cycles, memory.write_latency_cycles
        alpha = memory.concurrency
        rows: list[tuple[str, Value, str]] = [
            ("size", memory.size_elements, "elements")
            if elements
            else ("size", memory.size_bytes, "B"),
            ("blockSize", memory.block_bytes, "B"),
            ("banks", memory.banks, ""),
            ("latency", read if read == write else f"{read:g} {write:g}", "clk"),
            ("shareScope", memory.scope, ""),
            ("concurrencyFactor", f"{alpha[0]:g} {alpha[1]:g}" if alpha else None, ""),
            ("rw", "R" * memory.readable + "W" * memory.writable, ""),
        ]
        for name, value, unit in rows:
            yield Figure(memory.name, name, value, unit, sources.get(name))
        yield from _known(_settings(memory.name, memory.detail, _DETAIL))
    for pipe in machine.pipes:
        yield from _settings(f"pipe {pipe.name}", pipe, _PIPE)
    for timing in machine.instructions:
        yield from _known(_settings(f"instruction {timing.opcode}", timing, _INSTRUCTION))
    for tlb in machine.tlbs:
        yield from _settings(f"tlb {tlb.name}", tlb, _TLB)
    if machine.dram is not None:
        yield from _settings("dram", machine.dram, _DRAM)
    for space in machine.spaces:
        yield Figure(f"space {space.name}", "levels", " ".join(space.levels))


def _known(rows: Iterator[Figure]) -> Iterator[Figure]:
    """The figures whose value is known: what a file may leave out is not shown as unknown."""
    return (figure for figure in rows if figure.value is not None)


def _settings(
    part: str,
    entry: Limits | MemoryDetail | Pipe | InstructionTiming | Tlb | Dram,
    names: dict[str, tuple[str, str]],
) -> Iterator[Figure]:
    sources = dict(entry.sources)
    for field in fields(entry):
        if field.name in ("sources", "name", "opcode"):
            continue
        name, unit = names.get(field.name, (field.name, ""))
        value = getattr(entry, field.name)
        if field.name == "compute_capability":
            value = f"{value[0]}.{value[1]}"
        elif field.name in _HASHES:
            value = ", ".join(_bits(mask) for mask in value) or None
        elif isinstance(value, tuple):
            value = " ".join(str(v) for v in value) or None
        elif value is not None and not isinstance(value, int | float | str):
            value = str(value)
        yield Figure(part, name, value, unit, sources.get(name))


def _bits(mask: int) -> str:
    """The address bits of a hash, as in ``6^15``."""
    return "^".join(str(bit) for bit in range(mask.bit_length()) if mask >> bit & 1)


@dataclass(frozen=True)
class Difference:
    """A figure in which two machines differ; None for a machine that does not have it."""

    part: str
    name: str
    one: Figure | None
    other: Figure | None


def differences(one: Machine, other: Machine) -> tuple[Difference, ...]:
    """Figures that differ, in the first machine's order, then those only the second has."""
    left = {(f.part, f.name): f for f in figures(one)}
    right = {(f.part, f.name): f for f in figures(other)}
    found = []
    for key in [*left, *(key for key in right if key not in left)]:
        a, b = left.get(key), right.get(key)
        if a is None or b is None or (a.value, a.unit) != (b.value, b.unit):
            found.append(Difference(*key, a, b))
    return tuple(found)
