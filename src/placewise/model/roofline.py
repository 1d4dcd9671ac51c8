"""Roofline: the longest of four times, each that of one part of the machine at its peak rate.

Williams, Waterman and Patterson 2009 ("Roofline: an insightful visual performance model") with
floating-point lanes and DRAM; Ding and Williams 2019 ("An instruction roofline model for GPUs") add
instruction issue. A lower bound on time, and the simplest model beside the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.classes import group
from placewise.machine.machine import Machine
from placewise.memory.occupancy import WARP_SIZE
from placewise.memory.reuse.intensity import issue_rate
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.model.base import Evidence, PathTime, Prediction


@dataclass(frozen=True)
class RooflineModel:
    """The longest of the times that issue, floating-point lanes, L2 bandwidth and DRAM bandwidth
    need."""

    name: str = "roofline"

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """The longest of the four. Raises UnsupportedError without a simulated launch, or where no
        clock is known."""
        run = evidence.simulated(self.name)
        clock = machine.limits.clock_mhz
        if clock is None:
            raise UnsupportedError("no clock is known", where=f"machine {machine.name}")
        sms = machine.processor.sms
        cores = machine.processor.cores_per_sm
        issued = run.execution.warp_instructions
        parts = [PathTime("issue", issued / (issue_rate(machine) * sms))]
        floating = _floating_warps(run)
        if floating is not None:
            parts.append(PathTime("fp32", floating * WARP_SIZE / (cores * sms)))
        traffic = run.traffic
        read = sum(s.dram_sectors.value for s in traffic.sites) * traffic.sector_bytes
        written = traffic.dram_sectors_written().value * traffic.sector_bytes
        bandwidth = machine.limits.dram_bandwidth_gb_per_s
        if bandwidth is not None:
            parts.append(PathTime("DRAM", (read + written) / bandwidth * clock / 1e3))
        l2 = next(
            (m for m in machine.memories if m.scope == "die" and not m.software_managed), None
        )
        if l2 is not None and l2.detail.bytes_per_cycle:
            sectors = sum(s.l2_sectors.value for s in traffic.sites if s.site.space != "shared")
            parts.append(PathTime("L2", sectors * traffic.sector_bytes / l2.detail.bytes_per_cycle))
        parts.sort(key=lambda part: -part.cycles)
        total = parts[0].cycles
        return Prediction(
            self.name,
            total,
            tuple(parts),
            (total, total),
            absolute=True,
            clock_mhz=clock,
            notes=("a lower bound: the time of one part of the machine at its peak rate",),
        )


def _floating_warps(run: SimulatedLaunch) -> int | None:
    """Executed single-precision additions and multiplications of warps; None where the PTX was
    executed. Comparisons and selections have lanes of their own."""
    if not run.from_machine_code:
        return None
    counted = {i.offset for i in machine_code(run.kernel).instructions if _is_arithmetic(i.opcode)}
    return sum(
        count.warps for count in run.execution.instruction_counts() if count.place in counted
    )


def _is_arithmetic(opcode: str) -> bool:
    return opcode.startswith(("FADD", "FMUL", "FFMA")) and group(opcode) == "fp32"


def roofline_model() -> RooflineModel:
    """The roofline."""
    return RooflineModel()
