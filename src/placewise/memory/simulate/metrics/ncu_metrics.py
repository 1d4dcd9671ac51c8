"""Counters under the names of Nsight Compute's metrics.

In these (NVIDIA, Nsight Compute documentation, "Metrics Reference" and "Metrics Decoder"), a
request is an instruction of a warp, a sector is 32 bytes, and a wavefront is a pass through the
data stage of L1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from placewise.kernel.binary.machine_code import machine_code
from placewise.machine.machine import Machine
from placewise.memory.simulate.caches.last_level.slices import SliceTraffic
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.thread_classes import CLASSES, thread_class
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.memory.simulate.requests.routes import is_constant_load

NCU_SECTOR = 32
WARP_INSTRUCTIONS = "smsp__inst_executed.sum"
THREAD_INSTRUCTIONS = "smsp__thread_inst_executed.sum"
LANES_PER_INSTRUCTION = "smsp__thread_inst_executed_per_inst_executed.ratio"
WARPS_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
_L2_READ = "lts__t_sectors_op_read.sum"
_L2_FOUND = "lts__t_sectors_op_read_lookup_hit.sum"
_DRAM_READ = "dram__sectors_read.sum"
_DRAM_WRITTEN = "dram__sectors_write.sum"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
_UNITS = ("l1tex__t_", "l1tex__data_", "idc__", "lts__", "dram__", "smsp__", "launch__", "sm__")


_L1_OPERATIONS = (
    *(f"lsu_mem_global_op_{op}" for op in ("ld", "st", "atom", "red")),
    *(f"lsu_mem_local_op_{op}" for op in ("ld", "st")),
    "tex_mem_texture",
    *(f"tex_mem_surface_op_{op}" for op in ("ld", "st")),
)
_LOADS = (
    "lsu_mem_global_op_ld",
    "lsu_mem_local_op_ld",
    "tex_mem_texture",
    "tex_mem_surface_op_ld",
)
ALWAYS_COUNTED = frozenset(
    (
        *(f"l1tex__t_{w}_pipe_{op}.sum" for w in ("requests", "sectors") for op in _L1_OPERATIONS),
        *(f"l1tex__t_sectors_pipe_{op}_lookup_hit.sum" for op in _LOADS),
        *(f"{_SHARED}{op}.sum" for op in ("ld", "st", "atom")),
        *(f"lts__t_sectors_op_{op}.sum" for op in ("read", "write", "atom", "red")),
        *(f"lts__t_sectors_op_{op}_lookup_hit.sum" for op in ("read", "atom", "red")),
        _DRAM_READ,
        _DRAM_WRITTEN,
    )
)
"""Counters that are zero on every machine if they are left out."""


class Metric(NamedTuple):
    """Value of a counter, of the whole launch or of a part of it."""

    name: str
    value: float
    error: float = 0.0
    """Standard error, if blocks were sampled."""
    bound: bool = False
    """Whether ``value`` is only an upper bound."""


class SourceLine(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


def launch_metrics(
    run: SimulatedLaunch, launches: float = 1.0, *, microseconds: float | None = None
) -> tuple[Metric, ...]:
    """All counters of a launch, or of one with ``launches`` times as many such blocks.

    ``microseconds`` is the duration of the launch. If it is given, the sectors that the rest of the
    GPU reads from L2 in this time are counted, too, as a profiler does.
    """
    traffic, execution = run.traffic, run.execution
    written = traffic.dram_sectors_written(launches)
    metrics = [
        *traffic_metrics(traffic.sites, traffic.sector_bytes),
        Metric(WARP_INSTRUCTIONS, float(execution.warp_instructions)),
        Metric(THREAD_INSTRUCTIONS, float(execution.thread_instructions)),
    ]
    if run.from_machine_code:
        metrics += _class_metrics(run)
    per_sector = traffic.sector_bytes / NCU_SECTOR
    filled = zip((_L2_READ, _L2_FOUND, _DRAM_READ), traffic.constant_fill, strict=True)
    once = {name: amount * per_sector for name, amount in filled}
    metrics = [
        m._replace(
            value=m.value * launches - (launches - 1.0) * once.get(m.name, 0.0),
            error=m.error * launches,
        )
        for m in metrics
    ]
    others = traffic.instructions.sectors(launches) * traffic.sector_bytes / NCU_SECTOR
    others += _background_sectors(run.machine, microseconds or 0.0)
    metrics = [m._replace(value=m.value + others) if m.name == _L2_READ else m for m in metrics]
    metrics += _slice_metrics(run.traffic.slices, {m.name: m.value for m in metrics})
    if written.value:
        error = written.error * per_sector
        metrics.append(Metric(_DRAM_WRITTEN, written.value * per_sector, error))
    if execution.warp_instructions:
        active = execution.thread_instructions / execution.warp_instructions
        metrics.append(Metric(LANES_PER_INSTRUCTION, active))
    if run.kernel.registers:
        metrics.append(Metric("launch__registers_per_thread", float(run.kernel.registers)))
    occupied = 100.0 * run.occupancy.fraction
    metrics.append(Metric("sm__maximum_warps_per_active_cycle_pct", occupied))
    metrics.append(Metric(WARPS_ACTIVE, occupied, bound=True))
    return tuple(sorted(metrics, key=lambda m: _unit(m.name)))


_OF_KIND = (("read",), ("write",), ("atom", "red"))
"""Names of loads, stores and atomics in the metrics of L2."""
_L2_FABRIC = "lts__t_sectors_srcunit_ltcfabric.sum"


def _slice_metrics(slices: SliceTraffic | None, sums: Mapping[str, float]) -> list[Metric]:
    """Requests to the average, the busiest and the idlest slice of L2, and the traffic between its
    partitions. ``sums`` are counters of all slices together: they are divided in the proportions of
    the traced part, and reads that are not accesses of the kernel are assumed to be spread in the
    same proportions.
    """
    if slices is None:
        return []
    totals = [sum(sums.get(f"lts__t_sectors_op_{op}.sum", 0.0) for op in ops) for ops in _OF_KIND]
    counted = slices.sectors.sum(axis=0)
    scale = np.divide(totals, counted, out=np.zeros(len(totals)), where=counted > 0)
    each = slices.sectors * scale
    found = []
    for name, amounts in (
        ("lts__t_sectors", each.sum(axis=1)),
        ("lts__t_sectors_op_read", each[:, 0]),
        ("lts__t_sectors_op_write", each[:, 1]),
    ):
        if amounts.any():
            rollups = ("avg", amounts.mean()), ("max", amounts.max()), ("min", amounts.min())
            found += [Metric(f"{name}.{rollup}", float(value)) for rollup, value in rollups]
    if slices.crossed is not None:
        found.append(Metric(_L2_FABRIC, float(slices.crossed @ scale)))
    return found


def with_zeros(metrics: Iterable[Metric], names: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics, with a zero for each of ``names`` that was left out because nothing was
    counted."""
    known = {m.name: m for m in metrics}
    known |= {name: Metric(name, 0.0) for name in names if name in ALWAYS_COUNTED - known.keys()}
    return tuple(known[name] for name in in_order(known))


def in_order(names: Iterable[str]) -> list[str]:
    """Counters sorted by their unit, from the SM to DRAM; those of instructions and of the launch
    come last."""
    return sorted(names, key=_unit)


def _unit(name: str) -> int:
    starts = (n for n, unit in enumerate(_UNITS) if name.startswith(unit))
    return next(starts, len(_UNITS))


def _background_sectors(machine: Machine, microseconds: float) -> float:
    """Sectors that the rest of the GPU, not the kernel, reads from L2 in this time."""
    rates = (m.detail.background_gb_per_s or 0.0 for m in machine.memories if m.scope == "die")
    return sum(rates) * 1e3 * microseconds / NCU_SECTOR


def traffic_metrics(sites: Iterable[SiteTraffic], sector_bytes: int) -> tuple[Metric, ...]:
    """Counters of the accesses of some instructions; counters that are zero for all of them are
    left out.

    Sectors have 32 bytes, as in Nsight Compute: a larger sector of a machine counts as several.
    """
    per_sector = sector_bytes / NCU_SECTOR
    found: dict[str, Estimate] = {}

    def add(name: str, amount: Estimate) -> None:
        if amount.value:
            found[name] = found.get(name, Estimate(0.0, 0.0)) + amount

    def sectors(amount: Estimate) -> Estimate:
        return Estimate(amount.value * per_sector, amount.error * per_sector)

    for t in sites:
        kind = _operation(t)
        space = "global" if t.site.space in ("global", "generic") else t.site.space
        if space == "shared":
            # Machine code has no reductions in shared memory: they are ATOMS whose result is not
            # read.
            of_shared = "atom" if kind == "red" else kind
            add(f"{_SHARED}{of_shared}.sum", Estimate(t.wavefronts, 0.0))
            continue
        if is_constant_load(t.site) and t.wavefronts:
            # One request for each different address of a warp (CUDA C++ Programming Guide).
            add("idc__requests.sum", Estimate(t.wavefronts, 0.0))
        if t.constant:
            # The first request for a line decides whether it has to be fetched.
            missed = t.constant[0].missed
            hits = Estimate(t.wavefronts - missed.value, missed.error)
            add("idc__requests_lookup_hit.sum", hits)
            add("idc__requests_lookup_miss.sum", missed)
            add(_L2_READ, sectors(t.l2_sectors))
            add(_L2_FOUND, sectors(t.l2_hits))
            add(_DRAM_READ, sectors(t.dram_sectors))
        if space not in ("global", "local", "texture"):
            continue
        path = f"pipe_lsu_mem_{space}_op_{kind}"
        if space == "texture":
            surface = t.site.opcode.lower().startswith("su")
            path = f"pipe_tex_mem_surface_op_{kind}" if surface else "pipe_tex_mem_texture"
        add(f"l1tex__t_requests_{path}.sum", Estimate(t.requests, 0.0))
        add(f"l1tex__t_sectors_{path}.sum", sectors(Estimate(t.sectors, 0.0)))
        if kind == "ld":
            add(f"l1tex__t_sectors_{path}_lookup_hit.sum", sectors(t.l1_hits))
        below = {"ld": "read", "st": "write", "atom": "atom", "red": "red"}[kind]
        add(f"lts__t_sectors_op_{below}.sum", sectors(t.l2_sectors))
        if kind != "st":
            add(f"lts__t_sectors_op_{below}_lookup_hit.sum", sectors(t.l2_hits))
        add(_DRAM_READ, sectors(t.dram_sectors))
    return tuple(Metric(name, *found[name]) for name in in_order(found))


def sites_by_array(run: SimulatedLaunch) -> tuple[tuple[str, tuple[SiteTraffic, ...]], ...]:
    """The instructions that access each array, and those that access unnamed shared and local
    memory."""
    groups: dict[str, list[SiteTraffic]] = {}
    for site in run.traffic.sites:
        groups.setdefault(site.array_or_memory, []).append(site)
    return tuple((name, tuple(sites)) for name, sites in groups.items())


def sites_by_line(run: SimulatedLaunch) -> dict[SourceLine, list[SiteTraffic]]:
    """The memory instructions of each source line; instructions of unknown line are left out."""
    sites: dict[SourceLine, list[SiteTraffic]] = {}
    for t in run.traffic.sites:
        if (line := line_of(t)) is not None:
            sites.setdefault(line, []).append(t)
    return sites


def line_of(traffic: SiteTraffic) -> SourceLine | None:
    """The source line of a memory instruction; None if the compiler gave none."""
    site = traffic.site
    if site.source_file is None or site.source_line is None:
        return None
    return SourceLine(site.source_file, site.source_line)


def metrics_by_array(run: SimulatedLaunch) -> tuple[tuple[str, tuple[Metric, ...]], ...]:
    """Traffic of each array, of unnamed shared and local memory, and of the machine code that is
    read through L2."""
    found = (
        (name, traffic_metrics(s, run.traffic.sector_bytes)) for name, s in sites_by_array(run)
    )
    parts = tuple((name, metrics) for name, metrics in found if metrics)
    code = run.traffic.instructions.sectors() * run.traffic.sector_bytes / NCU_SECTOR
    return (*parts, ("(machine code)", (Metric(_L2_READ, code),))) if code else parts


def metrics_by_line(run: SimulatedLaunch) -> tuple[tuple[SourceLine, tuple[Metric, ...]], ...]:
    """Traffic of each source line, in the order of the source. If machine code was executed, also
    the number of instructions executed for the line."""
    sites = sites_by_line(run)
    executed = _warps_by_line(run) if run.from_machine_code else {}
    found = []
    for line in sorted({*sites, *executed}):
        metrics = traffic_metrics(sites.get(line, ()), run.traffic.sector_bytes)
        if executed.get(line):
            metrics += (Metric(WARP_INSTRUCTIONS, float(executed[line])),)
        if metrics:
            found.append((line, metrics))
    return tuple(found)


def _warps_by_line(run: SimulatedLaunch) -> dict[SourceLine, int]:
    """Warp instructions of each line; files have the same names as in the lines of memory
    instructions."""
    names = {
        PurePath(s.source_file).name: s.source_file for s in run.execution.sites if s.source_file
    }
    places = {i.offset: i.place for i in machine_code(run.kernel).instructions}
    found: dict[SourceLine, int] = {}
    for count in run.execution.instruction_counts():
        place = places.get(count.place)
        if place is not None:
            line = SourceLine(names.get(PurePath(place[0]).name, place[0]), place[1])
            found[line] = found.get(line, 0) + count.warps
    return found


def _operation(t: SiteTraffic) -> str:
    """The operation's name in metrics: ld, st, red or atom."""
    if t.site.kind == "atomic":
        return "red" if t.site.opcode.lower().startswith("red") else "atom"
    return "ld" if t.site.kind == "load" else "st"


def _class_metrics(run: SimulatedLaunch) -> list[Metric]:
    """Thread instructions by class; only threads whose guard predicate is true are counted."""
    classes = {i.offset: thread_class(i.opcode) for i in machine_code(run.kernel).instructions}
    threads = dict.fromkeys(CLASSES, 0)
    for count in run.execution.instruction_counts():
        kind = classes.get(count.place)
        if kind is not None:
            threads[kind] += count.active
    return [
        Metric(f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum", float(n))
        for kind, n in threads.items()
    ]
