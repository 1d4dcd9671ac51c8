"""Evidence of one launch, from its kernel and inputs: a sliced trace of a few blocks if possible.

The blocks are those that one SM holds at a time in the middle of the launch, and a stratified
sample of all, which shows how blocks at the edges of the grid differ (:mod:`.block_kinds`). Every
kind of block has its own paths, traffic and counts; those of the launch are their sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.fill import constant_notes
from placewise.executor.ir.nodes import Program
from placewise.executor.result import Execution
from placewise.executor.runtime.gc_pause import collection_held
from placewise.executor.slice_interpreter import PathTooLongError, SlicedTrace, slice_launch
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.executor.trace import TraceChunk
from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import fitting_occupancy
from placewise.memory.simulate.caches.instruction_cache import code_traffic
from placewise.memory.simulate.dram.distances import burst_distances
from placewise.memory.simulate.launch import SimulatedLaunch, simulate_launch
from placewise.memory.simulate.metrics.traffic import Traffic, total_traffic
from placewise.memory.simulate.requests.bursts import first_of_bursts
from placewise.memory.simulate.requests.filtered_reads import filtered_axes
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.model.base import Evidence, Sampling
from placewise.model.evidence.block_kinds import BlockKinds, blocks_by_kind, every_block
from placewise.model.evidence.fetched_again import fetched_again
from placewise.model.evidence.footprint import (
    missed_as_often,
    sectors_of,
    sharing,
    within_arrays,
)
from placewise.model.evidence.spills import SEED, l2_bytes, of_blocks, with_spills_of_all
from placewise.model.evidence.touched import Touched, touched_sectors
from placewise.model.evidence.warp_paths import warp_paths_of
from placewise.model.timeline.schedule import instructions as instructions_of

RECORDS = 2_000_000
"""Approximate number of warp accesses that are traced of a kernel that cannot be sliced; that is a
few waves of most launches."""
SMALL_ACCESSES, SMALL_WARPS = 400_000, 4096
"""Most warp accesses, and warps, of a launch of which all blocks go through the simulated caches;
that takes about a second."""
MOST_TRACED = 64
"""If at most this many blocks are sampled, the accesses of all of them are kept."""
MOST_ERROR = 0.02
"""Largest standard error of the launch's number of accesses, relative to it, that a sample may
have. Beyond it all blocks are traced, or ``GROUPS`` times as many as usual in launches that take
more than ``MOST_STEPS``."""
MOST_STEPS = 3_000_000
"""Number of basic blocks executed by all warps of a launch that take some seconds to interpret."""
GROUPS = 8


def evidence_of(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    machine: Machine,
    *,
    whole: bool = False,
    placement: Mapping[str, str] | None = None,
    sampling: Sampling = Sampling.FEW,
    guards: bool = True,
) -> Evidence:
    """What ``kernel`` does in ``launch`` on ``machine``. Accesses to the arrays in ``placement``
    (space by array) are counted as if they were in these spaces, whatever the code does.

    It comes from a slice of the machine code, run for as many blocks as ``sampling`` says, or for
    more where these differ too much. Where no slice is possible, or with ``whole``, it comes from a
    run of the whole launch. Without ``guards``, a slice counts all active threads of an instruction
    as executing it, whatever its predicate: no time depends on that, and most arithmetic of some
    kernels is left out.

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
            kernel = replace(kernel, machine_code=True)
            return _sliced(kernel, facts, launch, inputs, machine, placement, sampling, guards)
    except UnsupportedError as error:
        run = run_all()
        note = f"the whole launch was run: {error.message}"
        return Evidence(run=replace(run, notes=(*run.notes, note)))


# The stages of a sliced launch, in their order.
def _sliced(
    kernel: Kernel,
    facts: CubinKernel,
    launch: Launch,
    inputs: Inputs,
    machine: Machine,
    placement: Mapping[str, str] | None,
    sampling: Sampling,
    guards: bool,
) -> Evidence:
    shared = facts.static_shared_bytes + launch.shared_bytes
    resident = fitting_occupancy(launch, machine, registers=kernel.registers, shared_bytes=shared)
    sampled = {
        Sampling.FEW: partial(blocks_by_kind, launch, machine, resident),
        Sampling.MORE: partial(blocks_by_kind, launch, machine, resident, groups=GROUPS),
        Sampling.EVERY: partial(every_block, launch),
    }
    blocks = sampled[sampling]()
    looked_at_all = blocks.sample.complete and _has_few_warps(launch)
    few = SMALL_ACCESSES if looked_at_all else 0
    seen = _seen(kernel, launch, inputs, blocks, few=few, guards=guards)
    enough = _enough(sampling, seen, blocks, launch)
    if enough > sampling:
        sampling = enough
        blocks = sampled[sampling]()
        if not seen.all_kept:
            seen = _seen(kernel, launch, inputs, blocks, program=seen.program, guards=guards)
    execution = _execution(seen, blocks)
    launch_facts = LaunchFacts(
        launch,
        resident,
        shared,
        facts.frame_bytes + (facts.stack_bytes or 0),
        inputs.array_bytes,
        bursts=first_of_bursts(instructions_of(kernel)),
        filtered=filtered_axes(inputs),
    )
    chunk = chunk_of(seen)
    chunks = [of_blocks(chunk, blocks.numbers[blocks.traced(k)]) for k in range(blocks.kinds)]
    distances = partial(burst_distances, kernel, execution)
    of_kinds = []
    for k, own in enumerate(chunks):
        system = MemorySystem(launch_facts, machine, seed=SEED, placement=placement)
        system.begin(seen.sites, seen.device.arrays)
        system.chunk(own)
        of_kinds.append(system.traffic(_site_executions(seen, blocks, k), distances))
    of_kinds[1:] = [missed_as_often(t, of_kinds[0]) for t in of_kinds[1:]]
    alone = total_traffic(of_kinds)
    fetched = code_traffic(
        execution,
        launch,
        resident,
        machine,
        alone.sector_bytes,
        shared_wavefronts=alone.shared_wavefronts,
    )
    touched = _touched(seen, chunk, blocks, launch_facts, alone)
    traffic = _with_all_sms(
        alone, of_kinds[0], chunks[0], touched, seen, launch_facts, machine, placement
    )
    traffic = replace(traffic, instructions=fetched)
    notes = constant_notes(kernel, inputs)
    if not blocks.sample.complete:
        notes += (f"times rest on {len(blocks.numbers)} of the {launch.blocks} blocks",)
    run = SimulatedLaunch(kernel, launch, machine, resident, traffic, execution, notes)
    paths = warp_paths_of(seen, blocks, of_kinds)
    return Evidence(run=run, warp_paths=paths, sampling=sampling)


def _enough(sampling: Sampling, seen: SlicedTrace, blocks: BlockKinds, launch: Launch) -> Sampling:
    """How many blocks must be looked at, now that ``blocks``, those of ``sampling``, were seen."""
    if sampling is Sampling.EVERY or _is_small(seen, launch):
        return Sampling.EVERY
    if sampling is Sampling.MORE or blocks.sample.complete:
        return sampling
    if _unevenness(seen, blocks) <= MOST_ERROR:
        return sampling
    steps = len(seen.step_block) * launch.blocks * launch.warps_per_block
    return Sampling.EVERY if steps <= MOST_STEPS else Sampling.MORE


def _is_small(seen: SlicedTrace, launch: Launch) -> bool:
    """Whether the accesses of all blocks can be simulated in about a second, judged by those of the
    blocks of ``seen``."""
    each = float(seen.site_executions.sum()) / max(1, len(seen.site_executions))
    return _has_few_warps(launch) and each * launch.blocks <= SMALL_ACCESSES


def _has_few_warps(launch: Launch) -> bool:
    return launch.blocks * launch.warps_per_block <= SMALL_WARPS


def _touched(
    seen: SlicedTrace, chunk: TraceChunk, blocks: BlockKinds, facts: LaunchFacts, traffic: Traffic
) -> Touched:
    """What the launch touches of its arrays: all of each, if accesses of some blocks were left
    out."""
    whole = sectors_of(facts.array_bytes, traffic.sector_bytes)
    if not _all_traced(blocks):
        return Touched(whole, {})
    return touched_sectors(
        seen, chunk, blocks, facts.launch, whole, traffic.sector_bytes, traffic.line_bytes
    )


# One parameter for each result of the steps before.
def _with_all_sms(
    alone: Traffic,
    usual: Traffic,
    own: TraceChunk,
    touched: Touched,
    seen: SlicedTrace,
    facts: LaunchFacts,
    machine: Machine,
    placement: Mapping[str, str] | None,
) -> Traffic:
    """``alone``, the traffic of blocks with an L2 to themselves, as it is where all SMs share L2;
    ``usual`` is that of the most frequent kind's blocks, and ``own`` their accesses."""
    room = l2_bytes(machine) / alone.sector_bytes
    traffic = within_arrays(alone, touched.sectors, touched.full, room)
    names = seen.sites, seen.device.arrays
    common = sharing(alone, traffic)
    traffic = fetched_again(
        traffic, own, usual, names, facts, machine, sharing=common, placement=placement
    )
    if facts.local_bytes:
        traffic = with_spills_of_all(
            traffic, own, names, facts, machine, sharing=common, most=touched.sectors
        )
    return traffic


def _seen(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    blocks: BlockKinds,
    *,
    few: int = 0,
    program: Program | None = None,
    guards: bool = True,
) -> SlicedTrace:
    """The sliced trace of ``blocks``, with the accesses of those that are simulated for each kind,
    or of all of them if the blocks, or all their accesses (at most ``few``), are few. ``program``
    is that of an earlier trace.

    If the paths are long, branches that only guard arithmetic (such as a square root of small
    numbers) are left out, since they are most of the work in such kernels.
    """
    traced = np.logical_or.reduce([blocks.traced(k) for k in range(blocks.kinds)])
    if _all_traced(blocks):
        traced[:] = True
    sliced = partial(
        slice_launch, kernel, launch, inputs, blocks.numbers, trace=traced, few=few, program=program
    )
    try:
        return sliced(guards=guards)
    except PathTooLongError as error:
        if not error.with_guards:
            raise
        return sliced(guards=False)


def _all_traced(blocks: BlockKinds) -> bool:
    """Whether the accesses of all blocks that are looked at are kept, those that only stand for
    others' counts among them."""
    return not blocks.sample.complete and len(blocks.numbers) <= MOST_TRACED


def _unevenness(seen: SlicedTrace, blocks: BlockKinds) -> float:
    """Standard error of the launch's memory accesses over their number."""
    found = blocks.sample.estimate(seen.site_executions[blocks.rows].sum(axis=1))
    total = float(found.total[0])
    return float(found.standard_error[0]) / total if total else 0.0


def _site_executions(seen: SlicedTrace, blocks: BlockKinds, kind: int) -> NDArray[np.int64]:
    """(sites,) executions by all blocks of one kind."""
    return np.rint(blocks.totals(seen.site_executions, kind)).astype(np.int64)


def _execution(seen: SlicedTrace, blocks: BlockKinds) -> Execution:
    """Counts of the whole launch, scaled from the sample's."""

    def scaled(counts: NDArray[np.int64]) -> NDArray[np.int64]:
        total = sum(blocks.totals(counts, kind) for kind in range(blocks.kinds))
        return np.rint(total).astype(np.int64)

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
