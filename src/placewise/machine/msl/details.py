"""``detail`` entries of an MSL file: how a memory is built and what it can move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from placewise.machine.machine import Memory, MemoryDetail
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.settings import (
    Kind,
    bandwidth,
    bytes_per_cycle,
    count,
    cycles,
    nanoseconds,
    parity,
    read_settings,
    share,
    shares,
    size,
    sizes,
    word,
)
from placewise.machine.msl.tree import DetailEntry, LimitEntry

POLICIES = ("lru", "aged", "fifo", "random", "plru", "weighted")
"""Replacement policies: least recently used, any of the quarter of a set that was not used for
longest, oldest, random, tree pseudo-LRU, and random with the probabilities of ``way_probabilities``
(Mei et al. 2014, Fermi's L1)."""

MOST_SECTORS = 16
"""Sectors that a line can have at most."""


def with_details(
    memories: tuple[Memory, ...],
    entries: tuple[DetailEntry, ...],
    cite: Callable[[LimitEntry], str | None],
    filename: str,
) -> tuple[Memory, ...]:
    """The memories with what ``detail`` entries say of them.

    Raises MachineError for an entry of no memory or a second one of the same, an unknown setting,
    and settings that contradict one another.
    """
    by_name = {memory.name: memory for memory in memories}
    seen: set[str] = set()
    for entry in entries:
        if entry.name not in by_name:
            raise located(
                filename,
                entry.at,
                f"no memory is called '{entry.name}'",
                nearest(entry.name, by_name),
            )
        if entry.name in seen:
            raise located(filename, entry.at, f"a second detail entry of {entry.name}")
        seen.add(entry.name)
        values, sources = read_settings(entry.settings, _SETTINGS, "setting", cite, filename)
        fields: dict[str, Any] = {k.field: values.get(n, k.default) for n, k in _SETTINGS.items()}
        detail = MemoryDetail(sources=sources, **fields)
        message = _contradiction(detail)
        if message:
            raise located(filename, entry.at, f"{entry.name}: {message}")
        by_name[entry.name] = replace(by_name[entry.name], detail=detail)
    return tuple(by_name[memory.name] for memory in memories)


# A list of independent checks, one per line of the reference: splitting it would hide none of them.
def _contradiction(detail: MemoryDetail) -> str | None:
    if detail.line_bytes and detail.sector_bytes:
        if detail.line_bytes % detail.sector_bytes:
            return "a line must be a whole number of sectors"
        if detail.line_bytes // detail.sector_bytes > MOST_SECTORS:
            return f"a line has at most {MOST_SECTORS} sectors"
    if detail.policy == "plru" and detail.ways and detail.ways & (detail.ways - 1):
        return "tree pseudo-LRU needs a power of two as ways"
    if (detail.policy == "weighted") != bool(detail.way_probabilities):
        return "policy = weighted and way_probabilities belong together"
    if detail.way_probabilities and len(detail.way_probabilities) != detail.ways:
        return "way_probabilities needs one figure for each of the ways"
    if detail.slice_hashes and detail.slices not in (None, 1 << len(detail.slice_hashes)):
        hashes = len(detail.slice_hashes)
        return f"{hashes} slice lines tell {1 << hashes} slices apart"
    line = detail.line_bytes or 1
    if any(mask & (line - 1) for mask in detail.slice_hashes):
        return "a line lies in one slice: bits within it do not tell which"
    if detail.slices and detail.partitions and detail.slices % detail.partitions:
        return "partitions must have as many slices each"
    if detail.carve_outs_bytes and not detail.unified_bytes:
        return "carve_outs needs unified, the size of the whole array"
    if detail.unified_bytes and max(detail.carve_outs_bytes, default=0) > detail.unified_bytes:
        return "a carve-out is larger than the whole array"
    return None


_SETTINGS: Mapping[str, Kind] = {
    "line": Kind("line_bytes", size, "line = 128 B;"),
    "sector": Kind("sector_bytes", size, "sector = 32 B;"),
    "ways": Kind("ways", count, "ways = 4;"),
    "policy": Kind("policy", word, "policy = lru;", words=POLICIES),
    "way_probabilities": Kind("way_probabilities", shares, "way_probabilities = <1 3 1 1>;", ()),
    "index": Kind("index", word, "index = hashed;", words=("modulo", "hashed")),
    "merged_stores": Kind("merged_stores", share, "merged_stores = 0.6;"),
    "partial_store": Kind("partial_store_cycles", cycles, "partial_store = 4.8 clk;"),
    "most_dirty": Kind("most_dirty", share, "most_dirty = 0.5;"),
    "near": Kind("near_bytes", size, "near = 32 KB;"),
    "far_stores": Kind("far_stores", share, "far_stores = 0.05;"),
    "writes": Kind("writes", word, "writes = through;", words=("through", "back")),
    "write_miss": Kind("write_miss", word, "write_miss = bypass;", words=("allocate", "bypass")),
    "slices": Kind("slices", count, "slices = 80;"),
    "slice": Kind("slice_hashes", parity, "slice = <8 17>;", (), repeats=True),
    "partitions": Kind("partitions", count, "partitions = 2;"),
    "far_lines": Kind("far_lines", word, "far_lines = kept;", words=("kept", "left")),
    "unified": Kind("unified_bytes", size, "unified = 192 KB;"),
    "carve_outs": Kind("carve_outs_bytes", sizes, "carve_outs = <0 8 16 32 64> KB;", ()),
    "holds": Kind("holds", word, "holds = instructions;", words=("instructions",)),
    "tags": Kind("tags_per_cycle", count, "tags = 4;"),
    "bandwidth": Kind("bytes_per_cycle", bytes_per_cycle, "bandwidth = 64 B/clk;"),
    "conflict": Kind("conflict_cycles", cycles, "conflict = 2 clk;"),
    "far_latency": Kind("far_latency_cycles", cycles, "far_latency = 400 clk;"),
    "same_address": Kind("same_address_cycles", cycles, "same_address = 1.45 clk;"),
    "set_aside": Kind("set_aside_bytes", size, "set_aside = 30 MB;"),
    "window": Kind("window_bytes", size, "window = 128 MB;"),
    "write_delay": Kind("write_delay_ns", nanoseconds, "write_delay = 300 ns;"),
    "background": Kind("background_gb_per_s", bandwidth, "background = 450 MB/s;"),
}
