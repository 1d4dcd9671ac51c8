"""The memory chart of a launch: boxes and arrows from instructions to DRAM, as a profiler draws
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from placewise.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.model import Prediction

CACHED = ("global", "local", "texture")
"""Kinds of accesses that go through the first data cache, as :func:`memory_of` names them."""
_LOAD_STORE, _TEXTURE = "load/store unit", "texture unit"
_L2, _DRAM = "L2 bandwidth", "DRAM bandwidth"


def memory_of(site: SiteTraffic) -> str:
    """The box of the chart that an access starts from: global, local, texture, shared or
    constant."""
    space = site.site.space
    return "global" if space == "generic" else space


def memory_chart(run: SimulatedLaunch, prediction: Prediction | None) -> dict[str, Any]:
    """The chart's document (:class:`placewise.schemas.page.MemoryChart`).

    The share of peak of a part of the machine is the cycles that it needs by itself over the
    predicted cycles of the launch. Without ``prediction`` there are no shares.
    """
    groups = _groups(run.traffic.sites)
    busy = _busy(prediction)
    units = [_unit("kernel", float(run.execution.warp_instructions), "instructions")]
    units += [
        _unit(name, sum(s.requests for s in sites), "requests") for name, sites in groups.items()
    ]
    links = [
        _link("kernel", name, "request", sum(s.requests for s in sites), "requests", None)
        for name, sites in groups.items()
    ]
    units += _levels(run, groups)
    links += _on_chip_links(groups, busy)
    links += _off_chip_links(run, groups, busy)
    return {"units": units, "links": [link for link in links if link["amount"] > 0]}


def _groups(sites: Iterable[SiteTraffic]) -> dict[str, list[SiteTraffic]]:
    groups: dict[str, list[SiteTraffic]] = {}
    for site in sites:
        if site.requests > 0:
            groups.setdefault(memory_of(site), []).append(site)
    return groups


def _busy(prediction: Prediction | None) -> dict[str, float]:
    """Share of the predicted time for each part of the machine, and for the requests of each kind
    of memory to the load/store unit."""
    if prediction is None or not prediction.absolute or not prediction.total:
        return {}
    shares = {part.path: part.cycles / prediction.total for part in prediction.parts}
    for part in prediction.parts:
        if part.path not in (_LOAD_STORE, _TEXTURE):
            continue
        for term in part.terms:
            kind = term.array.removeprefix("(").removesuffix(" memory)")
            named = kind if term.array.startswith("(") else "global"
            where = "texture" if part.path == _TEXTURE else named
            key = f"{where} requests"
            shares[key] = shares.get(key, 0.0) + term.cycles / prediction.total
    return shares


def _levels(run: SimulatedLaunch, groups: Mapping[str, list[SiteTraffic]]) -> list[dict[str, Any]]:
    """The boxes of the caches and memories that the launch uses."""
    cached = [s for name in CACHED for s in groups.get(name, ())]
    units = []
    machine = run.machine
    if cached:
        loads = [s for s in cached if s.site.kind == "load"]
        asked = sum(s.sectors for s in loads)
        units.append(
            _unit(
                "l1",
                sum(s.sectors for s in cached),
                "sectors",
                sum(s.l1_hits.value for s in loads) / asked if asked else None,
                _size(machine, "sm"),
            )
        )
    for box, name in (("shared_memory", "shared"), ("constant_cache", "constant")):
        if name in groups:
            missed = sum(c.missed.value for s in groups[name] for c in s.constant[-1:])
            taken = sum(s.wavefronts for s in groups[name])
            hits = 1.0 - missed / taken if taken and any(s.constant for s in groups[name]) else None
            units.append(_unit(box, taken, "wavefronts", hits))
    return [*units, *_below_sms(run, groups, cached)]


def _below_sms(
    run: SimulatedLaunch, groups: Mapping[str, list[SiteTraffic]], cached: list[SiteTraffic]
) -> list[dict[str, Any]]:
    """The boxes of L2 and DRAM; empty where no access leaves the SMs."""
    units = []
    machine = run.machine
    below = [*cached, *(s for s in groups.get("constant", ()) if s.constant)]
    asked = sum(max(0.0, s.l2_sectors.value) for s in below if s.site.kind != "store")
    stored = sum(max(0.0, s.l2_sectors.value) for s in below if s.site.kind == "store")
    if asked or stored:
        found = sum(s.l2_hits.value for s in below if s.site.kind != "store")
        hits = min(1.0, found / asked) if asked else None
        units.append(_unit("l2", asked + stored, "sectors", hits, _size(machine, "die")))
        read = sum(s.dram_sectors.value for s in below)
        written = run.traffic.dram_sectors_written().value
        units.append(_unit("dram", read + written, "sectors"))
    return units


def _size(machine: Machine, scope: str) -> int | None:
    """Capacity in bytes of the nearest cache with this ``scope`` that plain loads go through; None
    where there is none."""
    levels = machine.levels(machine.direct_space.name)[:-1]
    return next((m.size_bytes for m in levels if m.scope == scope), None)


def _on_chip_links(
    groups: Mapping[str, list[SiteTraffic]], busy: Mapping[str, float]
) -> list[dict[str, Any]]:
    links = []
    for name, sites in groups.items():
        share = busy.get(f"{name} requests", 0.0) if busy else None
        if name in CACHED:
            read = sum(s.sectors for s in sites if s.site.kind == "load")
            written = sum(s.sectors for s in sites if s.site.kind != "load")
            whole = read + written
            for kind, amount in (("read", read), ("write", written)):
                part = None if share is None or not whole else share * amount / whole
                links.append(_link(name, "l1", kind, amount, "sectors", part))
        elif name in ("shared", "constant"):
            box = "shared_memory" if name == "shared" else "constant_cache"
            taken = sum(s.wavefronts for s in sites)
            links.append(_link(name, box, "request", taken, "wavefronts", share))
    return links


def _off_chip_links(
    run: SimulatedLaunch, groups: Mapping[str, list[SiteTraffic]], busy: Mapping[str, float]
) -> list[dict[str, Any]]:
    sector = run.traffic.sector_bytes
    cached = [s for name in CACHED for s in groups.get(name, ())]
    constant = [s for s in groups.get("constant", ()) if s.constant]
    read = sum(max(0.0, s.l2_sectors.value) for s in cached if s.site.kind == "load")
    written = sum(max(0.0, s.l2_sectors.value) for s in cached if s.site.kind != "load")
    filled = sum(max(0.0, s.l2_sectors.value) for s in constant)
    fetched = sum(s.dram_sectors.value for s in (*cached, *constant))
    back = run.traffic.dram_sectors_written().value
    links = []
    for origin, target, part, amounts in (
        ("l2", "l1", _L2, (("read", read), ("write", written))),
        ("l2", "constant_cache", _L2, (("read", filled),)),
        ("dram", "l2", _DRAM, (("read", fetched), ("write", back))),
    ):
        whole = fetched + back if part == _DRAM else read + written + filled
        for kind, sectors in amounts:
            ends = (origin, target) if kind == "read" else (target, origin)
            share = busy.get(part, 0.0) * sectors / whole if busy and whole else None
            links.append(_link(*ends, kind, sectors * sector, "bytes", share))
    return links


def _unit(
    name: str,
    amount: float,
    unit: str,
    hit_share: float | None = None,
    size_bytes: int | None = None,
) -> dict[str, Any]:
    return {
        "id": name,
        "amount": amount,
        "unit": unit,
        "hit_share": hit_share,
        "size_bytes": size_bytes,
    }


# One parameter for each key of the document.
def _link(
    source: str, target: str, kind: str, amount: float, unit: str, share: float | None
) -> dict[str, Any]:
    return {
        "source": source,
        "target": target,
        "kind": kind,
        "amount": amount,
        "unit": unit,
        "peak_share": share,
    }
