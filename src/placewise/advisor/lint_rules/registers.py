"""Occupancy that is lost by a few registers per thread too many."""

from __future__ import annotations

from placewise.advisor.lint import Remark, Rule
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.memory.simulate.launch import SimulatedLaunch

FEW = 8
"""Registers per thread that a compiler can often save without spilling; registers are allocated in
steps of this size."""


def occupancy_lost(run: SimulatedLaunch) -> list[Remark]:
    """A note where up to eight registers fewer for each thread would let another block onto an SM,
    and the launch has blocks to put there."""
    found = with_fewer_registers(run)
    if found is None:
        return []
    fewer, better = found
    registers = run.kernel.registers or 0
    text = (
        f"{registers} registers for each thread let {run.occupancy.warps} of "
        f"{better.max_warps} warps onto an SM; {fewer} fewer would let {better.warps}: keep fewer "
        f"values alive, or __launch_bounds__({run.launch.threads_per_block}, {better.blocks})"
    )
    times = better.warps / run.occupancy.warps
    share = 1.0 - 1.0 / times
    return [Remark(Rule.registers, False, text, None, None, times, share)]


def with_fewer_registers(run: SimulatedLaunch) -> tuple[int, Occupancy] | None:
    """(least number of registers per thread to save, the occupancy then), if that raises the
    occupancy; None where saving eight does not, or where the launch has no further blocks to fill
    an SM."""
    registers, now = run.kernel.registers, run.occupancy
    if registers is None or now.binding != ("registers",):
        return None
    if run.launch.blocks <= run.machine.processor.sms * now.blocks:
        return None
    shared = run.launch.shared_bytes + run.kernel.static_shared_bytes
    for fewer in range(1, min(FEW, registers - 1) + 1):
        better = occupancy(
            run.launch, run.machine, registers=registers - fewer, shared_bytes=shared
        )
        if better.blocks > now.blocks:
            return fewer, better
    return None
