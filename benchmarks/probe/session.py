"""A whole probe of simulated GPUs: what its machine file says beside what was hidden."""

from __future__ import annotations

from benchmarks.results import Figure
from placewise.machine import Machine, load_machine, parse_machine
from placewise.probe.session import Request, probe
from placewise.probe.simulated.target import SimulatedTarget
from placewise.probe.write_machine import machine_text

SIMULATED = "T1000"
QUICK = "H100"
WITHIN = 0.03


def whole_probe(seed: int) -> list[Figure]:
    """All parts of a small GPU, the quick ones of a large one."""
    return [*_figures(SIMULATED, seed, quick=False), *_figures(QUICK, seed, quick=True)]


def _figures(name: str, seed: int, *, quick: bool) -> list[Figure]:
    hidden = load_machine(name)
    target = SimulatedTarget(hidden, seed=seed)
    found = probe(target, Request(quick=quick, seed=seed))
    what = f"simulated {name}{', quick' if quick else ''}"
    wrong = [part for part, _ in found.failures]
    text = machine_text(found, hidden, "2026-01-01")
    wrong += _differences(parse_machine(text), hidden, target, quick=quick)
    return [
        Figure(f"{what}: figures wrong in its machine file", len(wrong), "", "0", not wrong),
        Figure(f"{what}: time on the device", found.seconds, "s", "< 300", found.seconds < 300),
    ]


def _differences(
    found: Machine, hidden: Machine, target: SimulatedTarget, *, quick: bool
) -> list[str]:
    """Names of figures that differ. Ways and policies that the file leaves open are not judged."""
    names = ["globalMem", "L2", "L1", "sharedMem", "cL1"]
    wrong = [
        f"latency of {name}"
        for name in names
        if abs(found.memory(name).latency_cycles / hidden.memory(name).latency_cycles - 1) > WITHIN
    ]
    if found.memory("L2").size_bytes != hidden.memory("L2").size_bytes:
        wrong.append("size of L2")
    line = hidden.memory("L1").detail.line_bytes or 1
    # The simulated cache has a whole number of sets, so up to a set's lines less.
    size, true = found.memory("L1").size_bytes or 0, hidden.memory("L1").size_bytes or 0
    if not 0 <= true - size < 32 * line:
        wrong.append("size of L1")
    if found.memory("sharedMem").banks != hidden.memory("sharedMem").banks:
        wrong.append("banks")
    if found.dram is None or found.dram.row_bits != target.dram.row_bits:
        wrong.append("row bits")
    if not quick:
        for one, other in zip(found.tlbs, target.tlbs, strict=False):
            if (one.entries, one.page_bytes) != (other.entries, other.page_bytes):
                wrong.append(f"TLB {other.name}")
        if len(found.tlbs) != len(target.tlbs):
            wrong.append("number of TLBs")
    return wrong
