"""How much the blocks of a launch differ from one to the next.

SMs whose blocks take the same time stay in step, and so find one another's lines in a shared cache.
Blocks at the far end of a grid, which often have less to do, come last and change nothing; those at
the end of every row of the grid run among all others.
"""

from __future__ import annotations

import numpy as np

from placewise.errors import PlacewiseError
from placewise.executor import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch

_LIMIT = 50_000_000
"""Instructions of a block after which it is taken to wait for others, and so to differ."""


def block_divergence(kernel: Kernel, launch: Launch, inputs: Inputs) -> float:
    """Relative difference between a mid-grid block and its neighbours, in instructions executed or
    in words written to global memory, whichever is larger: 0 where all do the same, 1 where one
    does nothing or waits for other blocks.

    Words written count because a block at the edge often computes as much as any other and drops
    the result. Each block is run alone, on the initial inputs."""
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
    """Linear numbers of blocks to compare: first, middle and last of the row of the grid in its
    middle; three in the middle of a grid that is a single row."""
    across, rows = grid[0], grid[1] * grid[2]
    if rows == 1:
        middle = across // 2
        return tuple(sorted({max(0, middle - 1), middle, min(across - 1, middle + 1)}))
    start = rows // 2 * across
    return tuple(sorted({start, start + across // 2, start + across - 1}))
