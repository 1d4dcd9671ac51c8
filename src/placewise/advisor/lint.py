"""What a launch does badly with its memories, source line by source line. Each remark comes from
the accesses that the run really made, not from how the source looks. Lines that cause little of the
launch's total are left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import SourceLine, line_of
from placewise.memory.simulate.metrics.traffic import SiteTraffic

WORTH_A_WARNING = 4.0
"""A remark is a warning if its line takes at least this many times the transactions that the same
accesses need at best."""
WORTH_A_NOTE = 2.0
LEAST_SHARE = 0.02
"""Least share of the launch's total (sectors, wavefronts …) that a line must cause to be named."""


class Rule(StrEnum):
    """Kinds of remarks; the value is how reports name them."""

    uncoalesced = "uncoalesced-access"
    bank_conflict = "bank-conflict"
    divergent_constant = "divergent-constant"
    spill = "register-spill"
    partly_used = "partly-used-sectors"
    redundant = "redundant-load"
    dropped_hint = "dropped-cache-hint"
    registers = "occupancy-registers"
    block_size = "block-size"


@dataclass(frozen=True)
class Remark:
    """One rule broken at one line by accesses to one array."""

    rule: Rule
    warning: bool
    message: str
    line: SourceLine | None
    """None where the compiler gave no line."""
    array: str | None
    times: float
    """Transactions of the line over those that would be enough; infinite where none would be
    needed."""
    share: float
    """Share of the launch's total (sectors, wavefronts …) that the line causes."""
    kind: str | None = None
    """load, store or atomic where the remark is on accesses of one kind."""
    saving: float | None = None
    """Largest share of the launch's predicted time that mending it could save; None where no time
    is predicted, or where the cost is not known."""


def lint(run: SimulatedLaunch) -> tuple[Remark, ...]:
    """Remarks on a launch, the one that could save most first."""
    sites = [s for s in run.traffic.sites if s.requests]
    cached = [s for s in sites if s.site.space in ("global", "generic") and s.sectors]
    constant = [s for s in sites if s.site.space == "constant" and s.wavefronts]
    sector = run.traffic.sector_bytes
    found = [
        *_remarks(
            Rule.uncoalesced,
            cached,
            lambda s: s.sectors,
            lambda s: least_sectors(s, sector),
            sector,
        ),
        *bank_conflicts(run),
        *_remarks(Rule.divergent_constant, constant, lambda s: s.wavefronts, lambda s: s.requests),
        *_spills(run, sites),
    ]
    return _worst_first(found)


def bank_conflicts(run: SimulatedLaunch) -> tuple[Remark, ...]:
    """Remarks on lines whose lanes meet in the same banks of shared memory, the one that could save
    most first."""
    sites = [s for s in run.traffic.sites if s.requests and s.wavefronts]
    shared = [s for s in sites if s.site.space == "shared"]
    return _worst_first(
        _remarks(Rule.bank_conflict, shared, lambda s: s.wavefronts, least_wavefronts)
    )


def _worst_first(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    return tuple(sorted(remarks, key=lambda r: -r.share * (1.0 - 1.0 / r.times)))


def least_sectors(site: SiteTraffic, sector_bytes: int) -> float:
    """Sectors that a site's accesses would take if their lanes asked for neighbouring elements."""
    each = site.lanes / site.requests * site.site.lane_bytes
    return site.requests * max(1, math.ceil(each / sector_bytes))


def least_wavefronts(site: SiteTraffic) -> float:
    """Wavefronts that accesses to shared memory would take without conflicts: one for each 128
    bytes, and one for an atomic."""
    if site.site.kind == "atomic":
        return site.requests
    return site.requests * max(1, math.ceil(site.site.lane_bytes * 32 / 128))


_SAYS = {
    Rule.uncoalesced: "{taken:.3g} sectors of {unit} bytes for each warp's {kind}, {least:.3g} if "
    "its lanes' elements lay side by side: another layout (transposed, a structure of arrays) or "
    "order of threads",
    Rule.bank_conflict: "{taken:.3g} wavefronts for each warp's {kind} of shared memory, "
    "{least:.3g} without bank conflicts: let neighbouring lanes access neighbouring words, pad the "
    "rows, or permute the columns by the row",
    Rule.divergent_constant: "the lanes of a warp ask for {taken:.3g} different addresses of "
    "constant memory, which serves one at a time: a table that lanes index independently is "
    "better in global or shared memory",
}


def _remarks(
    rule: Rule,
    sites: Iterable[SiteTraffic],
    taken: Callable[[SiteTraffic], float],
    least: Callable[[SiteTraffic], float],
    unit: int = 0,
) -> list[Remark]:
    """One remark for each line, array and kind of access that takes much more than would be
    enough."""
    groups: dict[tuple[object, ...], list[SiteTraffic]] = {}
    for s in sites:
        groups.setdefault((line_of(s), s.array, s.site.kind), []).append(s)
    everything = sum(taken(s) for group in groups.values() for s in group)
    found = []
    for group in groups.values():
        used, enough = float(sum(map(taken, group))), float(sum(map(least, group)))
        times, share = used / enough, used / everything
        if times < WORTH_A_NOTE or share < LEAST_SHARE:
            continue
        requests = sum(s.requests for s in group)
        first = group[0]
        text = _SAYS[rule].format(
            taken=used / requests,
            least=enough / requests,
            kind=first.site.kind,
            unit=unit,
        )
        of = f"{first.array}: " if first.array else ""
        warning = times >= WORTH_A_WARNING
        found.append(
            Remark(
                rule, warning, of + text, line_of(first), first.array, times, share, first.site.kind
            )
        )
    return found


def _spills(run: SimulatedLaunch, sites: list[SiteTraffic]) -> list[Remark]:
    """A remark on the line where spilled registers are stored and loaded most. It rests on the
    compiler's own figures, so arrays that the source keeps in local memory do not count as
    spills."""
    spills = run.kernel.spills
    if spills is None or not run.kernel.spills_registers:
        return []
    local = [s for s in sites if s.site.space == "local"]
    by_line: dict[SourceLine | None, float] = {}
    for s in local:
        by_line[line_of(s)] = by_line.get(line_of(s), 0.0) + s.requests
    line = max(by_line, key=lambda k: by_line[k]) if by_line else None
    requests, all_requests = sum(s.requests for s in local), sum(s.requests for s in sites)
    share = requests / all_requests if all_requests else 0.0
    text = (
        f"{spills.store_bytes} bytes of registers per thread are spilled, {spills.load_bytes} "
        f"loaded again: {share:.0%} of the launch's memory accesses, most of them here; keep fewer "
        "values alive at once, or raise the limit of registers"
    )
    return [Remark(Rule.spill, share >= LEAST_SHARE, text, line, None, math.inf, share)]
