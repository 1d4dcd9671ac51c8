"""Corrects predicted counters of all forms by the recorded counters of one form.

Huang and Li 2017 predict a placement from a sample run of another: counters of the sample are
measured, not modelled. Here every measured counter that a model uses replaces the predicted one.
The ratio of the two is the model's error for this kernel on this machine; predicted counters of the
other forms, which were not measured, are multiplied by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics, traffic_metrics
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.model.base import Evidence

INSTRUCTIONS = "smsp__inst_executed.sum"
SHARED_LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_STORES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
L2_READS = "lts__t_sectors_op_read.sum"
DRAM_READS = "dram__sectors_read.sum"
DRAM_WRITES = "dram__sectors_write.sum"
CARRIED = (INSTRUCTIONS, SHARED_LOADS, SHARED_STORES, L2_READS, DRAM_READS, DRAM_WRITES)
"""Counters that are corrected: those whose prediction may be wrong. Requests and sectors asked of
L1 follow from the addresses and are exact."""
LEAST = 100.0
"""Counts below this give no factor: a profiler's own accesses or a few cold misses would decide
it."""


@dataclass(frozen=True)
class Corrections:
    """Measured over predicted counters of one form."""

    factors: tuple[tuple[str, float], ...] = ()
    """(counter, factor) of those that were measured and predicted, in the order of
    :data:`CARRIED`."""

    def factor(self, counter: str) -> float:
        """Factor of one counter; 1 where nothing is known."""
        return dict(self.factors).get(counter, 1.0)

    def apply(self, evidence: Evidence) -> Evidence:
        """``evidence`` of any form of the kernel with its counters multiplied by the factors."""
        if not self.factors or evidence.run is None:
            return evidence
        paths = evidence.warp_paths
        if paths is not None:
            paths = replace(paths, scale=paths.scale * self.factor(INSTRUCTIONS))
        return replace(evidence, run=self._run(evidence.run), warp_paths=paths)

    def _run(self, run: SimulatedLaunch) -> SimulatedLaunch:
        traffic = run.traffic
        writes = self.factor(DRAM_WRITES)
        return replace(
            run,
            traffic=replace(
                traffic,
                sites=tuple(self._site(t) for t in traffic.sites),
                written_back=_times(traffic.written_back, writes),
                dirtied=_times(traffic.dirtied, writes),
            ),
        )

    def _site(self, t: SiteTraffic) -> SiteTraffic:
        if t.site.space == "shared":
            of = SHARED_LOADS if t.site.kind == "load" else SHARED_STORES
            return replace(t, wavefronts=t.wavefronts * self.factor(of))
        if t.site.kind != "load":
            return t
        fetched = _times(t.dram_sectors, self.factor(DRAM_READS))
        asked = _times(t.l2_sectors, self.factor(L2_READS))
        return replace(t, dram_sectors=fetched, l2_asked=asked)


NONE = Corrections()
"""No corrections, for a form that was not profiled."""


def corrections(
    run: SimulatedLaunch, measured: Mapping[str, float], *, microseconds: float | None = None
) -> Corrections:
    """Factors from ``measured`` counters (by Nsight Compute's names) of the launch that ``run``
    predicts. ``microseconds`` is how long the measured launch took, where that is known."""
    predicted = {m.name: m.value for m in launch_metrics(run, microseconds=microseconds)}
    own = {m.name: m.value for m in traffic_metrics(run.traffic.sites, run.traffic.sector_bytes)}
    found = []
    for name in CARRIED:
        value, beside = measured.get(name), predicted.get(name, 0.0)
        if value is None or min(value, beside) < LEAST:
            continue
        # Reads of L2 for machine code, and the machine's background reads, belong to no array.
        others = beside - own[name] if name in own else 0.0
        if value > others and beside > others:
            found.append((name, (value - others) / (beside - others)))
    return Corrections(tuple(found))


def _times(amount: Estimate, factor: float) -> Estimate:
    return Estimate(amount.value * factor, amount.error * factor)
