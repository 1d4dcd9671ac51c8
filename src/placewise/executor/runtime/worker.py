"""One thread's context for compiled code: memory of its own, counters, and trace buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory import address_space
from placewise.executor.device_memory.address_space import Fault, Slot
from placewise.executor.device_memory.block_memory import BlockMemory
from placewise.executor.device_memory.device import Device
from placewise.executor.runtime.host_calls import Assertion, HostCalls
from placewise.executor.runtime.trace_buffers import HandOver
from placewise.executor.translate import Translation
from placewise.kernel.launch import Launch

_FLUSH = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_HOST = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class FaultReport:
    """A fault as compiled code noted it."""

    fault: Fault
    site: int
    block: int
    warp: int
    lane: int
    address: int
    assertion: Assertion | None = None


class Worker:
    """Runs lists of blocks. ``hand_over`` makes the object that takes its trace from its context.

    A worker that hands nothing over can be used again, see :meth:`again`.
    """

    # Fills every slot of the context that compiled code reads, in the order of the slots.
    def __init__(
        self,
        translation: Translation,
        device: Device,
        launch: Launch,
        tid: NDArray[np.int32],
        traced_blocks: NDArray[np.uint8],
        limit: int,
        hand_over: Callable[[NDArray[np.int64]], HandOver] | None,
    ) -> None:
        program, compiled = translation.program, translation.compiled
        self.translation = translation
        self.ctx = np.zeros(address_space.SLOTS, np.int64)
        counters = 2 * len(program.blocks) + len(program.accesses) + len(program.guards)
        counters += len(program.meetings())
        self.counters = np.zeros(counters, np.int64)
        self.touched = np.zeros((address_space.WINDOWS, 2), np.uint8)
        self._tid = tid
        self._traced_blocks = traced_blocks
        shared = program.shared_bytes + launch.shared_bytes
        warps = launch.warps_per_block
        memory = BlockMemory(
            blocks=launch.blocks if translation.gives_way else 1,
            warps=warps,
            shared_bytes=shared,
            local_bytes=program.local_bytes,
            frame_bytes=compiled.frame_bytes,
        )
        self._memory = memory
        shared_start = int(memory.rows[0, 0])
        self._device = device
        self._windows = device.windows.copy()
        self._parameters = device.parameters.copy()
        spaces = address_space.WINDOW_OF_SPACE
        self._windows[spaces["shared"], 0] += program.shared_base
        self._windows[spaces["shared"], 1:5] = (shared, shared_start, -1, shared)
        parameters = self._parameters
        self._windows[spaces["param"], 1:3] = (parameters.size, parameters.ctypes.data)
        self._tables = np.frombuffer(program.tables or bytes(1), np.uint8)
        row = (len(program.tables), self._tables.ctypes.data, -1, 0)
        self._windows[address_space.TABLES_WINDOW, 1:5] = row
        self._grid = np.zeros(address_space.GRID_BYTES, np.uint8)
        row = (address_space.GRID_BYTES, self._grid.ctypes.data, -1, address_space.GRID_BYTES)
        self._windows[address_space.GRID_WINDOW, 1:5] = row
        self._flush = _FLUSH(self._on_flush)
        self.set(Slot.WINDOWS, self._windows.ctypes.data)
        self.set(Slot.PARAMS, parameters.ctypes.data)
        for n, slot in enumerate(address_space.RESIDENT_POINTERS):
            self.set(slot, int(memory.rows[0, n]))
        self.set(Slot.RESIDENTS, memory.rows.ctypes.data)
        self.set(Slot.RESIDENT_COUNT, memory.places)
        # All waiting warps together get about as many rounds of their loops as one warp may execute
        # instructions, and some more for each warp.
        rounds = limit // address_space.PATIENCE + 4096 * warps * memory.places
        self.set(Slot.GIVE_WAY_LIMIT, rounds)
        self.set(Slot.SHARED_BYTES, shared)
        self.set(Slot.DYNAMIC_SHARED, launch.shared_bytes)
        self.set(Slot.LOCAL_BYTES, program.local_bytes)
        self.set(Slot.COUNTERS, self.counters.ctypes.data)
        self.set(Slot.COUNTED_WORDS, 2 * len(program.blocks))
        self.set(Slot.TOUCHED, self.touched.ctypes.data)
        self.set(Slot.THREADS, launch.threads_per_block)
        self.set(Slot.WARPS, warps)
        self.set(Slot.LIMIT, limit)
        self.set(Slot.TRACED_BLOCKS, traced_blocks.ctypes.data)
        self.set(Slot.FLUSH, ctypes.cast(self._flush, ctypes.c_void_p).value or 0)
        for axis in range(3):
            self.set(Slot.NTID + axis, launch.block[axis])
            self.set(Slot.NCTAID + axis, launch.grid[axis])
            self.set(Slot.TID + axis, tid[axis].ctypes.data)
        if translation.samples:
            self._set_samplers()
        self.host_calls = HostCalls(self.ctx, self._windows)
        if translation.calls_host:
            self._host = _HOST(self.host_calls.call)
            self.set(Slot.HOST, ctypes.cast(self._host, ctypes.c_void_p).value or 0)
        self.hand_over = hand_over(self.ctx) if hand_over is not None else None
        self._fresh = self.ctx.copy()

    def again(self, device: Device, launch: Launch) -> None:
        """Make ready for another launch with blocks of the same shape and size."""
        self.ctx[:] = self._fresh
        self.ctx[Slot.NCTAID : Slot.NCTAID + 3] = launch.grid
        self.counters[:] = 0
        self.touched[:] = 0
        self._grid[:] = 0
        self.host_calls.clear()
        self._parameters[:] = device.parameters
        if self._device.version != device.version:
            shared = slice(address_space.FIRST_WINDOW, address_space.LAST_WINDOW + 1)
            self._windows[shared] = device.windows[shared]
        self._device = device

    def _set_samplers(self) -> None:
        # Imported here: kernels without textures need not wait for the compiled samplers.
        from placewise.executor.texture.sampling import read_texture
        from placewise.executor.texture.surfaces import access_surface

        self.set(Slot.READ_TEXTURE, read_texture.address)
        self.set(Slot.ACCESS_SURFACE, access_surface.address)

    def set(self, slot: int, value: int) -> None:
        self.ctx[int(slot)] = value

    def run(self, blocks: NDArray[np.int64]) -> int:
        """Run the blocks in this order; returns how many were finished."""
        done = self.translation.run(self.ctx.ctypes.data, blocks.ctypes.data, blocks.size)
        return int(done)

    def stop(self) -> None:
        """Have the run end soon; may be called from any thread."""
        self.ctx[Slot.STOP] = 1

    @property
    def stopped(self) -> bool:
        """Whether the run was ended early, from outside or by a fault."""
        return bool(self.ctx[Slot.STOP])

    @property
    def fault(self) -> FaultReport | None:
        if self.ctx[Slot.FAULT] == 0:
            return None
        values = [int(self.ctx[Slot.FAULT + n]) for n in range(6)]
        site, block, warp, lane, address = values[1:]
        assertion = self.host_calls.assertion
        return FaultReport(Fault(values[0]), site, block, warp, lane, address, assertion)

    def finish_trace(self) -> None:
        """Hand over what the present buffer holds."""
        if self.hand_over is not None:
            self.hand_over.finish()

    def _on_flush(self, _self: int) -> None:
        if self.hand_over is not None:
            self.hand_over.flush()


def thread_coordinates(launch: Launch) -> NDArray[np.int32]:
    """(3, warps * 32) x, y and z of the threads of a block, in warp order."""
    number = np.arange(launch.warps_per_block * 32, dtype=np.int64)
    x, y, _ = launch.block
    return np.ascontiguousarray(
        np.stack([number % x, number // x % y, number // (x * y)]).astype(np.int32)
    )
