"""What the number of threads in a block wastes, in words."""

from __future__ import annotations

from placewise.kernel.launch import Launch
from placewise.machine import Machine
from placewise.memory.occupancy import WARP_SIZE, Occupancy

NAMED = 1.25
"""Idle lanes are named where there are at least this many lanes for each thread."""


def lanes_per_thread(launch: Launch) -> float:
    """Lanes of a block's warps over its threads: 1 for blocks of a multiple of 32 threads, 8 for
    blocks of 4."""
    threads = launch.threads_per_block
    return -(-threads // WARP_SIZE) * WARP_SIZE / threads


def warps_missing(launch: Launch, machine: Machine, occupancy: Occupancy) -> float:
    """Warps that an SM could hold over those that it holds, where only the number of blocks on an
    SM limits them and the launch has blocks left; else 1."""
    waiting = launch.blocks > machine.processor.sms * occupancy.blocks
    if occupancy.binding != ("blocks",) or not waiting:
        return 1.0
    return occupancy.max_warps / occupancy.warps


def grid_in_words(launch: Launch, machine: Machine) -> str:
    """A sentence that the launch has fewer blocks than the machine has SMs; empty where it has
    not."""
    idle = machine.processor.sms - launch.blocks
    if idle <= 0:
        return ""
    blocks = "One block leaves" if launch.blocks == 1 else f"{launch.blocks} blocks leave"
    return (
        f"{blocks} {idle} of the {machine.processor.sms} SMs without work: the grid is too small "
        "to fill the GPU."
    )


def block_size_in_words(launch: Launch, machine: Machine, occupancy: Occupancy) -> str:
    """What to change about the size of blocks, as a sentence; empty where it wastes little.

    A launch of one block is taken to need no more threads.
    """
    threads = launch.threads_per_block
    said = []
    if launch.blocks > 1 and lanes_per_thread(launch) >= NAMED:
        lanes = round(threads * lanes_per_thread(launch))
        said.append(f"{lanes - threads} of the {lanes} lanes of their warps idle")
    if warps_missing(launch, machine, occupancy) >= NAMED:
        said.append(
            f"{occupancy.max_warps - occupancy.warps} of an SM's {occupancy.max_warps} warps "
            f"empty, since an SM holds {occupancy.blocks} blocks"
        )
    if not said:
        return ""
    return (
        f"Blocks of {threads} threads leave {' and '.join(said)}: launch larger blocks, of a "
        f"multiple of {WARP_SIZE} threads."
    )
