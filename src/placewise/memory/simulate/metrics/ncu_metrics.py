"""Counters under the names of Nsight Compute's metrics.

NVIDIA, Nsight Compute documentation, "Metrics Reference" and "Metrics Decoder": a request is a
warp's instruction, a sector 32 bytes, a wavefront a pass through the data stage of L1.
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
"""Counters that are zero where they are left out, whatever the machine."""


class Metric(NamedTuple):
    """A counter of the whole launch, or of a part of it."""

    name: str
    value: float
    error: float = 0.0
    """Standard error, where blocks were sampled."""
    bound: bool = False
    """The counter is at most this."""


class SourceLine(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


def launch_metrics(
    run: SimulatedLaunch, launches: float = 1.0, *, microseconds: float | None = None
) -> tuple[Metric, ...]:
    """All counters of a launch, or of one with ``launches`` times as many blocks of the kind.

    ``microseconds``: how long it takes, where that is known; what the machine reads from L2 at all
    times is then counted, as a profiler does.
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
"""Operations of loads, stores and atomics, as metrics of L2 name them."""
_L2_FABRIC = "lts__t_sectors_srcunit_ltcfabric.sum"


def _slice_metrics(slices: SliceTraffic | None, sums: Mapping[str, float]) -> list[Metric]:
    """What the average, the busiest and the idlest slice of L2 is asked, and what crosses between
    its partitions. ``sums`` are counters of all slices: those of the part traced have shares of
    them, and what is read by others than the kernel's accesses is taken to be spread alike.
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
    """With those of ``names`` that are left out as nothing was counted."""
    known = {m.name: m for m in metrics}
    known |= {name: Metric(name, 0.0) for name in names if name in ALWAYS_COUNTED - known.keys()}
    return tuple(known[name] for name in in_order(known))


def in_order(names: Iterable[str]) -> list[str]:
    """Counters by their unit, on the way from the SM to DRAM; instructions and the launch come
    last."""
    return sorted(names, key=_unit)


def _unit(name: str) -> int:
    starts = (n for n, unit in enumerate(_UNITS) if name.startswith(unit))
    return next(starts, len(_UNITS))


def _background_sectors(machine: Machine, microseconds: float) -> float:
    """Sectors that others than the kernel read from L2 in so much time."""
    rates = (m.detail.background_gb_per_s or 0.0 for m in machine.memories if m.scope == "die")
    return sum(rates) * 1e3 * microseconds / NCU_SECTOR


def traffic_metrics(sites: Iterable[SiteTraffic], sector_bytes: int) -> tuple[Metric, ...]:
    """Counters of the accesses of some instructions; those that are zero for all are left out.

    Sectors are Nsight Compute's of 32 bytes: those of a machine whose smallest sector is larger
    count several times.
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
            # Machine code has no reductions there: ATOMS, whose result nobody reads.
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
    """The instructions that access each array, and the shared and local memory without a name."""
    groups: dict[str, list[SiteTraffic]] = {}
    for site in run.traffic.sites:
        groups.setdefault(site.array or f"({site.site.space} memory)", []).append(site)
    return tuple((name, tuple(sites)) for name, sites in groups.items())


def sites_by_line(run: SimulatedLaunch) -> dict[SourceLine, list[SiteTraffic]]:
    """The memory instructions of each source line that is known."""
    sites: dict[SourceLine, list[SiteTraffic]] = {}
    for t in run.traffic.sites:
        if (line := line_of(t)) is not None:
            sites.setdefault(line, []).append(t)
    return sites


def line_of(traffic: SiteTraffic) -> SourceLine | None:
    """Where a memory instruction comes from; None where the compiler gave no line."""
    site = traffic.site
    if site.source_file is None or site.source_line is None:
        return None
    return SourceLine(site.source_file, site.source_line)


def metrics_by_array(run: SimulatedLaunch) -> tuple[tuple[str, tuple[Metric, ...]], ...]:
    """Traffic of each array, of the shared and local memory that has no name, and of the machine
    code that is read through L2."""
    found = (
        (name, traffic_metrics(s, run.traffic.sector_bytes)) for name, s in sites_by_array(run)
    )
    parts = tuple((name, metrics) for name, metrics in found if metrics)
    code = run.traffic.instructions.sectors() * run.traffic.sector_bytes / NCU_SECTOR
    return (*parts, ("(machine code)", (Metric(_L2_READ, code),))) if code else parts


def metrics_by_line(run: SimulatedLaunch) -> tuple[tuple[SourceLine, tuple[Metric, ...]], ...]:
    """Traffic of each source line in the order of the source, and, of machine code, the
    instructions that were executed for it."""
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
    """Warp instructions of each line; files are named as those of memory instructions are."""
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
    """ld, st, red or atom."""
    if t.site.kind == "atomic":
        return "red" if t.site.opcode.lower().startswith("red") else "atom"
    return "ld" if t.site.kind == "load" else "st"


def _class_metrics(run: SimulatedLaunch) -> list[Metric]:
    """Thread instructions by class, of the threads whose guard holds."""
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
