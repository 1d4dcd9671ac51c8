"""Predicted counters as JSON-able data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from placewise.memory.simulate.caches.last_level.slices import SliceTraffic
from placewise.memory.simulate.caches.tlb import added_up
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.simulate.metrics.ncu_metrics import (
    Metric,
    metrics_by_array,
    metrics_by_line,
    sites_by_array,
    sites_by_line,
)
from placewise.memory.simulate.metrics.traffic import SiteTraffic, constant_caches

if TYPE_CHECKING:
    from placewise.advisor.predictions.predicted_counters import CounterReport

Sites = Iterable[SiteTraffic]
COUNTERS_SCHEMA_VERSION = 1


def counters_document(
    report: CounterReport, *, present: CounterReport | None = None
) -> dict[str, Any]:
    """The document that ``placewise counters --json`` prints; only JSON types. Where ``report`` has
    some arrays in other memories, ``present`` is the report of the case without these moves."""
    case, run = report.case, report.run
    by_line = sites_by_line(run)
    return {
        "schema": "placewise-counters",
        "schema_version": COUNTERS_SCHEMA_VERSION,
        "case": {
            "name": case.name,
            "source": case.filename,
            "kernel": run.kernel.name,
            "grid": list(run.launch.grid),
            "block": list(run.launch.block),
            "shared_bytes": run.launch.shared_bytes,
        },
        "machine": {"name": run.machine.name, "title": run.machine.title},
        "arch": run.kernel.arch,
        "executed": "machine code" if run.from_machine_code else "PTX",
        "occupancy": {"blocks_per_sm": run.occupancy.blocks, "warps_per_sm": run.occupancy.warps},
        "traced_share_of_blocks": run.traffic.traced,
        "moves": [{"array": array, "space": space} for array, space in report.moves],
        "counters": _values(report.metrics),
        "counters_as_it_is": None if present is None else _values(present.metrics),
        "background_microseconds": report.microseconds,
        "measured": None if report.measured is None else dict(report.measured.values),
        "measured_with": list(report.differs),
        "arrays": {name: _values(metrics) for name, metrics in metrics_by_array(run)},
        "array_levels": {name: _level_document(sites) for name, sites in sites_by_array(run)},
        "lines": [
            {
                "file": place.file,
                "line": place.line,
                "counters": _values(metrics),
                **_level_document(by_line.get(place, ())),
            }
            for place, metrics in metrics_by_line(run)
        ],
        **_level_document(run.traffic.sites),
        "l2_sizes": [asdict(size) for size in report.sizes],
        "l2_slices": _slice_document(run.traffic.slices),
        "dram_banks": _bank_document(run.traffic.banks),
        "notes": list(report.notes),
    }


def _level_document(sites: Sites) -> dict[str, Any]:
    """Requests of some memory instructions to the constant caches and to address translation."""
    return {
        "constant_caches": [
            {"name": c.name, "lines_asked": c.asked.value, "lines_missed": c.missed.value}
            for c in constant_caches(sites)
        ],
        "tlbs": [asdict(level) for level in added_up(site.tlbs for site in sites)],
    }


def _slice_document(slices: SliceTraffic | None) -> dict[str, Any] | None:
    """Sectors that loads, stores and atomics of the traced blocks asked of each slice of L2; None
    where the machine file does not describe slices."""
    if slices is None:
        return None
    kinds = ("loads", "stores", "atomics")
    crossed = (
        None if slices.crossed is None else dict(zip(kinds, slices.crossed.tolist(), strict=True))
    )
    return {**dict(zip(kinds, slices.sectors.T.tolist(), strict=True)), "crossed": crossed}


def _bank_document(banks: BankTraffic | None) -> dict[str, list[float]] | None:
    if banks is None:
        return None
    names = ("requests", "hits", "misses", "conflicts")
    return {name: getattr(banks, name).tolist() for name in names}


def _values(metrics: Iterable[Metric]) -> dict[str, dict[str, Any]]:
    return {
        m.name: {"value": m.value, "standard_error": m.error, "upper_bound": m.bound}
        for m in metrics
    }
