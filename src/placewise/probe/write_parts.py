"""TLBs, DRAM, pipes and instructions that a probe found, as entries of a machine file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from placewise.machine.machine import Machine, MemoryDetail
from placewise.machine.msl.tree import (
    Extent,
    LimitEntry,
    PartEntry,
    Quantity,
    Reference,
    Special,
    Word,
    Words,
)
from placewise.probe.infer.structure import Structure
from placewise.probe.session import Findings

_PLAIN = ("lru", "fifo", "random")
"""Policies that any number of ways can have, and that need no further figures."""
_TLB_POLICIES = ("lru", "fifo", "random", "plru")


def quantity(name: str, value: float | None, unit: str | None, reference: Reference) -> LimitEntry:
    """``NAME = VALUE UNIT from …;``, to five digits; ``?`` where unknown."""
    if value is None:
        return LimitEntry(name, Special.UNKNOWN)
    digits = Decimal(f"{value:.5g}")
    return LimitEntry(name, Quantity(Decimal(f"{digits:f}"), unit), reference)


def setting(
    name: str,
    value: int | Decimal | str | tuple[int, ...],
    unit: str | None,
    reference: Reference,
) -> LimitEntry:
    """A limit entry from a whole number, a word or several numbers."""
    if isinstance(value, str):
        return LimitEntry(name, Word(value), reference)
    if isinstance(value, tuple):
        return LimitEntry(name, Extent(tuple(Decimal(v) for v in value), unit), reference)
    return LimitEntry(name, Quantity(Decimal(value), unit), reference)


def assumed_settings(known: MemoryDetail, given: Iterable[LimitEntry]) -> Iterable[LimitEntry]:
    """What a near machine's cache is known to do, where ``given`` does not say it."""
    assumed = Reference("like", None)
    said = {entry.name for entry in given}
    words = (
        ("policy", known.policy if known.policy in _PLAIN else None),
        ("index", known.index),
        ("writes", known.writes),
        ("write_miss", known.write_miss),
    )
    for name, word in words:
        if word is not None and name not in said:
            yield setting(name, word, None, assumed)
    if known.unified_bytes:
        yield setting("unified", known.unified_bytes, "B", assumed)
        if known.carve_outs_bytes:
            yield setting("carve_outs", known.carve_outs_bytes, "B", assumed)
    if known.tags_per_cycle is not None:
        yield setting("tags", known.tags_per_cycle, None, assumed)
    if known.merged_stores is not None:
        yield quantity("merged_stores", known.merged_stores, None, assumed)
    if known.partial_store_cycles is not None:
        yield quantity("partial_store", known.partial_store_cycles, "clk", assumed)


def written_parts(found: Findings, like: Machine, before: str) -> tuple[PartEntry, ...]:
    """Entries of all parts; pipes are those of ``like``. TLBs are asked at memory ``before``."""
    return (
        *_pipes(like),
        *_instructions(found, like),
        *_tlbs(found, before),
        *_dram(found),
    )


def _pipes(like: Machine) -> Iterable[PartEntry]:
    assumed = Reference("like", None)
    for pipe in like.pipes:
        rows = [
            quantity("width", pipe.lanes_per_cycle, "lanes/clk", assumed),
            quantity("latency", pipe.latency_cycles, "clk", assumed),
        ]
        rows = [row for row in rows if not isinstance(row.value, Special)]
        if pipe.executes:
            rows.append(LimitEntry("executes", Words(pipe.executes), assumed))
        yield PartEntry("pipe", pipe.name, tuple(rows))


def _instructions(found: Findings, like: Machine) -> Iterable[PartEntry]:
    measured = {times.opcode for times in found.instructions}
    assumed = Reference("like", None)
    for timing in like.instructions:
        if timing.opcode not in measured:
            rows = [
                quantity("rate", timing.lanes_per_cycle, "lanes/clk", assumed),
                quantity("latency", timing.latency_cycles, "clk", assumed),
            ]
            kept = tuple(row for row in rows if not isinstance(row.value, Special))
            yield PartEntry("instruction", timing.opcode, kept)
    alone = Reference("probe", "each needs the one before")
    many = Reference("probe", "four chains in every warp of a full block")
    for times in found.instructions:
        yield PartEntry(
            "instruction",
            times.opcode,
            (
                quantity("rate", times.lanes_per_cycle, "lanes/clk", many),
                quantity("latency", times.latency_cycles, "clk", alone),
            ),
        )


def _tlbs(found: Findings, before: str) -> Iterable[PartEntry]:
    path = found.paths.get("global")
    if path is None:
        return
    entries = [_tlb(tlb, number, before) for number, tlb in enumerate(path.tlbs, 1)]
    if entries:
        walk = quantity("walk", path.walk_cycles, "clk", Reference("probe", "what a miss adds"))
        entries[-1] = replace(entries[-1], settings=(*entries[-1].settings, walk))
    yield from entries


def _tlb(tlb: Structure, number: int, before: str) -> PartEntry:
    how = Reference("probe", f"confidence {tlb.confidence}" + "".join(f"; {d}" for d in tlb.doubts))
    rows = []
    if tlb.capacity_bytes and tlb.line_bytes:
        rows.append(setting("entries", tlb.capacity_bytes // tlb.line_bytes, None, how))
        rows.append(setting("page", tlb.line_bytes, "B", how))
    if tlb.ways and not tlb.doubts:
        alike = len(set(tlb.ways)) == 1
        rows.append(setting("ways", tlb.ways[0] if alike else tlb.ways, None, how))
        if tlb.policy in _TLB_POLICIES:
            rows.append(setting("policy", tlb.policy, None, how))
    rows.append(
        setting("before", before, None, Reference(None, "assumed: L1 is addressed virtually"))
    )
    cycles = max(tlb.latency_cycles, 0.0)
    rows.append(LimitEntry("latency", Quantity(Decimal(f"{cycles:.1f}"), "clk"), how))
    return PartEntry("tlb", f"L{number}TLB", tuple(rows))


def _dram(found: Findings) -> Iterable[PartEntry]:
    mapping = found.dram
    if mapping is None:
        return
    text = f"pairs of loads, confidence {mapping.confidence}"
    if mapping.undetermined_bits:
        text += f"; bits {' '.join(map(str, mapping.undetermined_bits))} could swap parts"
    how = Reference("probe", text)
    # A mapping that some pairs contradict would be worse than none; the timings stand.
    sure = not mapping.doubts
    rows = []
    if sure and mapping.bank_hashes:
        together = Reference("probe", "which bits choose the channel, loads do not tell")
        rows.append(setting("channels", 1, None, together))
        rows.append(setting("banks", 1 << len(mapping.bank_hashes), None, how))
    rows += [
        setting(name, bits, None, how)
        for name, bits in (("columns", mapping.column_bits), ("rows", mapping.row_bits))
        if bits and sure
    ]
    for mask in mapping.bank_hashes if sure else ():
        bits = tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
        rows.append(setting("bank", bits, None, how))
    rows += [
        quantity("hit", mapping.hit_ns, "ns", how),
        quantity("miss", mapping.miss_ns, "ns", how),
        quantity("conflict", mapping.conflict_ns, "ns", how),
    ]
    yield PartEntry("dram", None, tuple(rows))
