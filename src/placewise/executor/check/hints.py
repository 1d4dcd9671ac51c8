"""Hints: what to do about each kind of finding."""

from __future__ import annotations

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.finding import Kind

_HINTS = {
    Kind.out_of_bounds: "guard the access with the array's size, or launch fewer threads",
    Kind.misaligned: "vector accesses need addresses that are multiples of their size: align the "
    "offset, or access element by element",
    Kind.read_only: "__constant__ memory, textures and parameters cannot be written by a kernel",
    Kind.null: "check the pointer argument, or the table that the pointer was read from",
    Kind.uninitialised: "initialise the memory, or do not read beyond what was written",
    Kind.copy_pending: "wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then "
    "__syncthreads() before other threads read it",
    Kind.barrier: "move __syncthreads() out of code that only some threads execute, and let "
    "threads that have nothing to do stay until the last barrier",
    Kind.barrier_mismatch: "let all warps of the block reach the same __syncthreads()",
    Kind.mask: "the mask must name exactly the lanes that execute the instruction: take it from "
    "__ballot_sync before the branch",
    Kind.shuffle: "let all lanes of the mask execute the shuffle, or do not read beyond them",
    Kind.endless: "raise the limit if the kernel is right (--limit, or instruction_limit=)",
    Kind.trap: "look at the condition of the assertion",
}
_LANES = "put __syncwarp() between the two accesses"
_BARRIER = "put __syncthreads() between the two accesses"
_BLOCKS = (
    "use atomics, give each block a part of its own, or order the blocks by a flag: "
    "__threadfence() before it is set, an atomic or volatile access of it on both sides"
)
_SAME = (
    "harmless as long as the values are the same; to make that plain, let one thread write or use "
    "an atomic operation"
)


def hint_for(kind: Kind, flags: int = 0, *, shared: bool = False) -> str:
    """Hint for a finding; ``flags`` are the flags of a race."""
    if kind not in (Kind.shared_race, Kind.global_race):
        return _HINTS.get(kind, "")
    if flags & at.SAME_VALUE:
        return _SAME
    apart = flags & 7
    if apart == at.APART_LANES:
        return _LANES
    if apart == at.APART_WARPS:
        return _BARRIER if shared else f"{_BARRIER}, or use atomics"
    return _BLOCKS
