"""Whether a draft's buffers fit the machine."""

from __future__ import annotations

from placewise.choose.capacity import rows_obstacle
from placewise.errors import UnsupportedError
from placewise.kernel.chunks import STATIC_SHARED_BYTES
from placewise.kernel.source import ArrayUse
from placewise.machine import Machine
from placewise.machine.machine import standard_memory
from placewise.rewriter.draft import Draft
from placewise.space import MemorySpace, Way


def check_host_buffers(
    draft: Draft, space: MemorySpace, machine: Machine, arrays: list[ArrayUse]
) -> None:
    """Raise UnsupportedError where the buffers of ``arrays``, which are all the arrays placed in
    ``space``, exceed its capacity."""
    capacity = machine.levels(space.name)[-1].size_bytes
    held = {use.name for use in arrays}
    needed = sum(a.data.nbytes for a in draft.case.inputs.arrays if a.name in held)
    if space.levels[-1] == standard_memory(machine, Way.HOST_BUFFER):
        needed += draft.view.constant_bytes
    if capacity is not None and needed > capacity:
        raise UnsupportedError(
            f"the arrays in {space.name} memory take {needed} bytes, {machine.name} has {capacity}",
            where=draft.case.filename,
        )


def check_kernel_buffers(draft: Draft, machine: Machine, spaces: list[MemorySpace]) -> None:
    """Raise UnsupportedError where a block's tiles in ``spaces`` exceed the most that a block may
    have of one of their memories."""
    standard = standard_memory(machine, Way.KERNEL_BUFFER)
    others = {s.levels[-1] for s in spaces if s.levels[-1] != standard}
    capacity = machine.limits.shared_bytes_per_block
    capacity += sum(machine.memory(m).size_bytes or capacity for m in others)
    needed = draft.shared_bytes + draft.static_bytes
    if needed > capacity:
        raise UnsupportedError(
            f"a block's tiles take {needed} bytes of shared memory, {machine.name} "
            f"gives a block {capacity}",
            where=draft.case.filename,
        )


def check_rows(draft: Draft, space: MemorySpace, machine: Machine, use: ArrayUse) -> None:
    """Raise UnsupportedError where the array's rows cannot be those of a texture of two
    dimensions."""
    obstacle = rows_obstacle(use, machine)
    if obstacle is not None:
        raise UnsupportedError(
            f"array '{use.name}' cannot be placed in {space.name}: {obstacle}",
            where=draft.case.filename,
        )


def check_static(draft: Draft, name: str) -> None:
    """Raise UnsupportedError where the kernel's static shared memory, with its array ``name``
    rewritten, is more than a kernel may have."""
    if draft.static_bytes > STATIC_SHARED_BYTES:
        raise UnsupportedError(
            f"with array '{name}' rewritten the kernel takes {draft.static_bytes} bytes of static "
            f"shared memory, it may have {STATIC_SHARED_BYTES}",
            where=draft.case.filename,
        )
