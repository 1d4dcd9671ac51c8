"""How much neighbouring blocks of a launch differ in their work.

SMs whose blocks take the same time advance together, so each finds lines in a shared cache that
others have fetched. The last blocks of a grid, which often have less to do, run last and do not
change this. But blocks at the end of each row of the grid run at the same time as other blocks.
"""

from __future__ import annotations

import numpy as np

from placewise.errors import PlacewiseError
from placewise.executor import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch

_LIMIT = 50_000_000
"""If a block executes more instructions than this, it is assumed to wait for other blocks, and so
to differ."""


def block_divergence(kernel: Kernel, launch: Launch, inputs: Inputs) -> float:
    """Relative difference between a block in the middle of the grid and its neighbours, in executed
    instructions or in words written to global memory, whichever is larger: 0 if all do the same, 1
    if one does nothing or waits for other blocks.

    Written words are compared because a block at the edge often computes as much as any other, but
    does not write all results. Each block is run alone, on the initial inputs."""
    memory = DeviceMemory()
    arguments = fill(memory, kernel, inputs)
    seen = []
    for block in neighbours(launch.grid):
        try:
            run = memory.launch(
                kernel,
                launch,
                arguments,
                run_blocks=np.array([block]),
                instruction_limit=_LIMIT,
                threads=1,
            )
        except PlacewiseError:
            return 1.0
        stores = {
            s.ptx_line for s in run.sites if s.kind == "store" and s.space in {"global", "generic"}
        }
        written = sum(c.active for c in run.instruction_counts() if c.place in stores)
        seen.append((written, run.thread_instructions))
    shares = (min(of) / max(of) for of in zip(*seen, strict=True) if max(of))
    return 1.0 - min(shares, default=1.0)


def neighbours(grid: tuple[int, int, int]) -> tuple[int, ...]:
    """Linear numbers of the blocks to compare: the first, middle and last block of the middle row
    of the grid; if the grid is a single row, three blocks in its middle."""
    across, rows = grid[0], grid[1] * grid[2]
    if rows == 1:
        middle = across // 2
        return tuple(sorted({max(0, middle - 1), middle, min(across - 1, middle + 1)}))
    start = rows // 2 * across
    return tuple(sorted({start, start + across // 2, start + across - 1}))
