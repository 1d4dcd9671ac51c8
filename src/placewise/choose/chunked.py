"""Placements that keep arrays in shared tiles, one chunk of a loop's iterations at a time, for
loops whose data do not fit one tile."""

from __future__ import annotations

from collections.abc import Mapping

from placewise.choose.legality import Legality
from placewise.executor.result import Execution
from placewise.kernel.chunks import STATIC_SHARED_BYTES, ChunkPlan
from placewise.kernel.source import SourceView
from placewise.machine.machine import Machine
from placewise.space import Placement


def chunked_placements(
    view: SourceView, machine: Machine, execution: Execution, legality: Legality
) -> tuple[Placement, ...]:
    """Placements in tiles by chunks of a loop: one for each chunk plan of the source and each chunk
    length that fits. Arrays that are not in the plan stay. Empty where the machine has no shared
    memory."""
    shared = next((s.name for s in machine.spaces if s.way.facts.per_block), None)
    if shared is None:
        return ()
    sizes = {a.name: a.parameter.element_bytes for a in view.arrays}
    found = []
    for plan in view.chunk_plans:
        if not _allowed(plan, execution, legality):
            continue
        fitting = [n for n in plan.iterations if _fits(plan, n, sizes, machine, legality)]
        for iterations in fitting:
            spaces = tuple((a, shared if a in plan.arrays else s) for a, s in legality.present)
            found.append(Placement(spaces, iterations))
    return tuple(found)


def _allowed(plan: ChunkPlan, execution: Execution, legality: Legality) -> bool:
    """Whether all arrays of the plan may move and the run wrote to none of those that the plan
    reads."""
    return all(
        array in legality.arrays and array not in legality.tied
        and (array in plan.written or array not in execution.written)
        for array in plan.arrays
    )  # fmt: skip


def _fits(
    plan: ChunkPlan, iterations: int, sizes: Mapping[str, int], machine: Machine, legality: Legality
) -> bool:
    tiles = plan.shared_bytes(iterations, sizes)
    most = machine.limits.shared_bytes_per_block
    static = tiles + legality.shared_in_use - legality.launch.shared_bytes
    return static <= STATIC_SHARED_BYTES and tiles + legality.shared_in_use <= most
