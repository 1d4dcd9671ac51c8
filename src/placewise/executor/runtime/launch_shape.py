"""What grid and block a kernel can be launched with, and its blocks in pieces.

The blocks of a whole grid are a range, not an array: a grid may have 2,147,483,647 of them, and
more along y and z.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.launch import Launch

Blocks = range | NDArray[np.int64]
"""Linear numbers of blocks, ascending."""

_GRID = (2**31 - 1, 65535, 65535)
_BLOCK = (1024, 1024, 64)
"""Largest block along x, y and z; with the largest grid above, the limits of all compute
capabilities (CUDA C++ Programming Guide, "Technical Specifications")."""
_SHARED_BYTES = 227 * 1024
"""Most shared memory of a block on any GPU, that of compute capability 9.0 and 10.0 (CUDA C++
Programming Guide, "Technical Specifications")."""

_LOCAL_BYTES = 512 * 1024
"""Most local memory of a thread, for all compute capabilities (CUDA C++ Programming Guide,
"Technical Specifications")."""


def check_shape(
    launch: Launch, declared: int | None, static_shared_bytes: int, local_bytes: int
) -> None:
    """Raises CaseError where no GPU can launch that shape.

    ``declared`` are the threads of the kernel's ``__launch_bounds__``, ``local_bytes`` those of
    local memory per thread.
    """
    limit = min(1024, declared or 1024)
    if launch.threads_per_block > limit:
        raise CaseError(
            f"a block of {launch.threads_per_block} threads; at most {limit} are allowed"
            + (" by the kernel's __launch_bounds__" if declared and limit == declared else ""),
            where="block",
        )
    for what, given, largest in (("block", launch.block, _BLOCK), ("grid", launch.grid, _GRID)):
        for axis, extent, most in zip("xyz", given, largest, strict=True):
            if extent > most:
                raise CaseError(
                    f"{extent} along {axis} exceeds what any GPU can launch, {most}", where=what
                )
    shared = launch.shared_bytes + static_shared_bytes
    if shared > _SHARED_BYTES:
        raise CaseError(
            f"{shared} bytes of shared memory per block; no GPU has more than {_SHARED_BYTES}",
            where="shared_bytes",
        )
    if local_bytes > _LOCAL_BYTES:
        raise CaseError(
            f"{local_bytes} bytes of local memory per thread; GPUs have at most {_LOCAL_BYTES}",
            hint="keep large arrays in global memory",
        )


def block_list(launch: Launch, run_blocks: NDArray[np.integer[Any]] | None) -> Blocks:
    """Numbers of the blocks to run, ascending; raises CaseError for one that the grid lacks."""
    if run_blocks is None:
        return range(launch.blocks)
    blocks = np.unique(np.asarray(run_blocks, np.int64))
    if blocks.size and (blocks[0] < 0 or blocks[-1] >= launch.blocks):
        raise CaseError(
            f"blocks to run must be between 0 and {launch.blocks - 1}", where="run_blocks"
        )
    return blocks


def numbers_of(blocks: Blocks) -> NDArray[np.int64]:
    """``blocks`` as an array."""
    if isinstance(blocks, range):
        return np.arange(blocks.start, blocks.stop, dtype=np.int64)
    return np.ascontiguousarray(blocks)


def bunches(blocks: Blocks, count: int) -> list[Blocks]:
    """Consecutive pieces, small enough to report progress after each. Later ones are smaller, so
    that ``count`` threads end at about the same time."""
    size = len(blocks)
    if not size:
        return []
    pieces = min(size, max(16 * count, math.ceil(size / 4096)))
    done = np.cumsum(np.arange(pieces, 0, -1)) / (pieces * (pieces + 1) / 2)
    ends = np.unique(np.rint(done * size).astype(np.int64)).tolist()
    return [blocks[first:end] for first, end in pairwise([0, *ends]) if end > first]
