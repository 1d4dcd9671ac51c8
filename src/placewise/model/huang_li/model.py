"""The model of Huang and Li 2017: T = T_comp + T_mem − T_overlap, with a switch for each of its
parts.

The paper predicts a target placement from a measured sample. Here the numbers of both come from the
same simulation, and the measured time of the sample is scaled by the ratio of the two. Without a
regression of T_overlap (Eqs. 11 and 12, which measured times must train) the overlap is that of Sim
et al. 2012.

Where the paper is not specific, or is about Kepler only, it is read as follows.

- Requests of shared memory do not pay the caches' hit latency. A hit pays the latency of the cache
  that serves it in the simulation. The paper uses L2's latency for all hits, with "very limited
  impact", on a GPU whose loads bypass L1.
- No more requests wait at the banks than the resident warps can have under way.
- A DRAM bank is busy for the time in which its share of the bandwidth moves a sector; row misses
  and conflicts take longer in the ratio of their latencies. With the latencies themselves as
  service times (Eq. 8 put into Eq. 10), ``service="latency"``, a K80 would never exceed 3 % of its
  bandwidth.
- Of W_serial (Eq. 16) only the contention for special functions is charged, as in Sim et al.
  Divergence is in the executed instructions already, and the paper does not say what a barrier
  costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from placewise.machine.machine import Machine
from placewise.machine.opcode_pipes import pipes_of
from placewise.memory.occupancy import WARP_SIZE
from placewise.model import parallelism as pl
from placewise.model.base import Evidence, PathTime, Prediction
from placewise.model.huang_li import banks as bk
from placewise.model.huang_li import computation as comp
from placewise.model.huang_li import requests as rq
from placewise.model.huang_li.latency import arithmetic_latency
from placewise.model.huang_li.observe import Observed, latencies, observe
from placewise.model.huang_li.overlap import (
    Events,
    OverlapRegression,
    bounded_overlap,
    t_overlap,
)
from placewise.model.huang_li.replays import replays_of_target
from placewise.model.queue import Kingman
from placewise.model.timeline.pace import l2_bytes_per_cycle

Queue = Literal["none", "even", "mapped"]
DEFAULT_BANKS = 96
"""DRAM banks where the machine file does not give their number. Huang and Li 2017, section III-C3:
"all memory banks (96 banks)", six controllers of sixteen."""


@dataclass(frozen=True)
class Parts:
    """The terms of Eq. 1 in cycles of the SM's clock, and values that they are computed from."""

    t_comp: float
    t_mem: float
    t_overlap: float
    dram_latency: float
    events: Events
    notes: tuple[str, ...]
    staging: float = 0.0
    """Cycles in which the blocks fill shared memory, before anything else (section III-B)."""

    @property
    def total(self) -> float:
        """Time of Eq. 1 plus staging."""
        return comp.execution_time(self.t_comp, self.t_mem, self.t_overlap) + self.staging


@dataclass(frozen=True)
class HuangLiModel:
    """The model with the switches of Figs. 7 to 9; by default all its parts are on."""

    name: str = "huang-li"
    count_instructions: bool = True
    """True: executed instructions are those of the target itself; False: those of the sample."""
    count_replays: bool = True
    """True: issued instructions (with replays) count; False: executed ones."""
    queue: Queue = "mapped"
    """How DRAM latency is found: ``none``: it is constant; ``even``: one queue per bank, with
    requests spread evenly; ``mapped``: one queue per bank, with requests by the address mapping."""
    kingman: Kingman = "usual"
    service: Literal["bandwidth", "latency"] = "bandwidth"
    """Service time of a bank: the time that its share of the bandwidth takes for a sector, or the
    latency."""
    regression: OverlapRegression | None = None
    """None: the overlap of Sim et al."""

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """Absolute time of the launch that ``evidence`` describes. Raises UnsupportedError without
        a simulated launch, or where the machine file lacks a figure that the equations need."""
        run = evidence.simulated(self.name)
        observed = observe(run, machine)
        parts = self.parts(observed, machine)
        named = (
            PathTime("T_comp", parts.t_comp),
            PathTime("T_mem", parts.t_mem),
            PathTime("T_overlap (taken off)", -parts.t_overlap),
        )
        return Prediction(
            self.name,
            parts.total,
            tuple(sorted(named, key=lambda part: -part.cycles)),
            (max(parts.t_comp, parts.t_mem), parts.t_comp + parts.t_mem),
            absolute=True,
            clock_mhz=machine.limits.clock_mhz,
            notes=(*parts.notes, "interval: from full overlap to none"),
        )

    def parts(
        self,
        target: Observed,
        machine: Machine,
        sample: Observed | None = None,
        sample_replays: float | None = None,
    ) -> Parts:
        """The terms of Eq. 1 for ``target``. ``sample`` is the measured placement, by default the
        target itself. Its instructions are used for the target where instructions are not counted,
        and its replays by reasons (5) to (10) are added to the target's. ``sample_replays`` are all
        its replays as a profiler counted them."""
        latency = arithmetic_latency(machine)
        sample = target if sample is None else sample
        issued = (target if self.count_instructions else sample).instructions
        if self.count_replays:
            counted = sample.replays.total
            of_sample = counted + sample.carried if sample_replays is None else sample_replays
            replays = replays_of_target(of_sample, counted, target.replays.total)
            issued += max(0.0, replays) / target.total_warps
        t_comp = self._t_comp(target, issued, latency, machine)
        dram, notes, row_events = self._dram_latency(target, t_comp, machine)
        access = _amat(target, dram, machine)
        memory, computation, peak = _warps(target, issued, access, machine)
        at_once = pl.itmlp(target.mlp, pl.mwp_cp(memory, computation), peak)
        requests = rq.effective_requests(
            target.requests / target.total_warps, target.total_warps, target.active_sms, at_once
        )
        t_mem = rq.t_mem(requests, access)
        events = _events(target, row_events)
        if self.regression is not None:
            overlap = t_overlap(self.regression.ratio(events), t_mem)
        else:
            hidden = pl.overlap_of_warps(memory, computation, target.resident_warps)
            overlap = min(t_comp * hidden, t_mem)
        staging, why = _staging(target, machine)
        return Parts(
            t_comp,
            t_mem,
            bounded_overlap(overlap, t_comp, t_mem),
            dram,
            events,
            (*notes, *why),
            staging,
        )

    def _t_comp(self, target: Observed, issued: float, latency: float, machine: Machine) -> float:
        lanes = float(machine.processor.cores_per_sm)
        ilp = max(1.0, latency / target.stall)
        most = comp.itilp_max(latency, WARP_SIZE, lanes)
        throughput = comp.effective_throughput(
            latency, comp.itilp(ilp, target.resident_warps, most)
        )
        serial = comp.serialization(0.0, _special_contention(target, machine), 0.0)
        return comp.t_comp(issued, target.total_warps, target.active_sms, throughput, serial)

    def _dram_latency(
        self, target: Observed, t_comp: float, machine: Machine
    ) -> tuple[float, tuple[str, ...], float]:
        """Cycles that an access to DRAM takes in addition to L2's latency; notes on assumptions;
        and the number of row misses and conflicts."""
        constant = latencies(machine).dram
        clock, bandwidth = machine.limits.clock_mhz, machine.limits.dram_bandwidth_gb_per_s
        if self.queue == "none" or not target.dram_sectors:
            return constant, (), 0.0
        if clock is None or bandwidth is None:
            return constant, ("no clock or DRAM bandwidth is known: constant DRAM latency",), 0.0
        count = _bank_count(machine)
        busy = count * target.sector_bytes / bandwidth * clock / 1e3
        times = _row_times(machine, constant if self.service == "latency" else busy)
        if self.queue == "mapped" and target.banks:
            # A bank's request is the part of a line that lies in one row, so it may have several
            # sectors.
            of_banks = target.bank_sectors or target.dram_sectors
            each = max(1.0, of_banks / sum(b.requests for b in target.banks))
            times = bk.RowTimes(times.hit * each, times.miss * each, times.conflict * each)
            loads = tuple(
                replace(b, gap_mean=b.gap_mean * t_comp, gap_deviation=b.gap_deviation * t_comp)
                for b in target.banks
            )
            rows = sum(b.misses + b.conflicts for b in loads)
            notes = (f"{len(loads)} banks of the DRAM get requests",)
        else:
            loads = (bk.even_load(target.dram_sectors, count, t_comp),) * count
            times = bk.RowTimes(times.hit, times.hit, times.hit)
            rows = 0.0
            why = "" if self.queue == "even" else "no address mapping of the DRAM is known: "
            notes = (f"{why}requests spread evenly over {count} banks",)
        # The constant latency is that of a row hit; add the wait, and the time of misses and
        # conflicts.
        reaching = target.global_.dram + target.texture.dram + target.constant.dram
        asked = sum(load.requests for load in loads) / reaching if reaching else 1.0
        waiting = target.active_sms * target.resident_warps * target.mlp * asked
        more = bk.dram_latency(loads, times, self.kingman, waiting) - times.hit
        return constant + more, notes, rows


def _row_times(machine: Machine, hit: float) -> bk.RowTimes:
    """Times that a bank is busy: ``hit`` for a row hit, the others in the ratio of the machine's
    row timings; all equal where these are not known."""
    dram = machine.dram
    if dram is None or not (dram.hit_ns and dram.miss_ns and dram.conflict_ns):
        return bk.RowTimes(hit, hit, hit)
    return bk.RowTimes(hit, hit * dram.miss_ns / dram.hit_ns, hit * dram.conflict_ns / dram.hit_ns)


def _bank_count(machine: Machine) -> int:
    """Number of banks of the whole DRAM: as the machine file gives it, else as many as its address
    mapping distinguishes."""
    dram = machine.dram
    if dram is not None and dram.banks:
        return (dram.channels or 1) * dram.banks
    bits = len(dram.bank_hashes) + len(dram.channel_hashes) if dram is not None else 0
    return 1 << bits if bits else DEFAULT_BANKS


def _staging(target: Observed, machine: Machine) -> tuple[float, tuple[str, ...]]:
    """Cycles to fill shared memory, from size and bandwidth (section III-B), and a note where no
    bandwidth is known."""
    clock, bandwidth = machine.limits.clock_mhz, machine.limits.dram_bandwidth_gb_per_s
    if not target.staged_bytes:
        return 0.0, ()
    if clock is None or bandwidth is None:
        return 0.0, ("no clock or DRAM bandwidth is known: time to fill shared memory left out",)
    from_dram = target.staged_once or target.staged_bytes
    from_l2 = target.staged_bytes / l2_bytes_per_cycle(machine)
    return max(from_dram / bandwidth * clock / 1e3, from_l2), ()


def _special_contention(target: Observed, machine: Machine) -> float:
    """O_SFU of Sim et al. 2012 in cycles: the time of special functions on their few lanes, times
    the amount by which their share of the instructions exceeds these lanes' share of all lanes. 0
    where the number of lanes is not known."""
    lanes = sum(p.lanes_per_cycle or 0.0 for p in pipes_of(machine, "MUFU"))
    if not lanes or not target.special:
        return 0.0
    share = target.special / target.instructions - lanes / machine.processor.cores_per_sm
    return (
        target.special * target.total_warps / target.active_sms * (WARP_SIZE / lanes)
        * min(max(share, 0.0), 1.0)
    )  # fmt: skip


def _amat(target: Observed, dram: float, machine: Machine) -> float:
    """Eq. 5, in cycles per request."""
    known = latencies(machine)
    total = target.requests
    if not total:
        return 0.0
    beyond = target.global_.first_misses + target.texture.first_misses
    near = target.off_chip - beyond
    constant = target.constant
    from_l2 = beyond + constant.first_misses - constant.second_hits
    hit = (
        near * known.first
        + (constant.requests - constant.first_misses) * known.constant
        + constant.second_hits * known.second_constant
        + from_l2 * known.l2
    )
    missed = (target.global_.dram + target.texture.dram + constant.dram) / total
    return rq.amat(dram, missed, hit / total, known.shared, target.shared.requests / total)


def _warps(
    target: Observed, issued: float, access: float, machine: Machine
) -> tuple[float, float, float]:
    """MWP, CWP, and the most requests of an SM that can be in service at once, limited by the
    memory's bandwidth (MWP_peak_bw) and by the rate at which the load/store units send requests."""
    warps = target.resident_warps
    per_warp = target.requests / target.total_warps
    lanes = min(
        (p.lanes_per_cycle or WARP_SIZE for p in pipes_of(machine, "LDG")), default=WARP_SIZE
    )
    # The load/store units take in addresses while they serve passes: the slower of the two counts.
    departure = max(target.passes_per_request, WARP_SIZE / lanes)
    peak = access / departure
    bandwidth, clock = machine.limits.dram_bandwidth_gb_per_s, machine.limits.clock_mhz
    if target.dram_sectors and bandwidth is not None and clock is not None:
        moved = target.dram_sectors * target.sector_bytes / target.requests
        peak = min(
            peak,
            pl.mwp_peak_bandwidth(
                bandwidth * 1e3 / clock, moved, max(access, 1.0), target.active_sms
            ),
        )
    memory = pl.mwp(access, departure, peak, warps)
    own = issued * WARP_SIZE / machine.processor.cores_per_sm
    computation = pl.cwp(per_warp * access, own, warps)
    return memory, computation, max(1.0, peak)


def _events(target: Observed, rows: float) -> Events:
    """Events of Eq. 11, per memory request."""
    total = target.requests or 1.0
    return Events(
        (target.global_.requests + target.global_.dram) / total,
        (target.constant.requests + target.replays.constant_misses) / total,
        (target.texture.requests + target.texture.first_misses) / total,
        (target.shared.requests + target.replays.bank_conflicts) / total,
        rows / total,
        target.resident_warps,
    )


BASELINE = HuangLiModel("baseline", count_instructions=False, count_replays=False, queue="none")
COUNTED = HuangLiModel("+ instruction counting", queue="none")
EVEN = HuangLiModel("+ instruction counting + queue (even)", queue="even")
QUEUED = HuangLiModel("+ queue", count_instructions=False, count_replays=False)
WHOLE = HuangLiModel("whole model")
ABLATIONS = (BASELINE, COUNTED, EVEN, QUEUED, WHOLE)
"""Figs. 7 to 9."""


def huang_li_model() -> HuangLiModel:
    """The whole model, with the overlap of Sim et al."""
    return HuangLiModel()
