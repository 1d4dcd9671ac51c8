"""Evidence of one launch, from its kernel and inputs: a sliced trace of a few blocks if possible.

Which blocks: those that one SM holds at a time in the middle of the launch, whose accesses go
through the SM's caches together, and a stratified sample of all, which tells what the launch's
average block does and how the edges of the grid differ
(:mod:`placewise.executor.stratified_blocks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.executor.result import Execution
from placewise.executor.runtime.gc_pause import collection_held
from placewise.executor.slice_interpreter import WORK, PathTooLongError, SlicedTrace, slice_launch
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.executor.stratified_blocks import SampledBlocks, sample_blocks
from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.memory.simulate.caches.instruction_cache import code_traffic
from placewise.memory.simulate.dram.distances import burst_distances
from placewise.memory.simulate.launch import SimulatedLaunch, simulate_launch
from placewise.memory.simulate.metrics.traffic import Traffic
from placewise.memory.simulate.requests.bursts import first_of_bursts
from placewise.memory.simulate.requests.filtered_reads import filtered_axes
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.model.base import Evidence
from placewise.model.evidence.footprint import sharing, within_arrays
from placewise.model.evidence.spills import SEED, with_spills_of_all
from placewise.model.evidence.warp_paths import warp_paths_of
from placewise.model.timeline.schedule import instructions as instructions_of

RECORDS = 2_000_000
"""Warp accesses traced of a kernel that cannot be sliced, about: a few waves of most launches."""
WARPS = 64
"""Warps in each of the two block samples, about."""
LEAST_BLOCKS = 2
LONG_WORK = 4 * WORK
"""Work allowed for a slice without guards; a full run of such a launch takes minutes."""
_RARE = 0.05
"""Kinds of blocks that are fewer than this share of the launch stay out of the timeline."""


def evidence_of(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    machine: Machine,
    *,
    whole: bool = False,
    placement: Mapping[str, str] | None = None,
) -> Evidence:
    """What ``kernel`` does in ``launch`` on ``machine``, arrays seen in the spaces of ``placement``
    (by name) whatever the code does.

    From a slice of its machine code where that is possible, else, or with ``whole``, from a run of
    the whole launch.
    Raises CaseError where not even one block fits an SM or the inputs do not fit the kernel, and
    what :func:`placewise.memory.simulate.launch.simulate_launch` raises.
    """
    run_all = partial(
        simulate_launch, kernel, launch, inputs, machine, placement=placement, records=RECORDS
    )
    if whole or kernel.cubin is None:
        return Evidence(run=run_all())
    facts = read_cubin(kernel.cubin, kernel.entry)
    if facts.target < OLDEST_DISASSEMBLED:
        return Evidence(run=run_all())
    try:
        with collection_held():
            return _sliced(
                replace(kernel, machine_code=True), facts, launch, inputs, machine, placement
            )
    except UnsupportedError as error:
        run = run_all()
        note = f"the whole launch was run: {error.message}"
        return Evidence(run=replace(run, notes=(*run.notes, note)))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Blocks to look at, and what they stand for."""

    numbers: NDArray[np.int64]
    resident: NDArray[np.bool_]
    """(blocks,) whether the block is one of those that one SM holds together."""
    sample: SampledBlocks
    rows: NDArray[np.int64]
    """Rows of ``numbers`` of the sample's blocks."""

    @property
    def usual(self) -> NDArray[np.int64]:
        """Rows of resident blocks, and of the sample's but for rare kinds."""
        sizes = self.sample.stratum_sizes
        common = sizes >= _RARE * sizes.sum()
        kept = self.resident.copy()
        kept[self.rows[common[self.sample.stratum]]] = True
        return np.flatnonzero(kept)


def _choose(launch: Launch, machine: Machine, resident: Occupancy) -> _Blocks:
    count = max(LEAST_BLOCKS, min(8, WARPS // launch.warps_per_block))
    sample = sample_blocks(launch, count)
    sms = machine.processor.sms
    wave = sms * resident.blocks
    middle = -(-launch.blocks // wave) // 2
    held = max(1, min(resident.blocks, WARPS // launch.warps_per_block))
    # As the memory system seats them: all on one SM, whose L1 they share.
    on_first = block_slots(middle, sms, resident.blocks, SEED) < resident.blocks
    together = middle * wave + np.flatnonzero(on_first)[:held]
    together = together[together < launch.blocks]
    if not len(together):
        together = np.arange(0, launch.blocks, sms)[:held]
    numbers = np.union1d(sample.chosen, together)
    return _Blocks(
        numbers, np.isin(numbers, together), sample, np.searchsorted(numbers, sample.chosen)
    )


def _sliced(
    kernel: Kernel,
    facts: CubinKernel,
    launch: Launch,
    inputs: Inputs,
    machine: Machine,
    placement: Mapping[str, str] | None = None,
) -> Evidence:
    shared = facts.static_shared_bytes + launch.shared_bytes
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=shared)
    if not resident.blocks:
        raise CaseError(
            f"not even one block fits an SM of {machine.name}: {', '.join(resident.binding)}",
            where="block",
        )
    blocks = _choose(launch, machine, resident)
    seen = _seen(kernel, launch, inputs, blocks)
    execution = _execution(seen, blocks)
    sizes = inputs.array_bytes
    launch_facts = LaunchFacts(
        launch,
        resident,
        shared,
        facts.frame_bytes + (facts.stack_bytes or 0),
        sizes,
        bursts=first_of_bursts(instructions_of(kernel)),
        filtered=filtered_axes(inputs),
    )
    system = MemorySystem(launch_facts, machine, seed=SEED, placement=placement)
    traffic = _traffic(kernel, seen, system, execution)
    fetched = code_traffic(
        execution,
        launch,
        resident,
        machine,
        traffic.sector_bytes,
        shared_wavefronts=traffic.shared_wavefronts,
    )
    alone = traffic
    traffic = replace(within_arrays(alone, sizes), instructions=fetched)
    if launch_facts.local_bytes:
        traffic = with_spills_of_all(
            traffic,
            chunk_of(seen),
            (seen.sites, seen.device.arrays),
            launch_facts,
            machine,
            sharing=sharing(alone, traffic),
        )
    instructions = _warp_instructions(seen)
    usual = blocks.usual
    mean = float(blocks.sample.estimate(instructions[blocks.rows]).total[0]) / launch.blocks
    scale = mean / float(instructions[usual].mean())
    notes: tuple[str, ...] = ()
    if not blocks.sample.complete:
        notes = (f"times rest on {len(blocks.numbers)} of the {launch.blocks} blocks",)
    run = SimulatedLaunch(kernel, launch, machine, resident, traffic, execution, notes)
    return Evidence(run=run, warp_paths=warp_paths_of(seen, usual, scale))


def _seen(kernel: Kernel, launch: Launch, inputs: Inputs, blocks: _Blocks) -> SlicedTrace:
    """The sliced trace. If the paths are long, guards of arithmetic are not counted: they are most
    of the work in kernels whose arithmetic branches (a square root of small numbers)."""
    try:
        return slice_launch(kernel, launch, inputs, blocks.numbers, trace=blocks.resident)
    except PathTooLongError:
        return slice_launch(
            kernel, launch, inputs, blocks.numbers, trace=blocks.resident, guards=False,
            work=LONG_WORK,
        )  # fmt: skip


def _traffic(
    kernel: Kernel, seen: SlicedTrace, system: MemorySystem, execution: Execution
) -> Traffic:
    """The resident blocks through the memory system, scaled to the launch."""
    system.begin(seen.sites, seen.device.arrays)
    system.chunk(chunk_of(seen))
    return system.traffic(execution.site_executions, partial(burst_distances, kernel, execution))


def _warp_instructions(seen: SlicedTrace) -> NDArray[np.float64]:
    """(blocks,) warp instructions of each traced block."""
    of_block = np.array([b.instructions for b in seen.program.blocks], np.float64)
    counted: NDArray[np.float64] = seen.executions[:, :, 0] @ of_block
    return counted


def _execution(seen: SlicedTrace, blocks: _Blocks) -> Execution:
    """Counts of the whole launch, scaled from the sample's."""

    def scaled(counts: NDArray[np.int64]) -> NDArray[np.int64]:
        own = counts[blocks.rows]
        total = blocks.sample.estimate(own.reshape(len(own), -1)).total
        return np.rint(total).astype(np.int64).reshape(own.shape[1:])

    executions = scaled(seen.executions)
    instructions = np.array([b.instructions for b in seen.program.blocks], np.int64)
    return Execution(
        outputs=(),
        read=frozenset(),
        written=frozenset(),
        warp_instructions=int(executions[:, 0] @ instructions),
        thread_instructions=int(executions[:, 1] @ instructions),
        sites=seen.sites,
        site_executions=scaled(seen.site_executions),
        seconds=0.0,
        block_executions=executions,
        block_places=tuple(tuple(b.places) for b in seen.program.blocks),
        guard_executions=scaled(seen.guards) if seen.guards.size else np.zeros(0, np.int64),
        guard_places=tuple(map(tuple, seen.program.guards)) if seen.guards.size else (),
    )
