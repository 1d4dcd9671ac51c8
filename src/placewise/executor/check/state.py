"""The checker's memory for one launch, laid out for compiled code by :mod:`.shadow_layout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.check import shadow_layout as at
from placewise.executor.check.expected import Reach, atomics_looked_at, reach
from placewise.executor.device_memory import address_space
from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import Access, Barrier, Program
from placewise.executor.passes.used_elements import used_elements
from placewise.kernel.launch import Launch

SHADOW_LIMIT = 32 << 30
"""Bytes of address space for the shadows of arrays; memory is taken only where a kernel touches
them."""

_MOST_SITES = 1 << 15
_NODES = 1 << 21
_SYNCHRONISING = (".volatile", ".relaxed", ".acquire", ".release", ".acq_rel", ".mmio", ".sc")
_SYNC_KIND = {
    "warp": at.WARP_SYNC,
    "fence": at.FENCE,
    "commit": at.COMMIT,
    "wait": at.WAIT,
    "collective": at.COLLECTIVE,
    "shuffle": at.SHUFFLE,
}
_KIND = {"load": at.LOAD, "store": at.STORE, "atomic": at.ATOMIC}
_SPACE = {"shared": at.IN_SHARED, "local": at.IN_LOCAL}


class LaunchState:
    """Shadow memory, tables and findings of one launch.

    Raises UnsupportedError for a kernel of more than 32,768 memory instructions.
    """

    def __init__(
        self, program: Program, device: Device, launch: Launch, residents: int, bad_limit: int
    ) -> None:
        if len(program.accesses) > _MOST_SITES:
            raise UnsupportedError(
                f"the kernel has {len(program.accesses)} memory instructions; the checker covers "
                f"at most {_MOST_SITES}"
            )
        self.state = np.zeros(at.STATE_WORDS, np.int64)
        self.findings = np.zeros((at.FINDING_ROWS, at.FINDING_WORDS), np.int64)
        self.unwatched: list[str] = []
        """Arrays that are not checked for races: their shadows would be too large."""
        self._kept: list[NDArray[Any]] = []
        self._blocks: NDArray[np.int64] = np.zeros(0, np.int64)
        self._sites(program)
        self._shadows(program, device, reach(program, device))
        self._held_blocks(program, launch, residents)
        # In a kernel without releases only barriers order accesses.
        tracking = any(s.kind == "fence" for s in program.syncs) or any(
            flags_of(a) & at.RELEASES for a in program.accesses
        )
        self._numbers(program, launch, tracking=tracking, bad_limit=bad_limit)
        nodes = _NODES if tracking else 1
        self._keep(at.S_NODES, np.zeros((nodes, at.NODE_WORDS), np.int64))
        self.state[at.S_NODE_MASK] = nodes - 1
        self._keep(at.S_SCRATCH, np.zeros(2 * at.LANES + at.LANES * 16, np.int64))
        lines = [
            b.terminator.place.source[1]
            if isinstance(b.terminator, Barrier) and b.terminator.place.source
            else -1 - b.number
            for b in program.blocks
        ]
        self._keep(at.S_BARRIER_LINES, np.array(lines, np.int64))
        self.state[at.S_FINDINGS] = self.findings.ctypes.data
        for slot, first in at.FIRST_OF.items():
            self.state[first] = self.state[slot]

    def _held_blocks(self, program: Program, launch: Launch, residents: int) -> None:
        """Memory for what each of ``residents`` blocks that run at the same time has done."""
        shared = program.shared_bytes + launch.shared_bytes
        copies = any(_awaited(a) for a in program.accesses)
        shift = _shift(a for a in program.accesses if a.space in ("shared", "generic"))
        cells = (shared >> shift) + 1
        words = -(-shared // 4) if copies else 0
        local = program.local_bytes * launch.warps_per_block * at.LANES
        for slot, size, stride_slot, dtype in (
            (at.S_BLOCK, at.BLOCK_WORDS, at.S_BLOCK_STRIDE, np.int64),
            (at.S_SHARED_CELLS, cells * at.CELL_WORDS, at.S_CELLS_STRIDE, np.int64),
            (at.S_SHARED_READS, cells * at.READ_WORDS, at.S_READS_STRIDE, np.int64),
            (at.S_SHARED_DEFINED, shared, at.S_DEFINED_STRIDE, np.uint8),
            (at.S_SHARED_ASYNC, words, at.S_ASYNC_STRIDE, np.int64),
            (at.S_LOCAL_DEFINED, local, at.S_LOCAL_STRIDE, np.uint8),
        ):
            if size:
                memory = self._keep(slot, np.zeros(residents * size, dtype))
                self.state[stride_slot] = size * memory.itemsize
                if slot == at.S_BLOCK:
                    self._blocks = memory
        self.state[at.S_SHARED_SHIFT] = shift

    def _numbers(self, program: Program, launch: Launch, *, tracking: bool, bad_limit: int) -> None:
        """Sizes, limits and the address layout, as words of the state."""
        warps = launch.warps_per_block
        last = launch.threads_per_block - (warps - 1) * at.LANES
        for slot, value in (
            (at.S_BASE, 1),
            (at.S_WARPS, warps),
            (at.S_LAST_LANES, (1 << last) - 1),
            (at.S_SHARED_BYTES, program.shared_bytes + launch.shared_bytes),
            (at.S_LOCAL_BYTES, program.local_bytes),
            (at.S_BAD_LIMIT, bad_limit),
            (at.S_PLAIN_BARRIERS, int(program.has_plain_barriers())),
            (at.S_TRACKING, int(tracking)),
            (at.S_WINDOW_SHIFT, address_space.WINDOW_SHIFT),
            (at.S_WINDOW_COUNT, address_space.WINDOWS),
            (at.S_WINDOW_WORDS, address_space.WINDOW_WORDS),
        ):
            self.state[slot] = value

    @property
    def address(self) -> int:
        """Address of the state, the first argument of all compiled functions."""
        return int(self.state.ctypes.data)

    @property
    def scratch(self) -> int:
        """Address of the buffer for operands."""
        return int(self.state[at.S_SCRATCH])

    def rows(self) -> NDArray[np.int64]:
        """(n, FINDING_WORDS) findings so far, in the order of the table."""
        filled: NDArray[np.int64] = self.findings[self.findings[:, at.F_KIND] != 0]
        return filled

    def waiting(self) -> int | None:
        """The program block at whose barrier a warp of the present block waits, if any does."""
        held = int(self.state[at.S_BLOCK] - self.state[at.S_FIRST_BLOCK]) // 8
        words = self._blocks[held : held + at.BLOCK_WORDS]
        for warp in range(int(self.state[at.S_WARPS])):
            number = words[at.B_WAITS_AT + warp]
            arrived = number >= 0 and words[at.B_CLOCK + warp] > 1
            if arrived and words[at.B_ROUND + number] == words[at.B_WAITS_ROUND + warp]:
                return int(words[at.B_LAST_BARRIER + warp])
        return None

    def _keep(self, slot: int, memory: NDArray[Any]) -> NDArray[Any]:
        """Keep an array alive with the launch, and its address in a word of the state."""
        self._kept.append(memory)
        self.state[slot] = memory.ctypes.data
        return memory

    def _sites(self, program: Program) -> None:
        table = np.zeros((max(1, len(program.accesses)), at.SITE_WORDS), np.int64)
        looked_at = atomics_looked_at(program)
        used = used_elements(program)
        for a in program.accesses:
            acquires = at.ACQUIRES if a.site in looked_at else 0
            table[a.site, : at.SITE_USED_BYTES + 1] = (
                _KIND.get(a.kind, at.LOAD),
                _SPACE.get(a.space, at.IN_WINDOW),
                a.bits // 8 * a.count,
                a.bits // 8,
                flags_of(a) | acquires,
                _byte_mask(a, used[a.site]) if a.site in used else -1,
            )
        self._keep(at.S_SITES, table)
        syncs = np.zeros((max(1, len(program.syncs)), at.SYNC_WORDS), np.int64)
        for s in program.syncs:
            syncs[s.number] = _SYNC_KIND[s.kind], s.operand
        self._keep(at.S_SYNCS, syncs)

    def _shadows(self, program: Program, device: Device, found: Reach) -> None:
        """Shadow cells for every array that some thread may write, and its map of defined bytes."""
        table = np.zeros((address_space.WINDOWS, at.SHADOW_WORDS), np.int64)
        table[:, at.SHADOW_EXPECTED] = 1
        left = SHADOW_LIMIT
        for region in sorted(device.regions, key=lambda r: r.data.size):
            row = table[region.window]
            if region.defined is not None:
                row[at.SHADOW_DEFINED] = region.defined.ctypes.data
            if not region.writable or not region.data.size:
                continue
            if region.window == address_space.HEAP_WINDOW:
                # The heap is not checked: malloc may give one thread what another has freed, and no
                # access shows that the two are ordered.
                continue
            if not found.may_write(region.window):
                row[at.SHADOW_EXPECTED] = 0
                continue
            shift = _shift(program.accesses[s] for s in found.sites(region.window))
            cells = ((region.data.size - 1) >> shift) + 1
            left -= cells * (at.CELL_WORDS + at.READ_WORDS) * 8
            if left < 0:
                self.unwatched.append(region.name)
                continue
            for word, size in (
                (at.SHADOW_CELLS, at.CELL_WORDS),
                (at.SHADOW_READS, at.READ_WORDS),
            ):
                memory = np.zeros(cells * size, np.int64)
                self._kept.append(memory)
                row[word] = memory.ctypes.data
            row[at.SHADOW_SHIFT] = shift
        self._keep(at.S_SHADOWS, table)


def _shift(accesses: Any) -> int:
    """Binary logarithm of a cell's bytes: the smallest element that is accessed, at most 4."""
    smallest = min((a.bits // 8 for a in accesses), default=4)
    return {1: 0, 2: 1}.get(smallest, 2)


def _awaited(a: Access) -> bool:
    """Whether a copy belongs to a cp.async group; bulk copies complete through their mbarrier."""
    return a.opcode.startswith("cp.async") and ".bulk" not in a.opcode


def _byte_mask(access: Access, elements: int) -> int:
    """Mask of a lane's bytes from that of its elements."""
    size = access.bits // 8
    return sum(((1 << size) - 1) << n * size for n in range(access.count) if elements >> n & 1)


def flags_of(a: Access) -> int:
    """Flags of an access by its opcode: atomic, volatile, release, acquire, asynchronous.

    Whether an atomic acquires depends on the use of its result, which is not looked at here.
    """
    flags = 0
    if a.kind == "atomic":
        flags |= at.IS_ATOMIC
    elif any(mark in a.opcode for mark in _SYNCHRONISING):
        flags |= at.IS_VOLATILE
        if a.kind == "load":
            flags |= at.ACQUIRES
    if a.operation.startswith("mbarrier"):
        # An arrival at an mbarrier is a release to threads that have seen its phase complete.
        flags |= at.RELEASES | at.ACQUIRES
    if ".release" in a.opcode or ".acq_rel" in a.opcode or ".sc" in a.opcode:
        flags |= at.RELEASES
    if _awaited(a) and a.kind == "store":
        flags |= at.IS_ASYNC
    return flags
