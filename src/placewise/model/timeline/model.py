"""Absolute time of a launch: the timeline of an SM's warps under the machine's bandwidths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError, UnsupportedError
from placewise.kernel.binary.sass.instruction import Instruction
from placewise.machine.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.model.base import Evidence, PathTime, Prediction
from placewise.model.error import TIME_ERROR
from placewise.model.evidence.waiting_loads import Reuse
from placewise.model.evidence.warp_paths import (
    ONE_KIND,
    KindOfBlocks,
    WarpPaths,
    warp_paths_from_counts,
)
from placewise.model.timeline.launch import INSTRUCTIONS, alone, course
from placewise.model.timeline.limits import (
    Work,
    bandwidth_limits,
    block_limit,
    busiest,
    contention_limits,
    issue_limits,
    scattered_time,
    written_share,
)
from placewise.model.timeline.pace import pace_of
from placewise.model.timeline.schedule import Reach, instructions, row_of, table
from placewise.model.timeline.warps import Pace
from placewise.model.timeline.watch import Watched, watched

NAME = "timeline"
LAUNCH_NS = 2000.0
"""Nanoseconds from a kernel's start to its first instruction plus those from its last instruction
to its end, where the machine file does not give them; about the time of an empty kernel between two
events."""


@dataclass(frozen=True)
class TimelineModel:
    """The timeline model."""

    name: str = NAME
    instructions: int = INSTRUCTIONS
    """Approximate number of instructions issued in one timeline. A larger launch is timed from a
    part of its blocks."""

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """Time of the launch on ``machine``.

        Raises UnsupportedError for a launch known from its PTX alone, and for an instruction that
        no pipe of the machine is known to run; MachineError for a machine without schedulers or
        clock.
        """
        at_hand = _at_hand(self.name, evidence, machine)
        run, code, paths, executions, tables, offsets, busy, pace, clock = at_hand
        blocks = run.launch.blocks
        resident = max(1, run.occupancy.blocks)
        matrix = np.concatenate(tables)
        on_sm = course(matrix, paths, offsets, resident, blocks, busy, pace, self.instructions)
        work = [
            Work(
                count,
                kind.executions or executions,
                {i.offset: row_of(row) for i, row in zip(code, own, strict=True)},
            )
            for count, kind, own in zip(
                paths.blocks_of_kinds(blocks), paths.kinds, tables, strict=True
            )
        ]
        sms = busiest(work, busy)
        overhead = (machine.limits.launch_overhead_ns or LAUNCH_NS) * clock / 1e3
        parts = [
            *issue_limits(code, work, run, sms),
            *bandwidth_limits(run, machine),
            *contention_limits(run, machine, paths.hottest),
            block_limit(run),
            _latency(matrix, paths, offsets, run, busy, pace),
        ]
        # The launch takes at least as long as each part of the machine by itself, and what does
        # not overlap with them.
        apart = [*scattered_time(run, machine, sms), PathTime("launch", overhead)]
        overlapped = max(on_sm.total, *(part.cycles for part in parts))
        total = float(overlapped + sum(part.cycles for part in apart))
        parts += apart
        parts.sort(key=lambda part: -part.cycles)
        interval = (total * TIME_ERROR.low, total * TIME_ERROR.high)
        return Prediction(
            self.name,
            total,
            tuple(parts),
            interval,
            absolute=True,
            clock_mhz=clock,
            notes=run.notes,
        )

    def watch(self, evidence: Evidence, machine: Machine) -> Watched:
        """What the first warps of an SM do and wait for in the launch on ``machine``.

        Raises UnsupportedError and MachineError as :meth:`predict` does.
        """
        at_hand = _at_hand(self.name, evidence, machine)
        return watched(
            np.concatenate(at_hand.tables), at_hand.code, at_hand.paths, at_hand.run,
            at_hand.busy, at_hand.pace,
        )  # fmt: skip


class _AtHand(NamedTuple):
    """What the timeline needs of a launch and a machine."""

    run: SimulatedLaunch
    code: tuple[Instruction, ...]
    paths: WarpPaths
    executions: dict[int, int]
    """Warps of the launch that execute each instruction, by offset."""
    tables: list[NDArray[np.float64]]
    """One of :func:`table` for each kind of block."""
    offsets: NDArray[np.int64]
    busy: int
    """SMs that have blocks."""
    pace: Pace
    clock_mhz: float


def _at_hand(model: str, evidence: Evidence, machine: Machine) -> _AtHand:
    """What ``evidence`` holds, for ``machine``; raises as :meth:`TimelineModel.predict` does."""
    run = evidence.simulated(model)
    if not run.from_machine_code:
        why = f": {run.notes[0]}" if run.notes else ""
        raise UnsupportedError(
            f"model {model} needs machine code, and this launch was executed from its PTX{why}"
        )
    if machine.limits.clock_mhz is None:
        raise MachineError("no clock to turn time into cycles", where=machine.name)
    paths = evidence.warp_paths or warp_paths_from_counts(run)
    code = instructions(run.kernel)
    executions = {c.place: c.warps for c in run.execution.instruction_counts()}
    on_paths = np.zeros(int(paths.instructions.max(initial=0)) + 1, np.bool_)
    on_paths[paths.instructions] = True
    executed = frozenset({*executions, *np.flatnonzero(on_paths).tolist()})
    tables = [
        table(code, machine, reach_of(run, executions, machine, kind), paths.barriers, executed)
        for kind in paths.kinds
    ]
    busy = min(machine.processor.sms, run.launch.blocks)
    return _AtHand(
        run, code, paths, executions, tables, np.array([i.offset for i in code], np.int64), busy,
        pace_of(machine, busy, written_share(run)), machine.limits.clock_mhz,
    )  # fmt: skip


def timeline_model() -> TimelineModel:
    """The model with its defaults."""
    return TimelineModel()


def _latency(
    matrix: NDArray[np.float64],
    paths: WarpPaths,
    offsets: NDArray[np.int64],
    run: SimulatedLaunch,
    busy: int,
    pace: Pace,
) -> PathTime:
    """Time that blocks would need if each ran alone on its SM, one after another in its slot: no
    block waits for a pipe that another one uses. Where no slot gets a second block, that is the
    time of the longest block."""
    turns = run.launch.blocks / busy / max(1, run.occupancy.blocks)
    cycles = alone(matrix, paths, offsets, pace, longest=turns <= 1.0)
    return PathTime("latency", cycles * max(1.0, turns))


def reach_of(
    run: SimulatedLaunch,
    executions: Mapping[int, float],
    machine: Machine,
    kind: KindOfBlocks = ONE_KIND,
) -> dict[int, Reach]:
    """How one execution of each memory instruction uses each memory level in blocks of a kind, by
    offset. ``executions`` are the numbers of warps that execute each instruction in the whole
    launch, by offset."""
    traffic = run.traffic
    stores = sum(t.sectors for t in traffic.sites if t.site.kind != "load")
    written = traffic.dram_sectors_written().value * traffic.sector_bytes
    stored = {
        t.site.ptx_line: t.wavefronts / t.requests
        for t in traffic.sites
        if _is_copy(t) and t.site.space == "shared" and t.requests
    }
    found = {}
    for t in traffic.sites:
        place = t.site.ptx_line
        if _is_copy(t) and t.site.space == "shared":
            # The access to global memory, at the same place, holds both.
            continue
        # An execution whose predicate holds for no lane makes no request.
        active = min(1.0, t.requests / (executions.get(place) or t.requests or 1.0))
        if t.requests <= 0:
            found[place] = Reach(0.0, 0.0, active=active)
            continue
        reuse = kind.reuse.get(place)
        if t.site.space in ("shared", "constant"):
            waits = constant_misses(t, reuse, machine)
            found[place] = Reach(t.wavefronts / t.requests, 0.0, active=active, farther=waits)
            continue
        own = kind.passes.get(place)
        data, lines, full = own or (1.0, t.lines / t.requests, 1.0)
        if _is_copy(t) and "BYPASS" in t.site.opcode:
            # What comes from L2 goes to shared memory without a turn of L1.
            data = full = 0.0
        past = max(0.0, t.l2_sectors.value) / t.requests * kind.l2.get(place, 1.0)
        dram = max(0.0, t.dram_sectors.value) / t.requests * kind.l2.get(place, 1.0)
        dram_bytes = dram * traffic.sector_bytes
        if t.site.kind != "load" and stores:
            dram_bytes += written * t.sectors / stores / t.requests * kind.l2.get(place, 1.0)
        waiting = reuse.waiting(past) if reuse else min(1.0, past)
        if t.site.kind == "store":
            waiting = 0.0
        found[place] = Reach(
            data,
            lines,
            past * traffic.sector_bytes * active,
            dram_bytes * active,
            waiting * active,
            min(1.0, dram / past) if waiting else 0.0,
            active,
            full,
            farther(t, machine) if waiting else 0.0,
            stored.get(place, 0.0),
            early=reuse is not None and reuse.comes_back,
        )
    return found


def farther(t: SiteTraffic, machine: Machine) -> float:
    """Cycles that a load's misses in L1 wait longer on the average than those that the SM's own
    partition of L2 answers: data of an earlier launch are as often in another partition. What this
    launch has loaded itself is in its own partition, too."""
    l2 = machine.l2
    if l2 is None or not l2.detail.far_latency_cycles or not t.l2_sectors.value:
        return 0.0
    near = 1.0 / (l2.detail.partitions or 1)
    left = min(1.0, t.left / t.l2_sectors.value)
    return (l2.detail.far_latency_cycles - l2.latency_cycles) * (1.0 - near) * left


def constant_misses(t: SiteTraffic, reuse: Reuse | None, machine: Machine) -> float:
    """Cycles that a load waits longer on the average because constant caches miss; 0 for a load of
    another memory."""
    if not t.constant:
        return 0.0
    constant = next(s for s in machine.spaces if s.way.facts.host_filled)
    levels = machine.levels(constant.name)
    cycles = 0.0
    for cache, own, beyond in zip(t.constant, levels, levels[1:], strict=False):
        missed = cache.missed.value / t.requests
        waiting = reuse.waiting(missed) if reuse else min(1.0, missed)
        cycles += waiting * (beyond.latency_cycles - own.latency_cycles)
    return cycles


def _is_copy(t: SiteTraffic) -> bool:
    """Whether it is one of the two accesses of an asynchronous copy to shared memory."""
    return t.site.opcode.startswith("LDGSTS")
