"""Mei et al. 2014: probes simulated devices that have the printed figures.

The talk prints figures that its benchmark found on a Fermi (GTX 560 Ti) and a Kepler (GTX 780).
Here a simulated device has these figures, and the probe must find them again from timed accesses
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placewise.probe import Plan, infer_hierarchy
from placewise.probe.infer.averages import saavedra, saavedra_line, wong, wong_line
from placewise.probe.infer.hierarchy import Hierarchy
from placewise.probe.infer.latency_patterns import PATTERNS, latency_patterns
from placewise.probe.infer.page_tables import find_page_tables
from placewise.probe.infer.structure import Structure
from placewise.probe.simulated.chases import SimulatedCache, SimulatedDevice, SimulatedHierarchy
from placewise.progress import Progress, silent
from placewise.reproduce.result import Cell, Reproduction, Table

KB, MB = 1 << 10, 1 << 20
HOT_WAY = (1 / 6, 1 / 2, 1 / 6, 1 / 6)
"""Printed probabilities that each way of Fermi's L1 is replaced."""
BIG_SET = tuple(page % 7 for page in range(56)) + (0,) * 9
"""A mapping of pages to sets with which all 65 pages fit into the second TLB. The paper prints the
sizes of the sets, but not which page goes where."""
SEED = 1
_REACH = 1 << 28

_FERMI_L2 = SimulatedCache(128, (16,) * 384, 404.0, 32)
_FERMI_L1 = SimulatedCache(128, (4,) * 32, 116.0, policy="weighted", probabilities=HOT_WAY)
_LARGE_L1 = SimulatedCache(128, (6,) * 64, 116.0)
_TEXTURE = (96,) * 4
_L1_TLB = SimulatedCache(2 * MB, (16,), 0.0)
_WAYS = (17, 8, 8, 8, 8, 8, 8)
_KEPLER_L2 = SimulatedCache(128, (16,) * 256, 230.0, 32)


@dataclass(frozen=True)
class Hidden:
    """A device with printed figures."""

    name: str
    hierarchy: SimulatedHierarchy
    printed: str
    """The figures of the nearest cache as the talk prints them."""
    bypasses: int = 1


def _cached(first: SimulatedCache, l2_cycles: float) -> SimulatedHierarchy:
    second = SimulatedCache(128, (16,) * 384, l2_cycles, 32)
    return SimulatedHierarchy((first, second), 2.0 * l2_cycles)


PATHS = (
    Hidden("Fermi, global, L1 on (16 KB)", _cached(_FERMI_L1, 404.0),
           "16 KB, lines of 128 B, 32 sets of 4 ways, odds 1/6 1/2 1/6 1/6; hit 116, L2 404"),
    Hidden("Fermi, global, L1 on (48 KB)", _cached(_LARGE_L1, 404.0),
           "48 KB, 6 ways; hit 116, L2 404"),
    Hidden("Fermi, global, L1 off", SimulatedHierarchy((_FERMI_L2,), 808.0), "L2 404", 0),
    Hidden("Fermi, texture", _cached(SimulatedCache(32, _TEXTURE, 240.0, run=4), 470.0),
           "12 KB, lines of 32 B, 4 sets; hit 240, L2 470"),
    Hidden("Kepler, texture", _cached(SimulatedCache(32, _TEXTURE, 110.0, run=4), 220.0),
           "12 KB, lines of 32 B, 4 sets; hit 110, L2 220"),
    Hidden("Kepler, read-only", _cached(SimulatedCache(32, _TEXTURE, 141.0, run=4), 230.0),
           "named, no figures; L2 230"),
)  # fmt: skip
"""The simulated devices. Sets of L2 and the latency of DRAM are not printed; the values here are
arbitrary. The read-only cache of Kepler is taken to be that of its textures, which it shares, with
the 141 cycles of Chen et al. 2017, Table 3."""
L2_HIT, DRAM = 230.0, 360.0
SECOND_TLB, WALK, SWITCH = 90.0, 250.0, 450.0
"""Cycles of Kepler's L2, which the talk prints, and of its DRAM, a hit of the second TLB, a miss of
both, and a switch of page tables, which are in a plot: values of ours that keep its order."""
PAGE_TABLE = 512 * MB
"""Memory whose page tables are active at a time on Kepler."""


def mei_tables(progress: Progress = silent) -> Reproduction:
    """Probe the simulated devices and compare the findings with the printed caches, latencies and
    TLBs."""
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {}
    right = 0
    for done, hidden in enumerate(PATHS):
        progress("probing simulated devices", done, len(PATHS) + 3)
        device = SimulatedDevice(
            hidden.hierarchy, bypasses=hidden.bypasses, reach_bytes=_REACH, seed=SEED
        )
        found = infer_hierarchy(device, Plan(tlbs=False, levels=1))
        same = _same(found, hidden.hierarchy)
        right += same
        rows.append((hidden.name, hidden.printed, _words(found), "yes" if same else "no"))
    figures["paths found as printed"] = right
    figures["paths"] = len(PATHS)
    tlbs = _tlb_rows(progress, figures)
    progress("probing simulated devices", len(PATHS) + 2, len(PATHS) + 3)
    patterns = pattern_table(figures)
    return Reproduction(
        "mei",
        "Mei et al. 2014, caches, latencies and TLBs of Fermi and Kepler",
        (
            Table(
                "Caches and latencies (tables of Fermi's L1 and of texture memory)",
                ("path", "as printed", "found on a simulated device", "agrees"),
                tuple(rows),
                ("latencies in cycles; the device has the printed figures, the probe does not",),
            ),
            Table(
                "TLBs: 16 entries; 65 entries in a set of 17 and six of 8; pages of 2 MB",
                ("second TLB's pages go to sets", "found", "agrees"),
                tlbs,
                ("the talk prints the sizes of the sets, not which page goes to which",),
            ),
            patterns,
            _average_table(figures),
            _bank_table(),
        ),
        f"{right} of {len(PATHS)} paths are found as simulated; of the TLB's unequal sets "
        f"{sum(row[-1] == 'yes' for row in tlbs)} of {len(tlbs)} mappings; "
        f"{figures['patterns found as simulated']:.0f} of {len(PATTERNS)} access patterns.",
        missing=(
            "global access latencies by pattern: they cannot be recomputed, because they are a "
            "plot; those of the simulated device are ours, in the order that the talk names",
            "Kepler's read-only data cache: the talk names its structure and prints no figure; "
            "the simulated one is the texture cache, with the latency of another paper",
            "bank conflict latencies: they cannot be recomputed, because they are plots; the "
            "conflicts themselves are",
        ),
        figures=figures,
    )


def _same(found: Hierarchy, hidden: SimulatedHierarchy) -> bool:
    """Whether the nearest cache and all latencies are those that the device has."""
    first, truth = found.caches[0], hidden.caches[0]
    near = [abs(c.latency_cycles - h.cycles) <= 0.03 * h.cycles
            for c, h in zip(found.caches, hidden.caches, strict=False)]  # fmt: skip
    alike = (first.capacity_bytes, first.line_bytes, first.ways, first.policy) == (
        truth.capacity_bytes, truth.line_bytes, truth.ways, truth.policy,
    )  # fmt: skip
    return alike and all(near) and len(found.caches) == len(hidden.caches)


def _words(found: Hierarchy) -> str:
    first = found.caches[0]
    size = (first.capacity_bytes or 0) / KB
    words = f"{size:.0f} KB, lines of {first.line_bytes} B, {_sets(first)}"
    if first.way_probabilities:
        words += ", odds " + " ".join(f"{odds:.2f}" for odds in first.way_probabilities)
    latencies = ", ".join(f"{cache.latency_cycles:.0f}" for cache in found.caches)
    return f"{words}; {latencies}"


def _sets(of: Structure) -> str:
    sizes = dict.fromkeys(sorted(of.ways, reverse=True))
    return " and ".join(f"{of.ways.count(size)} sets of {size} ways" for size in sizes)


def _tlb_rows(progress: Progress, figures: dict[str, float]) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    for done, (name, table) in enumerate((("so that all 65 fit", BIG_SET), ("modulo 7", ()))):
        progress("probing simulated devices", len(PATHS) + done, len(PATHS) + 3)
        second = SimulatedCache(2 * MB, _WAYS, SECOND_TLB, table=table)
        hierarchy = SimulatedHierarchy((_KEPLER_L2,), DRAM, (_L1_TLB, second), WALK)
        device = SimulatedDevice(hierarchy, reach_bytes=_REACH, seed=SEED)
        tlbs = infer_hierarchy(device, Plan(levels=0)).tlbs
        pages = [f"{(t.capacity_bytes or 0) // (2 * MB)} entries, {_sets(t)}"
                 + "".join(f" ({doubt})" for doubt in t.doubts) for t in tlbs]  # fmt: skip
        agrees = len(tlbs) == 2 and tlbs[0].ways == (16,) and tlbs[1].ways == _WAYS
        figures[f"TLBs found as printed, pages {name}"] = float(agrees)
        rows.append((name, "; ".join(pages), "yes" if agrees else "no"))
    return tuple(rows)


def pattern_table(figures: dict[str, float]) -> Table:
    """The six access patterns on a simulated Kepler, whose page tables switch. What was found is
    added to ``figures``."""
    tlbs = (
        _L1_TLB,
        SimulatedCache(2 * MB, _WAYS, SECOND_TLB),
        SimulatedCache(PAGE_TABLE, (1,), WALK),
    )
    hierarchy = SimulatedHierarchy((_KEPLER_L2,), DRAM, tlbs, WALK + SWITCH)
    device = SimulatedDevice(hierarchy, reach_bytes=6 * PAGE_TABLE, seed=SEED)
    hidden = (
        L2_HIT, L2_HIT + SECOND_TLB, L2_HIT + WALK, DRAM, DRAM + WALK, DRAM + WALK + SWITCH,
    )  # fmt: skip
    probed = infer_hierarchy(device, Plan(levels=0))
    found = {p.number: p.cycles for p in latency_patterns(device, probed)}
    rows: list[tuple[Cell, ...]] = []
    for number, (what, cycles) in enumerate(zip(PATTERNS, hidden, strict=True), 1):
        ours = found.get(number)
        near = ours is not None and abs(ours - cycles) <= 0.03 * cycles
        rows.append(
            (number, what, round(cycles), None if ours is None else round(ours),
             "yes" if near else "no")
        )  # fmt: skip
    figures["patterns found as simulated"] = sum(row[-1] == "yes" for row in rows)
    tables = find_page_tables(device, probed.tlbs)
    figures["page tables found, MB"] = 0.0 if tables is None else tables.region_bytes / MB
    region = "not found" if tables is None else f"{tables.region_bytes // MB} MB"
    return Table(
        "Global memory access patterns, Kepler",
        ("pattern", "data cache and TLBs", "simulated, cycles", "found, cycles", "agrees"),
        tuple(rows),
        (
            "the device has 3 GB of memory, so that six page tables serve it",
            f"page tables active at a time: 512 MB as printed, {region} as found",
            "the talk prints L2's 230 cycles; all others are a plot, and ours are in its order",
        ),
    )


def _average_table(figures: dict[str, float]) -> Table:
    """Line size of Kepler's texture cache by the two older methods, which take averages."""
    hidden = next(path for path in PATHS if path.name == "Kepler, texture")
    device = SimulatedDevice(hidden.hierarchy, bypasses=1, reach_bytes=_REACH, seed=SEED)
    lines = {
        "Saavedra 1992": (32, saavedra_line(saavedra(device, 48 * KB, 2 ** np.arange(2, 10)))),
        "Wong et al. 2010": (128, wong_line(wong(device, 12 * KB + np.arange(-2, 34) * 16, 16))),
    }
    figures["older methods as printed"] = sum(a == b for a, b in lines.values())
    return Table(
        "Kepler's texture L1 cache by average latencies: bytes of a line",
        ("method", "paper", "program", "agrees"),
        tuple((name, a, b, "yes" if a == b else "no") for name, (a, b) in lines.items()),
        ("four lines of 32 B in a row lie in one set, which averages cannot tell",),
    )


def _bank_table() -> Table:
    """Table of bank conflicts of strided loads of 4 and 8 bytes, with banks of 4 and of 8 bytes."""
    rows: list[tuple[Cell, ...]] = [
        (stride, *(bank_passes(stride, width, bank) for width in (4, 8) for bank in (4, 8)))
        for stride in (1, 2, 4, 6, 8, 16, 32)
    ]
    return Table(
        "Bank conflicts: passes of a warp's load by stride in elements, 32 banks",
        ("stride", "4 B, banks of 4 B (Fermi)", "4 B, banks of 8 B (Kepler)",
         "8 B, banks of 4 B (Fermi)", "8 B, banks of 8 B (Kepler)"),
        tuple(rows),
        ("Kepler's banks of 8 bytes halve the conflicts of even strides",),
    )  # fmt: skip


def bank_passes(stride: int, width: int, bank_bytes: int) -> int:
    """Passes of a warp's load of elements of ``width`` bytes, ``stride`` elements apart, through 32
    banks of ``bank_bytes``: the most words that one bank must deliver. On Fermi a warp's 8-byte
    load is made in two halves."""
    lanes = 32
    halves = 2 if width > bank_bytes else 1
    passes = 0
    for half in range(halves):
        of_half = range(half * lanes // halves, (half + 1) * lanes // halves)
        words: dict[int, set[int]] = {}
        for lane in of_half:
            for at in range(0, width, bank_bytes):
                word = (lane * stride * width + at) // bank_bytes
                words.setdefault(word % 32, set()).add(word)
        passes += max(len(found) for found in words.values())
    return passes
