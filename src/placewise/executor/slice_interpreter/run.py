"""Interprets the backward slice of a program for a few blocks, all their warps at once.

Of the basic blocks that lanes wait to enter, the first in the program's order runs next, for all
warps with lanes there. Compiled code uses the same order. A lane at a barrier waits until no other
lane can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.device import Device
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.executor.ir.nodes import Access, Barrier, Block, Branch, Jump, Node, Program, Switch
from placewise.executor.slice_interpreter.active_warps import ActiveWarps, Registers
from placewise.executor.slice_interpreter.atomic_update import update
from placewise.executor.slice_interpreter.backward_slice import (
    MEMORY,
    BackwardSlice,
    PathTooLongError,
    guard_of,
)
from placewise.executor.slice_interpreter.guarded import made_nodes
from placewise.executor.slice_interpreter.kept_accesses import Accesses, KeptAccesses
from placewise.executor.slice_interpreter.lane_loops import branch, count_active
from placewise.executor.slice_interpreter.operations import DTYPES, Lanes, spread
from placewise.executor.slice_interpreter.specials import special_registers
from placewise.executor.slice_interpreter.steps import Call, State, Step, call_of, count_of
from placewise.executor.slice_interpreter.storage import Storage
from placewise.executor.texture.texture_sites import texture_reads, uses_sampler, words_of
from placewise.executor.trace import Site
from placewise.executor.translate import lower, parsed, sites_of
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch

WORK = 600_000
"""Largest number of nodes computed in one call, which takes two or three seconds."""
LONG_WORK = 4 * WORK
"""Most work for a slice that holds no arithmetic for the sake of guards; a full run of such a
launch would take minutes."""
_FEW_WARPS = 64
"""Warps of which the values of a whole block stay in the caches, freed or not."""
_END = 1 << 30
"""Block number of lanes whose thread has ended."""


@dataclass(frozen=True, eq=False)
class SlicedTrace:
    """Paths of the warps and addresses of the accesses of b blocks of a launch."""

    program: Program
    sites: tuple[Site, ...]
    device: Device
    blocks: NDArray[np.int64]
    """(b,) linear numbers of the blocks, ascending."""
    block_of_warp: NDArray[np.int64]
    """(w,) index into ``blocks`` of each warp; the warps of a block are adjacent."""
    step_block: NDArray[np.int64]
    """(s,) basic block executed in each step."""
    step_warps: NDArray[np.bool_]
    """(s, w) warps that took part."""
    step_phase: NDArray[np.int64]
    """(s, b) number of barriers that each block has passed."""
    executions: NDArray[np.int64]
    """(b, basic blocks, 2) number of warp executions and of thread executions."""
    guards: NDArray[np.int64]
    """(b, guards) number of threads in which each counted guard held; (b, 0) if none is counted."""
    site_executions: NDArray[np.int64]
    """(b, sites) number of warps that executed each memory instruction."""
    accesses: tuple[Accesses, ...]
    """Accesses of the traced blocks, or of all of them if ``all_kept``: the first ``RECORDED``
    executions of each instruction (:mod:`.kept_accesses`), or all of a whole trace."""
    step_lanes: NDArray[np.uint32] | None = None
    """(s, w) lanes that took part, a bit for each; None but for a whole trace."""
    all_kept: bool = False
    """Whether the accesses of blocks that were not to be traced are kept, too."""

    def path(self, warp: int) -> NDArray[np.int64]:
        """Basic blocks that a warp executed, in order."""
        return self.step_block[self.step_warps[:, warp]]


# Public: one parameter for each thing that callers choose.
def slice_launch(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    blocks: NDArray[np.int64],
    *,
    trace: NDArray[np.bool_] | None = None,
    guards: bool = True,
    work: int | None = None,
    whole: bool = False,
    few: int = 0,
    program: Program | None = None,
) -> SlicedTrace:
    """Trace the paths and addresses of ``blocks`` (linear numbers, ascending) of a launch.

    ``trace`` (b,) selects the blocks whose accesses are kept, all if None. The blocks see device
    memory as it is before the launch, and what they write themselves. ``guards`` counts the threads
    in which guards of arithmetic hold, which may need all of a kernel's arithmetic. A ``whole``
    trace keeps the lanes of every step and the addresses of every execution. The accesses of all
    blocks are kept if they are at most ``few`` warp accesses. ``work`` is
    :data:`WORK`, or :data:`LONG_WORK` where guards need nothing, unless given. ``program`` is that
    of an earlier trace of the same kernel and inputs, which spares translating the kernel again.

    Raises UnsupportedError for kernels whose warps wait for each other outside of barriers, for
    surfaces, for textures other than linear memory of 32-bit words, and for nodes of the slice that
    are not covered; PathTooLongError if more than ``work`` nodes would have to be computed;
    CaseError if inputs or launch do not fit the kernel.
    """
    memory = DeviceMemory()
    device = memory.prepare(kernel, fill(memory, kernel, inputs, borrow=True))
    # Not cached: a sweep slices each kernel once, and hundreds of thousands of cached nodes would
    # slow every pass of Python's garbage collector.
    program = program or lower(kernel, device.first_window)
    if program.waiting:
        raise UnsupportedError("the kernel's warps wait for each other outside of barriers")
    reads = texture_reads(program, dict(device.textures))
    words = words_of(program, reads)
    if uses_sampler(program, words):
        # Where a texel lies is worked out only while the kernel runs.
        raise UnsupportedError(
            "the kernel accesses surfaces, or textures other than linear memory of 32-bit words"
        )
    blocks = np.asarray(blocks, np.int64)
    traced = np.ones(len(blocks), np.bool_) if trace is None else trace
    run = _Run(program, words, device, launch, blocks, traced, guards, work, whole=whole, few=few)
    run.go()
    return run.result(sites_of(program, parsed(kernel), reads))


class _Participants(NamedTuple):
    """The warps and lanes that execute an access."""

    counts: NDArray[np.int64]
    """(b,) warps of each block."""
    places: NDArray[np.int64]
    """(n,) places, among the active warps, of those whose accesses are kept."""
    lanes: NDArray[np.bool_]
    """(n, 32) active lanes of these warps."""
    first: NDArray[np.int64]
    """(n,) first active lane of each of these warps."""


class _Run:
    """Where the lanes of all warps are, and what they have done so far."""

    # One parameter for each part of a launch.
    def __init__(
        self,
        program: Program,
        words: tuple[int, ...],
        device: Device,
        launch: Launch,
        blocks: NDArray[np.int64],
        traced: NDArray[np.bool_],
        guards: bool,
        work: int | None,
        *,
        whole: bool,
        few: int,
    ) -> None:
        self.lanes: list[NDArray[np.uint32]] | None = [] if whole else None
        self.program, self.device, self.blocks = program, device, blocks
        self.counted = guards
        self.words = words
        per_block = launch.warps_per_block
        self.block_of_warp = np.repeat(np.arange(len(blocks)), per_block)
        self.kept = KeptAccesses(traced[self.block_of_warp], few=few, whole=whole)
        thread = np.arange(per_block * 32).reshape(per_block, 32)
        tiled = np.tile(thread, (len(blocks), 1))
        number = blocks[self.block_of_warp][:, None]
        self.specials = special_registers(program, launch, tiled, number)
        self.warps = ActiveWarps(len(tiled))
        self.storage = Storage(
            {r.window: r.data for r in device.regions},
            device.parameters,
            self.block_of_warp,
            self.warps,
            program.shared_bytes + launch.shared_bytes,
            program.local_bytes,
            program.shared_base,
        )
        self.slice = BackwardSlice(program, words, guards=guards)
        self.for_guards = guards and self.slice.needs_guards
        self.left = work if work is not None else WORK if self.for_guards else LONG_WORK
        self.at = np.where(tiled < launch.threads_per_block, 0, _END).astype(np.int32)
        """(w, 32) basic block that each lane enters next, or ``_END``."""
        self.waiting: dict[int, NDArray[np.bool_]] = {}
        """Lanes at barriers, by the basic block that they go on with."""
        self.phase = np.zeros(len(blocks), np.int64)
        self.pending: list[tuple[Barrier, Lanes]] = []
        """Reductions of barriers that lanes wait at: the predicate and the lanes that gave it."""
        self.regs = Registers(self.warps, self.at.shape)
        self.values: dict[Node, Any] = {}
        self.code: dict[int, list[Step]] = {}
        self.steps: list[tuple[int, NDArray[np.bool_], NDArray[np.int64]]] = []
        """Basic block, warps that took part (w,), and barriers passed by each block (b,)."""
        self.executions = np.zeros((len(blocks), len(program.blocks), 2), np.int64)
        self.unguarded: dict[int, int] = {}
        """Basic blocks of the accesses that all active lanes take part in, by site."""
        self.site_executions = np.zeros((len(blocks), len(program.accesses)), np.int64)
        self.guards = np.zeros((len(blocks), max(1, len(program.guards))), np.int64)
        self._last_mask: NDArray[np.bool_] | None = None
        self._last_participants: _Participants | None = None

    def go(self) -> None:
        """Run all lanes to the end of their threads."""
        with np.errstate(all="ignore"):
            while True:
                number = int(self.at.min())
                if number != _END:
                    self._block(self.program.blocks[number])
                elif self.waiting:
                    self._release()
                else:
                    return

    def _release(self) -> None:
        """Let all lanes at barriers go on; each of their blocks has passed one more barrier."""
        held = np.logical_or.reduce(list(self.waiting.values())).any(axis=1)
        # Steps before keep the array that they refer to.
        self.phase = self.phase.copy()
        self.phase[np.unique(self.block_of_warp[held])] += 1
        for target, lanes in self.waiting.items():
            self.at[lanes] = target
        self.waiting.clear()
        for barrier, predicate in self.pending:
            self._reduce(barrier, predicate)
        self.pending.clear()

    def _reduce(self, barrier: Barrier, given: Lanes) -> None:
        """Set the result of bar.red, over the threads of each block that gave a predicate."""
        assert barrier.reduce is not None
        operation_, _, reg = barrier.reduce
        value, mask = given
        blocks = len(self.blocks)
        holds = np.bincount(self.block_of_warp, (value & mask).sum(axis=1), blocks)
        threads = np.bincount(self.block_of_warp, mask.sum(axis=1), blocks)
        result = {"or": holds > 0, "and": holds == threads}.get(operation_, holds)
        self.warps.rows = None
        self.regs.write(reg, result[self.block_of_warp][:, None].astype(DTYPES[reg.type]), mask)

    def _block(self, block: Block) -> None:
        code = self.code.get(block.number)
        if code is None:
            code = self.code[block.number] = self._prepare(block)
        self.left -= len(code) + 1
        if self.left < 0:
            raise PathTooLongError(
                "a warp executes too much to be followed in a few blocks alone",
                with_guards=self.for_guards,
            )
        count = self.executions[:, block.number]
        mask, took_part = self.at == block.number, np.empty(len(self.at), np.bool_)
        count_active(mask, self.block_of_warp, took_part, count[:, 0], count[:, 1])
        self.steps.append((block.number, took_part, self.phase))
        if self.lanes is not None:
            packed = np.packbits(mask, axis=1, bitorder="little")
            self.lanes.append(packed.view("<u4").reshape(-1))
        self.warps.choose(took_part)
        mask = self.warps.of(mask)
        self.values.clear()
        values = self.values
        for step in code:
            step.call(self, mask)
            for n in step.last:
                values.pop(n, None)
        self._leave(block, mask)

    def _leave(self, block: Block, mask: NDArray[np.bool_]) -> None:
        end = block.terminator
        at = self.warps.of(self.at)
        if isinstance(end, Jump):
            branch(at, mask, mask, end.target, end.target)
        elif isinstance(end, Branch):
            taken = spread(self.value(end.condition), mask.shape)
            branch(at, mask, taken, end.taken, end.other)
        elif isinstance(end, Switch):
            index = np.broadcast_to(self.value(end.index), mask.shape).astype(np.int64)
            targets = np.array(end.targets)
            at[mask] = targets[np.clip(index, 0, len(targets) - 1)][mask]
        elif isinstance(end, Barrier):
            everywhere = self.warps.everywhere(mask)
            if end.arrive_only:
                at[mask] = end.target
            else:
                at[mask] = _END
                self.waiting[end.target] = everywhere | self.waiting.get(end.target, False)
            if end.reduce is not None:
                value = self.warps.everywhere(self.value(end.reduce[1]))
                self.pending.append((end, (value, everywhere)))
        else:
            at[mask] = _END
        if at is not self.at:
            self.at[self.warps.rows] = at

    def value(self, n: Node) -> Lanes:
        """Value of a node of the basic block that is being executed."""
        return self.values[n]

    def _prepare(self, block: Block) -> list[Step]:
        needed = self.slice.nodes
        own = set(block.nodes)
        steps: list[Step] = []
        for n in block.nodes:
            if n.op in MEMORY:
                steps += [
                    Step(made, call_of(made)) for made in made_nodes(self.slice.address(n), own)
                ]
                access = n.access
                if access.space != "param" or n in self.slice.contents:
                    steps.append(Step(n, self._memory_call(n, access)))
                if access.space != "param" and guard_of(n) is None and n.op != "texture":
                    self.unguarded[access.site] = block.number
            elif n.op == "count":
                steps += [Step(n, count_of(n))] if self.counted else []
            elif n in needed:
                steps.append(Step(n, call_of(n)))
        return steps if len(self.at) <= _FEW_WARPS else self._with_last_uses(steps, block)

    def _with_last_uses(self, steps: list[Step], block: Block) -> list[Step]:
        """``steps`` with the nodes whose last use each one is; the terminator's values are kept."""
        seen = set(block.steering())
        found = []
        for step in reversed(steps):
            n = step.node
            used = {n, *n.args}
            if n.op in MEMORY:
                used.add(self.slice.address(n))
            last = tuple([a for a in used if a not in seen])
            seen |= used
            found.append(Step(n, step.call, last))
        return found[::-1]

    def _memory_call(self, n: Node, access: Access) -> Call:
        guard, place = guard_of(n), self.slice.address(n)
        with_contents = n in self.slice.contents

        def call(_: State, mask: NDArray[np.bool_]) -> None:
            address = self.value(place)
            if access.offset:
                address = address + address.dtype.type(access.offset % (1 << 8 * address.itemsize))
            if guard is not None:
                mask = mask & self.value(guard)
            if n.op == "texture":
                mask = mask & self.storage.within(address)
            if access.space != "param":
                self._record(access, address, mask)
            if with_contents:
                self._contents(n, access, address, mask)

        return call

    def _record(self, access: Access, address: Lanes, mask: NDArray[np.bool_]) -> None:
        guarded = access.site not in self.unguarded
        if not guarded and not self.kept.wants(access.site):
            return
        found = self._participants(mask)
        if guarded:
            self.site_executions[:, access.site] += found.counts
        if self.kept.are_too_many(int(found.counts.sum())):
            self._last_participants = None
            found = self._participants(mask)
        if not len(found.places) or not self.kept.wants(access.site):
            return
        window, offset = self.storage.seen(access.space, address, found.places, found.first)
        warps, step = self.warps.numbers(found.places), len(self.steps) - 1
        self.kept.add(Accesses(access.site, step, warps, found.lanes, window, offset))

    def _participants(self, mask: NDArray[np.bool_]) -> _Participants:
        """The warps and lanes that execute an access under ``mask``.

        Kept for the next access, since all unguarded accesses of a block have one mask.
        """
        if self._last_participants is None or self._last_mask is not mask:
            took_part = np.zeros(len(mask), np.bool_)
            counts, threads = np.zeros((2, len(self.blocks)), np.int64)
            blocks = self.warps.of(self.block_of_warp)
            count_active(mask, blocks, took_part, counts, threads)
            places = np.flatnonzero(took_part & self.warps.of(self.kept.warps))
            lanes = mask[places]
            self._last_mask = mask
            self._last_participants = _Participants(counts, places, lanes, np.argmax(lanes, axis=1))
        return self._last_participants

    def _contents(self, n: Node, access: Access, address: Lanes, mask: NDArray[np.bool_]) -> None:
        if n.op == "texture":
            words = self.words[access.site]
            texel = self.storage.load(access.space, address, mask, access.bits, words)
            none = np.zeros((1, 1), np.uint32)
            self.values[n] = texel + [none] * (access.count - words)
            return
        if access.bits > 64:
            raise UnsupportedError(f"the result of '{access.opcode}' decides a path or an address")
        if n.op == "load":
            loaded = self.storage.load(access.space, address, mask, access.bits, access.count)
            self.values[n] = loaded if access.count > 1 else loaded[0]
        elif n.op == "store":
            given = [self.value(a) for a in n.args[1 : 1 + access.count]]
            self.storage.store(access.space, address, mask, access.bits, given)
        else:
            given = [self.value(a) for a in n.args[1 : 3 if access.operation == "cas" else 2]]
            self.values[n] = update(self.storage, access, address, mask, given)

    def result(self, sites: tuple[Site, ...]) -> SlicedTrace:
        """The trace of everything executed so far."""
        for site, block in self.unguarded.items():
            self.site_executions[:, site] = self.executions[:, block, 0]
        return SlicedTrace(
            self.program,
            sites,
            self.device,
            self.blocks,
            self.block_of_warp,
            np.array([s[0] for s in self.steps], np.int64),
            np.array([s[1] for s in self.steps]),
            np.array([s[2] for s in self.steps]),
            self.executions,
            self.guards[:, : len(self.program.guards) * self.counted],
            self.site_executions,
            self.kept.first(),
            np.array(self.lanes, np.uint32) if self.lanes is not None else None,
            all_kept=self.kept.of_all,
        )
