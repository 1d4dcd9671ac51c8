"""What a launch did, from the counters of its workers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.device import Device
from placewise.executor.result import Execution
from placewise.executor.runtime.host_calls import Printed
from placewise.executor.runtime.worker import Worker
from placewise.executor.translate import Translation


def execution_of(
    workers: list[Worker],
    translation: Translation,
    device: Device,
    outputs: tuple[tuple[str, NDArray[np.generic]], ...],
    seconds: float,
    block_work: NDArray[np.int64],
) -> Execution:
    """The workers' counts and the windows they touched, added up, and what they did of each
    block."""
    program = translation.program
    counters = np.sum([w.counters for w in workers], axis=0)
    touched = np.any([w.touched for w in workers], axis=0)
    blocks = len(program.blocks)
    ends = np.cumsum([2 * blocks, len(program.accesses), len(program.guards)])
    by_block, own, guards, arrivals = np.split(counters, ends)
    by_block = by_block.reshape(blocks, 2)
    instructions = np.array([b.instructions for b in program.blocks], np.int64)
    return Execution(
        outputs=outputs,
        read=frozenset(r.name for r in device.regions if touched[r.window, 0]),
        written=frozenset(r.name for r in device.regions if touched[r.window, 1]),
        warp_instructions=int(by_block[:, 0] @ instructions + arrivals.sum()),
        thread_instructions=int(by_block[:, 1] @ instructions),
        sites=translation.sites,
        site_executions=_site_executions(translation, by_block, own),
        block_executions=by_block,
        block_work=block_work,
        block_places=translation.block_places,
        guard_executions=guards,
        guard_places=tuple(tuple(places) for places in program.guards),
        arrivals=arrivals,
        meeting_places=tuple(block.places[0] for block in program.meetings()),
        seconds=seconds,
        # Kernels that print run on one worker.
        printed=workers[0].host_calls.printed() if workers else Printed(),
        optimised=translation.compiled.optimised,
    )


def _site_executions(
    translation: Translation, by_block: NDArray[np.int64], own: NDArray[np.int64]
) -> NDArray[np.int64]:
    executions: NDArray[np.int64] = own.astype(np.int64)
    for block in translation.program.blocks:
        for node in block.nodes:
            site = getattr(node.attr, "site", None)
            if site is not None and site not in translation.compiled.counted_sites:
                executions[site] = by_block[block.number, 0]
    return executions
