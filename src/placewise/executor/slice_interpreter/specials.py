"""Special values (thread and block indices, lane masks, clock) of many warps at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.ir.nodes import Program
from placewise.executor.slice_interpreter.operations import Lanes
from placewise.kernel.launch import Launch


def special_registers(
    program: Program, launch: Launch, thread: NDArray[np.int64], block: NDArray[np.int64]
) -> dict[str, Lanes]:
    """Special values by name, as arrays that broadcast to (warps, 32).

    ``thread`` (warps, 32) numbers the threads of a block, ``block`` (warps, 1) the blocks of the
    grid. Every block sees an SM of its own, and no time passes.
    """
    bx, by, _ = launch.block
    gx, gy, _ = launch.grid
    specials: dict[str, Lanes] = {
        "tid.x": thread % bx,
        "tid.y": thread // bx % by,
        "tid.z": thread // (bx * by),
        "ctaid.x": block % gx,
        "ctaid.y": block // gx % gy,
        "ctaid.z": block // (gx * gy),
        "laneid": np.arange(32)[None, :],
        "warpid": (thread // 32)[:, :1],
        "nwarpid": np.full((1, 1), launch.warps_per_block),
        "dynamic_shared": np.full((1, 1), program.shared_bytes),
        "total_shared": np.full((1, 1), program.shared_bytes + launch.shared_bytes),
        "smid": block,
        "nsmid": np.full((1, 1), 1),
        "gridid": np.full((1, 1), 0),
        "clock": np.full((1, 1), 0),
    }
    for n, axis in enumerate("xyz"):
        specials[f"ntid.{axis}"] = np.full((1, 1), launch.block[n])
        specials[f"nctaid.{axis}"] = np.full((1, 1), launch.grid[n])
    bit = np.uint32(1) << np.arange(32, dtype=np.uint32)[None, :]
    masks = {
        "eq": bit,
        "lt": bit - 1,
        "le": bit - 1 | bit,
        "gt": ~(bit - 1 | bit),
        "ge": ~(bit - 1),
    }
    specials |= {f"lanemask_{name}": mask for name, mask in masks.items()}
    return {
        name: lanes.astype(np.uint64 if name == "clock" else np.uint32)
        for name, lanes in specials.items()
    }
