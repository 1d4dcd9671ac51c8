"""Offsets of arrays in the buffers that they share: constant memory, and a block's shared
memory."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.machine.machine import standard_memory
from placewise.rewriter.agnostic.fine_grained import FineGrained
from placewise.rewriter.ways.host_buffer import ALIGNMENT
from placewise.space import Placement, Way

CONSTANT_BYTES = 64 * 1024
"""Constant memory of a module (CUDA C++ Programming Guide, Technical Specifications)."""
_WORDS = 8
"""Bytes of constant memory that hold one array's memory and offset."""


@dataclass(frozen=True)
class Buffers:
    """The buffers of the fine-grained kernel under one setting."""

    offsets: dict[str, int]
    """First byte in its buffer, by array; arrays in no buffer are left out."""
    constant_bytes: int
    shared_bytes: int
    """Dynamic shared memory of the launch, including what the kernel itself uses."""


def constant_room(machine: Machine, view: SourceView, arrays: int) -> int:
    """Bytes of constant memory that are left for data, after what the source declares and the words
    that hold memory and offset of ``arrays`` arrays."""
    home = standard_memory(machine, Way.HOST_BUFFER)
    size = machine.memory(home).size_bytes if home else None
    taken = view.constant_bytes + _aligned(_WORDS * arrays)
    return max(0, min(size or CONSTANT_BYTES, CONSTANT_BYTES) - taken)


def buffers_of(kernel: FineGrained, setting: Placement, own_shared_bytes: int) -> Buffers:
    """Each array's place under ``setting``, in the order of the arrays, at multiples of 16 bytes.
    Tiles begin after the ``own_shared_bytes`` that the kernel itself uses."""
    offsets: dict[str, int] = {}
    spaces = dict(setting.spaces)
    constant, shared = 0, _aligned(own_shared_bytes)
    tiled = False
    for one in kernel.arrays:
        name = one.use.name
        host, block = one.space(Way.HOST_BUFFER), one.space(Way.KERNEL_BUFFER)
        if host is not None and spaces.get(name) == host.name:
            offsets[name] = constant
            constant = _aligned(constant + kernel.draft.data_of(one.use).nbytes)
        elif block is not None and spaces.get(name) == block.name:
            offsets[name] = shared
            shared += one.tile_bytes
            tiled = True
    return Buffers(offsets, constant, shared if tiled else own_shared_bytes)


def _aligned(number: int) -> int:
    return -(-number // ALIGNMENT) * ALIGNMENT
