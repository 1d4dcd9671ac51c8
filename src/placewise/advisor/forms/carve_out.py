"""The carve-out of shared memory that a form's occupancy needs, asked for in its host code.

From compute capability 7.0 on, shared memory and L1 are parts of one memory. The driver divides it
for each launch and must make room for one block; whether it gives more is its own choice, which a
kernel's preference influences (CUDA C++ Programming Guide, "Shared Memory" of 7.x: the preference
is a percentage of the most that shared memory can have; the next larger division is taken).
"""

from __future__ import annotations

from dataclasses import replace

from placewise.choose.legality import in_words
from placewise.kernel.kernel import Kernel
from placewise.machine import Machine
from placewise.memory.occupancy import occupancy
from placewise.memory.simulate.caches.hierarchy import carve_out
from placewise.rewriter import Rewritten


def with_carve_out(rewritten: Rewritten, kernel: Kernel, machine: Machine) -> Rewritten:
    """The written form with the preference and the reason for it in its host code, where the blocks
    resident on an SM together need a larger division than one block does. ``kernel`` is the
    compiled form."""
    launch = rewritten.case.launch
    shared = launch.shared_bytes + kernel.static_shared_bytes
    unified = next((m for m in machine.memories if m.detail.carve_outs_bytes), None)
    if unified is None or not shared:
        return rewritten
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=shared)
    needed = carve_out(unified, machine, resident, shared)
    for_one = carve_out(unified, machine, replace(resident, blocks=1), shared)
    if needed <= for_one:
        return rewritten
    most = max(unified.detail.carve_outs_bytes)
    # Rounded down: a percentage between two divisions means the larger one.
    percent = 100 * needed // most
    reason = (
        f"{resident.blocks} blocks on an SM take {in_words(resident.blocks * shared)} of shared "
        f"memory, so that the host asks for a carve-out of {in_words(needed)} ({percent}% of "
        f"{in_words(most)}); one block alone needs {in_words(for_one)}"
    )
    lines = rewritten.host.splitlines()
    call = next((n for n, line in enumerate(lines) if "<<<" in line), len(lines))
    lines[call:call] = [
        f"// {reason}",
        f"cudaFuncSetAttribute({rewritten.case.kernel}, "
        f"cudaFuncAttributePreferredSharedMemoryCarveout, {percent});",
    ]
    return replace(
        rewritten,
        host="\n".join(lines) + "\n",
        edits=(*rewritten.edits, reason),
        carve_out=reason,
    )
