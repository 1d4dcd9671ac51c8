"""Mei et al. 2014: probes simulated devices that have the printed figures.

The talk prints figures that its benchmark found on a Fermi (GTX 560 Ti) and a Kepler (GTX 780).
Here a simulated device has these figures, and the probe must find them again from timed accesses
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.probe import Plan, infer_hierarchy
from placewise.probe.infer.hierarchy import Hierarchy
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
)  # fmt: skip
"""The simulated devices. Sets of L2 and the latency of DRAM are not printed; the values here are
arbitrary."""


def mei_tables(progress: Progress = silent) -> Reproduction:
    """Probe the simulated devices and compare the findings with the printed caches, latencies and
    TLBs."""
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {}
    right = 0
    for done, hidden in enumerate(PATHS):
        progress("probing simulated devices", done, len(PATHS) + 2)
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
            ),
            _bank_table(),
        ),
        f"{right} of {len(PATHS)} paths are found as printed; of the TLB's unequal sets "
        f"{sum(row[-1] == 'yes' for row in tlbs)} of {len(tlbs)} mappings.",
        missing=(
            "global access latencies by pattern (1 to 6): a plot, no numbers in the text",
            "pattern 6, a switch of page tables beyond 512 MB of entries: no such table is "
            "simulated; TLB misses stand at patterns 2, 3 and 5",
            "Kepler's read-only data cache: its structure is named and not printed",
            "bank conflict latencies: plots; the conflicts themselves are recomputed",
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
        progress("probing simulated devices", len(PATHS) + done, len(PATHS) + 2)
        second = SimulatedCache(2 * MB, _WAYS, 90.0, table=table)
        kepler_l2 = SimulatedCache(128, (16,) * 256, 230.0, 32)
        hierarchy = SimulatedHierarchy((kepler_l2,), 360.0, (_L1_TLB, second), 250.0)
        device = SimulatedDevice(hierarchy, reach_bytes=_REACH, seed=SEED)
        tlbs = infer_hierarchy(device, Plan(levels=0)).tlbs
        pages = [f"{(t.capacity_bytes or 0) // (2 * MB)} entries, {_sets(t)}"
                 + "".join(f" ({doubt})" for doubt in t.doubts) for t in tlbs]  # fmt: skip
        agrees = len(tlbs) == 2 and tlbs[0].ways == (16,) and tlbs[1].ways == _WAYS
        figures[f"TLBs found as printed, pages {name}"] = float(agrees)
        rows.append((name, "; ".join(pages), "yes" if agrees else "no"))
    return tuple(rows)


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
