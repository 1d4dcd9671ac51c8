"""Hu and Liu 2015, "A Performance Prediction Model for Memory-intensive GPU Kernels": global memory
as a pipeline whose slowest stage is the DRAM access.

The transactions of a request form one synthesized access. Its DRAM stage is as many times as long
as the request has transactions, and the pipeline delivers one request per such stage. Times are in
nanoseconds and for the whole device.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.machine.machine import Machine
from placewise.model.base import Evidence, PathTime, Prediction


def read_cycle(row_cycle_clocks: float, partitions: float, clock_mhz: float) -> float:
    """rc = (t_RAS + t_RP) / (p · f_mem), in ns: one DRAM access, over the memory partitions.
    ``row_cycle_clocks`` is t_RAS + t_RP in clocks of the memory, ``clock_mhz`` that clock."""
    return row_cycle_clocks / (partitions * clock_mhz) * 1e3


def synthesized_cycle(read_cycle_ns: float, transactions_per_request: float) -> float:
    """rc_syn = rc · tpr, in ns."""
    return read_cycle_ns * transactions_per_request


def pipeline_throughput(synthesized_ns: float) -> float:
    """t_p = 1 / rc_syn: requests per ns."""
    return 1.0 / synthesized_ns


def memory_time(
    read_cycle_ns: float, transactions_per_request: float, warps: float, requests_per_warp: float
) -> float:
    """M_perf = m_req / t_p = rc · tpr · w · m_inst, in ns."""
    throughput = pipeline_throughput(synthesized_cycle(read_cycle_ns, transactions_per_request))
    return warps * requests_per_warp / throughput


def time_difference(
    read_cycle_ns: float, one: tuple[float, float], other: tuple[float, float], requests: float
) -> float:
    """ΔM_perf = Δ(stride · w) · rc · m_inst, in ns; ``one`` and ``other`` are (transactions per
    request, warps), ``requests`` those of one warp."""
    return (other[0] * other[1] - one[0] * one[1]) * read_cycle_ns * requests


@dataclass(frozen=True)
class HuLiuModel:
    """The pipeline as a time model: every transaction of global memory takes one read cycle.

    The paper takes rc from the DRAM's data sheet, which machine files do not have. Without
    ``read_cycle_ns`` it is the time in which the peak DRAM bandwidth moves one transaction.
    """

    read_cycle_ns: float | None = None
    name: str = "hu-liu"

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """Time of the launch's global requests; nothing else costs time in this model. Raises
        UnsupportedError without a simulated launch, or where no clock or bandwidth is known."""
        run = evidence.simulated(self.name)
        clock = machine.limits.clock_mhz
        if clock is None:
            raise UnsupportedError("no clock is known", where=f"machine {machine.name}")
        cycle, how = self._cycle(machine, run.traffic.sector_bytes)
        sites = [s for s in run.traffic.sites if s.site.space in ("global", "generic", "local")]
        transactions = sum(s.sectors for s in sites)
        nanoseconds = transactions * cycle
        cycles = nanoseconds * clock / 1e3
        return Prediction(
            self.name,
            cycles,
            (PathTime("global memory", cycles),),
            (cycles, cycles),
            absolute=True,
            clock_mhz=clock,
            notes=(how, "caches and computation are not modelled: meant for streaming kernels"),
        )

    def _cycle(self, machine: Machine, sector_bytes: int) -> tuple[float, str]:
        if self.read_cycle_ns is not None:
            return self.read_cycle_ns, f"read cycle {self.read_cycle_ns:.4g} ns, as given"
        bandwidth = machine.limits.dram_bandwidth_gb_per_s
        if bandwidth is None:
            raise UnsupportedError("no DRAM bandwidth is known", where=f"machine {machine.name}")
        cycle = sector_bytes / bandwidth
        return cycle, (
            f"read cycle {cycle:.4g} ns: a sector of {sector_bytes} bytes at {bandwidth:g} GB/s, "
            "since the machine file has no DRAM timings for it"
        )


def hu_liu_model() -> HuLiuModel:
    """The pipeline with a read cycle from the machine's DRAM bandwidth."""
    return HuLiuModel()
