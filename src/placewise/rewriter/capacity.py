"""Whether a draft's buffers fit the machine."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.machine import Machine
from placewise.rewriter.draft import Draft
from placewise.space import MemorySpace


def check_host_buffers(draft: Draft, space: MemorySpace, machine: Machine) -> None:
    """Raise UnsupportedError where the buffers at file scope exceed the space's capacity."""
    capacity = machine.levels(space.name)[-1].size_bytes
    needed = draft.view.constant_bytes + sum(data.nbytes for _, data in draft.constants)
    if capacity is not None and needed > capacity:
        raise UnsupportedError(
            f"the arrays in {space.name} memory take {needed} bytes, {machine.name} has {capacity}",
            where=draft.case.filename,
        )


def check_kernel_buffers(draft: Draft, machine: Machine) -> None:
    """Raise UnsupportedError where a block's tiles exceed its shared memory."""
    capacity = machine.limits.shared_bytes_per_block
    needed = draft.shared_bytes + draft.static_bytes
    if needed > capacity:
        raise UnsupportedError(
            f"a block's tiles take {needed} bytes of shared memory, {machine.name} "
            f"gives a block {capacity}",
            where=draft.case.filename,
        )
