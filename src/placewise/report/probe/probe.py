"""The findings of a probe as text and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placewise.probe.infer.hierarchy import Hierarchy
from placewise.probe.infer.structure import NOT_LOOKED_AT, Structure
from placewise.probe.session import Findings
from placewise.report.tables import plain_table

PROBE_SCHEMA_VERSION = 1
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def render_probe(found: Findings) -> RenderableType:
    """A table of caches and TLBs, then one table for each other part that was measured."""
    facts = found.facts
    major, minor = facts.compute_capability
    parts: list[RenderableType] = [
        Text(f"{facts.name}: {facts.sms} SMs, compute capability {major}.{minor}", style="bold"),
        Text(),
    ]
    if found.paths:
        parts += [_caches(found), Text()]
    parts += [part for part in (_patterns(found), _streams(found), _instructions(found)) if part]
    parts += [Text(line) for line in _lines(found)]
    parts += [Text(f"not found: {part}: {why}", style="yellow") for part, why in found.failures]
    parts += [Text(note, style="yellow") for note in _doubts(found)]
    return Group(*parts)


def probe_document(found: Findings) -> dict[str, Any]:
    """All findings, with confidence and doubts, as JSON types."""
    return {
        "schema": "placewise-probe",
        "schema_version": PROBE_SCHEMA_VERSION,
        "device": asdict(found.facts),
        "seconds": found.seconds,
        "paths": {name: _hierarchy(path) for name, path in found.paths.items()},
        "shared_cycles": found.shared_cycles,
        "patterns": [{**asdict(p), "what": p.what} for p in found.patterns],
        "banks": [asdict(t) for t in found.banks],
        "instructions": [asdict(t) for t in found.instructions],
        "bandwidth": [asdict(t) for t in found.streams],
        "dram": None if found.dram is None else asdict(found.dram),
        "launch_ns": found.launch_ns,
        "curve": None
        if found.curve is None
        else {"bytes": found.curve.sizes.tolist(), "cycles": found.curve.cycles.tolist()},
        "not_found": [{"part": part, "reason": why} for part, why in found.failures],
    }


def _hierarchy(path: Hierarchy) -> dict[str, Any]:
    return {
        "caches": [_structure(cache) for cache in path.caches],
        "memory_cycles": path.memory_cycles,
        "tlbs": [_structure(tlb) for tlb in path.tlbs],
        "walk_cycles": path.walk_cycles,
        "doubts": list(path.doubts),
    }


def _structure(level: Structure) -> dict[str, Any]:
    return {**asdict(level), "sets": level.sets, "confidence": level.confidence}


def _caches(found: Findings) -> Table:
    table = _table("path", "level", "latency", "capacity", "line", "fetched", "sets × ways",
                   "policy", "confidence")  # fmt: skip
    for name, path in found.paths.items():
        shown = name
        rows = [(f"cache {k}", level) for k, level in enumerate(path.caches, 1)]
        rows += [(f"TLB {k}", level) for k, level in enumerate(path.tlbs, 1)]
        for what, level in rows:
            table.add_row(
                shown,
                what,
                f"{'+' if what.startswith('TLB') else ''}{level.latency_cycles:.0f} clk",
                _bytes(level.capacity_bytes),
                _bytes(level.line_bytes),
                _bytes(level.sector_bytes),
                _ways(level),
                level.policy or "?",
                NOT_LOOKED_AT if NOT_LOOKED_AT in level.doubts else level.confidence,
            )
            shown = ""
        table.add_row(shown, "beyond", f"{path.memory_cycles:.0f} clk", *[""] * 6)
        if path.tlbs:
            table.add_row("", "TLB miss", f"+{path.walk_cycles:.0f} clk", *[""] * 6)
    return table


def _ways(level: Structure) -> str:
    if not level.ways:
        return "?"
    sizes = sorted(set(level.ways), reverse=True)
    return " + ".join(f"{level.ways.count(size)} × {size}" for size in sizes)


def _patterns(found: Findings) -> RenderableType | None:
    if not found.patterns:
        return None
    table = _table("pattern", "global memory", "latency")
    for pattern in found.patterns:
        table.add_row(str(pattern.number), pattern.what, f"{pattern.cycles:.0f} clk")
    return Group(table, Text())


def _streams(found: Findings) -> RenderableType | None:
    if not found.streams:
        return None
    warps = sorted({s.warps_per_sm for s in found.streams})
    table = _table("GB/s with warps on each SM", *(str(w) for w in warps))
    for level in dict.fromkeys(s.level for s in found.streams):
        at = {s.warps_per_sm: s.gb_per_s for s in found.streams if s.level == level}
        table.add_row(level, *(f"{at[w]:.0f}" if w in at else "" for w in warps))
    return Group(table, Text())


def _instructions(found: Findings) -> RenderableType | None:
    if not found.instructions:
        return None
    table = _table("instruction", "latency", "threads a cycle, per SM")
    for times in found.instructions:
        latency, rate = f"{times.latency_cycles:.1f} clk", f"{times.lanes_per_cycle:.1f}"
        table.add_row(times.opcode, latency, rate)
    return Group(table, Text())


def _lines(found: Findings) -> Iterator[str]:
    if found.shared_cycles is not None:
        yield f"shared memory: {found.shared_cycles:.0f} clk"
    if found.dram is not None:
        dram = found.dram
        yield (
            f"DRAM: row hit {dram.hit_ns:.0f} ns, miss {dram.miss_ns:.0f}, conflict "
            f"{dram.conflict_ns:.0f}; row bits {_numbers(dram.row_bits)}, column bits "
            f"{_numbers(dram.column_bits)}, {len(dram.bank_hashes)} bits of the bank "
            f"(confidence {dram.confidence})"
        )
    if found.launch_ns is not None:
        yield f"empty kernel: {found.launch_ns / 1000:.1f} µs"
    yield f"{found.seconds:.0f} seconds"


def _doubts(found: Findings) -> Iterator[str]:
    for name, path in found.paths.items():
        for what, levels in (("cache", path.caches), ("TLB", path.tlbs)):
            for number, level in enumerate(levels, 1):
                if level.doubts and NOT_LOOKED_AT not in level.doubts:
                    yield f"low confidence: {name}, {what} {number}: {'; '.join(level.doubts)}"


def _numbers(bits: tuple[int, ...]) -> str:
    """Bit numbers as text, with consecutive ones as a range: ``16–29``."""
    runs: list[list[int]] = []
    for bit in bits:
        if runs and bit == runs[-1][-1] + 1:
            runs[-1].append(bit)
        else:
            runs.append([bit])
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs) or "none"


def _bytes(value: int | None) -> str:
    if value is None:
        return "?"
    for size, unit in _UNITS:
        if value >= size and value % (size // 1024 * 32) == 0:
            return f"{value / size:g} {unit}"
    return f"{value} B"


def _table(*columns: str) -> Table:
    table = plain_table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table
