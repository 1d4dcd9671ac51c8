"""Spilled registers in an SM's cache, beside a stream of other data."""

import numpy as np
import pytest

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

MACHINE = load_machine("RTX2080Ti")
WARPS, WORDS, WAVES = 8, 32, 6
BLOCKS = WAVES * MACHINE.processor.sms


def hits_of_spills(opcode):
    """Share of the reads of spilled registers that hit the SM's cache: each block stores 32 KB of
    them, reads 32 KB of an array that no other block reads, and loads the registers again."""
    sites = (
        Site("STL", "local", "store", 4, 0, None),
        Site("LDG.E", "global", "load", 4, 16, None),
        Site(opcode, "local", "load", 4, 32, None),
    )
    of_block, n = 3 * WORDS * WARPS, 3 * WORDS * WARPS * BLOCKS
    block = np.repeat(np.arange(BLOCKS, dtype=np.int32), of_block)
    warp = np.tile(np.repeat(np.arange(WARPS, dtype=np.int32), 3 * WORDS), BLOCKS)
    site = np.tile(np.repeat(np.arange(3, dtype=np.int32), WORDS), WARPS * BLOCKS)
    word = np.tile(np.arange(WORDS), 3 * WARPS * BLOCKS)
    own = ((block * WARPS + warp).astype(np.int64) * WORDS + word) * 128
    base = np.where(site == 1, own, 4 * word)
    zeros = np.zeros(n, np.int32)
    chunk = TraceChunk(
        site=site,
        block=block,
        warp=warp,
        phase=zeros,
        mask=np.full(n, 0xFFFFFFFF, np.uint32),
        array=np.where(site == 1, 0, -1).astype(np.int32),
        base=base,
        upper=np.where(site == 1, base + 124, base),
        stride=np.where(site == 1, 4, 0).astype(np.int32),
        row=zeros - 1,
        offsets=np.zeros(0, np.int64),
    )
    size = WORDS * WARPS * BLOCKS * 128
    facts = LaunchFacts(
        Launch((BLOCKS, 1, 1), (WARPS * 32, 1, 1)),
        Occupancy(1, WARPS, 32, ()),
        0,
        4 * WORDS,
        (("x", size),),
    )
    system = MemorySystem(facts, MACHINE)
    system.begin(sites, ("x",))
    system.chunk(chunk)
    load = system.traffic().sites[2]
    return load.l1_hits.value / load.sectors


@pytest.mark.parametrize("opcode", ["LDL", "LDL.LU"])
def test_the_next_block_finds_the_lines_that_the_last_load_left(opcode):
    assert 0.2 < hits_of_spills(opcode) < 0.8
