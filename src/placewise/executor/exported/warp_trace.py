"""Every instruction that the warps of a launch's blocks execute, with the addresses of accesses."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import address
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.executor.slice_interpreter import slice_launch
from placewise.executor.slice_interpreter.run import SlicedTrace
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED, machine_code
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.progress import Progress, silent

_TOGETHER = 16
"""Blocks that the slice interpreter executes together."""
WORK = 20_000_000
"""Most IR nodes that these blocks may execute, which takes minutes."""
_IN_BLOCK = ("shared", "local")


@dataclass(frozen=True)
class Touched:
    """What one warp's execution of a memory instruction accesses."""

    space: str
    """global, shared, local, generic, constant or texture."""
    kind: str
    """load, store or atomic."""
    lane_bytes: int
    array: str | None
    """The array of the first active lane; None for shared and local memory."""
    lanes: int
    """Lanes that access, a bit for each."""
    addresses: NDArray[np.int64]
    """(lanes,) of the active lanes, in their order: device addresses, or offsets in the block's
    shared or the thread's local memory."""
    phase: int
    """Barriers of the block that lie before it."""


@dataclass(frozen=True)
class Executed:
    """One warp instruction."""

    offset: int
    """Offset of the instruction in bytes from the start of the kernel's machine code."""
    lanes: int
    """Lanes that take part, a bit for each: of a memory instruction those that access, of EXIT
    those that end there, of any other those that reach it, whatever its predicate."""
    touched: Touched | None


@dataclass(frozen=True)
class BlockTrace:
    """One block."""

    number: int
    """Linear number of the block, x fastest."""
    warps: tuple[tuple[Executed, ...], ...]
    """Instructions of each warp, in their order."""


def block_traces(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    *,
    blocks: int | None = None,
    progress: Progress = silent,
) -> Iterator[BlockTrace]:
    """The first ``blocks`` blocks of a launch (None: all), in their order.

    Each group of 16 blocks sees device memory as it is before the launch, and what it writes
    itself. Where lanes meet again (BSYNC), the instruction is there once, for all of them. Raises
    UnsupportedError for a kernel without machine code that can be read (that of compute capability
    7.0 and later), and for what the slice interpreter does not cover.
    """
    if kernel.cubin is None or read_cubin(kernel.cubin, kernel.entry).target < OLDEST_DISASSEMBLED:
        raise UnsupportedError("the kernel has no machine code that can be read", where=kernel.name)
    kernel = replace(kernel, machine_code=True)
    code = machine_code(kernel).instructions
    exits = frozenset(i.offset for i in code if i.parts[0] == "EXIT")
    wanted = min(launch.blocks, blocks or launch.blocks)
    for start in range(0, wanted, _TOGETHER):
        progress("tracing blocks", start, wanted)
        numbers = np.arange(start, min(start + _TOGETHER, wanted), dtype=np.int64)
        seen = slice_launch(kernel, launch, inputs, numbers, guards=False, work=WORK, whole=True)
        yield from _traces(seen, exits)


def array_places(kernel: Kernel, inputs: Inputs) -> tuple[tuple[str, int, int], ...]:
    """(name, first address, bytes) of the arrays that the addresses of :func:`block_traces` lie
    in."""
    memory = DeviceMemory()
    device = memory.prepare(kernel, fill(memory, kernel, inputs, borrow=True))
    return tuple(
        (device.arrays[region.array], region.address, region.data.size)
        for region in device.regions
        if region.array >= 0 and region.data.size
    )


def _traces(seen: SlicedTrace, exits: frozenset[int]) -> Iterator[BlockTrace]:
    touched = _touched(seen)
    places = [tuple(block.places) for block in seen.program.blocks]
    for row, number in enumerate(seen.blocks.tolist()):
        warps = np.flatnonzero(seen.block_of_warp == row).tolist()
        yield BlockTrace(number, tuple(_warp(seen, w, touched, places, exits) for w in warps))


def _warp(
    seen: SlicedTrace,
    warp: int,
    touched: Mapping[tuple[int, int], dict[int, Touched]],
    places: list[tuple[int, ...]],
    exits: frozenset[int],
) -> tuple[Executed, ...]:
    assert seen.step_lanes is not None
    of_sites = {site.ptx_line for site in seen.sites}
    steps = np.flatnonzero(seen.step_warps[:, warp]).tolist()
    # A block without instructions is one of the translation's own, such as that of ended threads.
    steps = [step for step in steps if places[int(seen.step_block[step])]]
    masks = [int(seen.step_lanes[step, warp]) for step in steps]
    later = [0, *itertools.accumulate(reversed(masks[1:]), operator.or_)][::-1] if masks else []
    found = []
    for step, lanes, going_on in zip(steps, masks, later, strict=True):
        own = touched.get((step, warp), {})
        for place in places[int(seen.step_block[step])]:
            access = own.get(place)
            if place in exits:
                found.append(Executed(place, lanes & ~going_on, None))
            elif access is not None:
                found.append(Executed(place, access.lanes, access))
            else:
                # A memory instruction whose predicate holds in no lane accesses nothing.
                found.append(Executed(place, 0 if place in of_sites else lanes, None))
    return tuple(found)


def _touched(seen: SlicedTrace) -> dict[tuple[int, int], dict[int, Touched]]:
    """By step and warp, what each memory instruction accesses, by its offset."""
    found: dict[tuple[int, int], dict[int, Touched]] = {}
    arrays = seen.device.array_of_window
    for access in seen.accesses:
        site = seen.sites[access.site]
        inside = site.space in _IN_BLOCK
        packed = np.packbits(access.mask, axis=1, bitorder="little").view("<u4").reshape(-1)
        for n, warp in enumerate(access.warps.tolist()):
            window = int(access.window[n])
            start = 0 if inside else address(window)
            array = -1 if inside else int(arrays[window])
            own = found.setdefault((access.step, warp), {})
            own.setdefault(
                site.ptx_line,
                Touched(
                    site.space,
                    site.kind,
                    site.lane_bytes,
                    seen.device.arrays[array] if array >= 0 else None,
                    int(packed[n]),
                    start + access.offset[n][access.mask[n]],
                    int(seen.step_phase[access.step, seen.block_of_warp[warp]]),
                ),
            )
    return found
