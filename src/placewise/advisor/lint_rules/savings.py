"""What mending a remark would save: the launch is timed again as if the remark did not hold.

The timeline is run on the same instructions with the memory traffic that the mended accesses would
have. Instructions that the mended kernel would have more or fewer of are not known, so a saving is
the most that can be hoped for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from placewise.advisor.lint import Remark, Rule, least_sectors, least_wavefronts
from placewise.advisor.lint_rules.registers import with_fewer_registers
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.errors import PlacewiseError
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import line_of
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.model.base import Evidence
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.warp_paths import Passes
from placewise.model.registry import DEFAULT, MODELS

_CACHED = ("global", "generic")
_WIDTH = 128.0
"""Bytes that L1's data array and shared memory give in a cycle (CUDA C++ Programming Guide)."""


def with_savings(
    report: CounterReport, remarks: Sequence[Remark], evidence: Evidence | None = None
) -> list[Remark]:
    """``remarks`` with their savings; None where the launch has no predicted time. ``evidence`` is
    what that time rests on, where it is known already."""
    if not remarks:
        return []
    run = report.run
    model = MODELS[DEFAULT].make()
    try:
        if evidence is None:
            evidence = evidence_of(
                run.kernel, run.launch, report.case.inputs, run.machine, guards=False
            )
        now = model.predict(evidence, run.machine).total
    except PlacewiseError:
        return list(remarks)
    found = []
    for remark in remarks:
        mended = _mended(remark, evidence)
        saving = None
        if mended is not None and now > 0:
            saving = max(0.0, 1.0 - model.predict(mended, run.machine).total / now)
        found.append(replace(remark, saving=saving))
    return found


def _mended(remark: Remark, evidence: Evidence) -> Evidence | None:
    """The evidence of the launch as it would be if ``remark`` did not hold; None where that cannot
    be told."""
    run = evidence.run
    if run is None or remark.rule in (Rule.dropped_hint, Rule.block_size):
        return None
    if remark.rule is Rule.registers:
        better = with_fewer_registers(run)
        return None if better is None else replace(evidence, run=replace(run, occupancy=better[1]))
    sites = tuple(_mend(t, remark, run) if _concerns(remark, t) else t for t in run.traffic.sites)
    paths = evidence.warp_paths
    if paths is not None:
        kinds = []
        for kind in paths.kinds:
            passes = dict(kind.passes)
            for before, after in zip(run.traffic.sites, sites, strict=True):
                at = before.site.ptx_line
                if before is not after and at in passes:
                    passes[at] = _passes(passes[at], before, after, remark.rule)
            kinds.append(replace(kind, passes=passes))
        paths = replace(paths, kinds=tuple(kinds))
    run = replace(run, traffic=replace(run.traffic, sites=sites))
    return replace(evidence, run=run, warp_paths=paths)


def _concerns(remark: Remark, t: SiteTraffic) -> bool:
    if not t.requests:
        return False
    if remark.rule is Rule.spill:
        return t.site.space == "local"
    if remark.rule in (Rule.partly_used, Rule.redundant):
        return t.array == remark.array and t.site.kind == "load" and t.site.space in _CACHED
    same = (line_of(t), t.array, t.site.kind) == (remark.line, remark.array, remark.kind)
    return same and t.site.space in _SPACES[remark.rule]


_SPACES = {
    Rule.uncoalesced: _CACHED,
    Rule.bank_conflict: ("shared",),
    Rule.divergent_constant: ("constant",),
}


def _mend(t: SiteTraffic, remark: Remark, run: SimulatedLaunch) -> SiteTraffic:
    """Traffic that an instruction, which ``remark`` concerns, would have if the remark did not
    hold."""
    sector = run.traffic.sector_bytes
    match remark.rule:
        case Rule.bank_conflict:
            return replace(t, wavefronts=min(t.wavefronts, least_wavefronts(t)))
        case Rule.divergent_constant:
            return replace(t, wavefronts=min(t.wavefronts, t.requests))
        case Rule.partly_used:
            return _asking(t, t, t.lanes * t.site.lane_bytes / sector)
        case Rule.uncoalesced:
            # L2 is asked for as much as now, but for no more than the coalesced accesses need.
            left = min(t.sectors, least_sectors(t, sector))
        case Rule.redundant:
            # Each sector that a block asks for again and again leaves its shared memory once.
            left = t.sectors / remark.times
        case _:
            # Values in registers cause no traffic. The instructions themselves stay.
            left = 0.0
    lines = t.lines * left / t.sectors if t.sectors else 0.0
    return _asking(replace(t, sectors=left, lines=lines), t, left)


def _asking(t: SiteTraffic, before: SiteTraffic, most: float) -> SiteTraffic:
    """``t`` with the L2 and DRAM sectors of ``before``, each limited to ``most``."""
    l2 = min(max(0.0, before.l2_sectors.value), most)
    dram = min(max(0.0, before.dram_sectors.value), most)
    # Sectors that do not go to L2 must be accounted for: as hits in L1 of loads, else as merged.
    left = max(0.0, t.sectors - l2)
    return replace(
        t,
        l2_asked=None if t.l2_asked is None else Estimate(l2, 0.0),
        merged=0.0 if t.site.kind == "load" else left,
        l1_hits=Estimate(left if t.site.kind == "load" else 0.0, 0.0),
        dram_sectors=Estimate(dram, 0.0),
    )


def _passes(now: Passes, before: SiteTraffic, after: SiteTraffic, rule: Rule) -> Passes:
    """What one access would ask of L1: less in proportion to its sectors, but at least the cycles
    that L1 takes to deliver its bytes."""
    if rule is Rule.partly_used or not before.sectors:
        return now
    share = after.sectors / before.sectors
    width = after.lanes / after.requests * after.site.lane_bytes / _WIDTH
    data, full = (min(n, max(1.0, width, n * share)) for n in (now.data, now.full))
    return Passes(data, now.lines * share, full)
