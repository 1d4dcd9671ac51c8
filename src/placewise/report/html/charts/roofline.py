"""Work, traffic and time of a launch beside the peaks of the machine, for the roofline."""

from __future__ import annotations

from typing import Any

from placewise.kernel.binary.machine_code import machine_code
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics
from placewise.model import Prediction
from placewise.model.timeline.pace import l2_bytes_per_cycle

_L2 = ("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
       "lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum")  # fmt: skip
_DRAM = ("dram__sectors_read.sum", "dram__sectors_write.sum")
_SECTOR = 32
_OPERATIONS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "HFMA2": 4, "HADD2": 2, "HMUL2": 2, "DFMA": 2,
               "DADD": 1, "DMUL": 1}  # fmt: skip
"""Floating-point operations of one thread's instruction, by opcode without modifiers."""
_ZERO_TIMES = "-RZ, RZ,"
"""Operands of a multiply-add that multiplies zeros: the compiler uses it to move a constant."""


def roofline(run: SimulatedLaunch, prediction: Prediction | None) -> dict[str, Any] | None:
    """The document :class:`placewise.schemas.page.RooflinePoint`; None without a predicted time."""
    nanoseconds = None if prediction is None else prediction.nanoseconds
    clock = run.machine.limits.clock_mhz
    if nanoseconds is None or clock is None:
        return None
    machine, limits = run.machine, run.machine.limits
    sums = {m.name: m.value for m in launch_metrics(run)}
    sms, hertz = machine.processor.sms, clock * 1e6
    issue = (limits.schedulers_per_sm or 0) * (limits.issues_per_scheduler or 1) * sms * hertz
    dram = limits.dram_bandwidth_gb_per_s
    return {
        "milliseconds": nanoseconds * 1e-6,
        "operations": operations(run),
        "warp_instructions": float(run.execution.warp_instructions),
        "l2_bytes": _SECTOR * sum(sums.get(name, 0.0) for name in _L2),
        "dram_bytes": _SECTOR * sum(sums.get(name, 0.0) for name in _DRAM),
        "peak_operations_per_s": 2.0 * machine.processor.cores_per_sm * sms * hertz,
        "peak_instructions_per_s": issue or None,
        "peak_l2_bytes_per_s": l2_bytes_per_cycle(machine) * hertz,
        "peak_dram_bytes_per_s": None if dram is None else dram * 1e9,
    }


def operations(run: SimulatedLaunch) -> float:
    """Floating-point operations of all threads in the executed machine code; a multiply-add counts
    as two. 0 where PTX was executed."""
    if not run.from_machine_code:
        return 0.0
    code = machine_code(run.kernel)
    each = {
        i.offset: _OPERATIONS.get(i.opcode.split(".", 1)[0], 0)
        for i in code.instructions
        if _ZERO_TIMES not in code.text[i.offset]
    }
    return float(sum(c.active * each.get(c.place, 0) for c in run.execution.instruction_counts()))
