"""Which waves of a launch are traced, and which of them count."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory import occupancy
from placewise.memory.simulate.schedule.windows import counted_waves, filling_waves, sampled_waves
from placewise.memory.simulate.system import LaunchFacts, MemorySystem


@given(st.integers(1, 400), st.integers(0, 100), st.integers(1, 6))
def test_what_counts_follows_waves_that_filled_the_caches(waves, affordable, filling):
    chosen = sampled_waves(waves, affordable, filling)
    counted = counted_waves(chosen, filling)
    assert chosen[0]
    assert counted[0]
    assert not (counted & ~chosen).any()
    if chosen.all():
        assert counted.all()
        return
    assert not chosen[-1], "the last wave is rarely full"
    assert counted[1:].sum() >= 2
    for wave in np.flatnonzero(counted)[1:]:
        assert chosen[wave - filling : wave].all()
    assert chosen.sum() <= max(affordable, 2 * (filling + 1) + 1)


def test_a_row_of_the_grid_fills_the_caches():
    assert filling_waves((100, 50, 1), 200, 40) == 1
    assert filling_waves((2048, 50, 1), 1088, 40) == 2
    assert filling_waves((2048, 1, 1), 100, 40) == 1, "a row alone has no neighbours"
    assert filling_waves((2048, 50, 1), 100, 9) == 3, "no more than is affordable"
    assert filling_waves((2048, 50, 1), 1088, 3, least=2) == 2
    assert filling_waves((2048, 50, 1), 100, 9, least=2) == 3


WIDE, HIGH = 1024, 512
ROWS = 5
"""Of a stencil: each block of 2 x 16 threads reads its pixels and those of up to 8 rows below."""


def stencil_reads(affordable):
    """Sectors read from DRAM when so many waves may be traced."""
    machine = load_machine("T1000")
    launch = Launch((WIDE // 2, HIGH // 16, 1), (2, 16, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    wave = machine.processor.sms * resident.blocks
    assert 2 * wave < launch.grid[0] < 4 * wave
    facts = LaunchFacts(launch, resident, 0, 0, (("a", WIDE * (HIGH + 8) * 4),))
    system = MemorySystem(facts, machine, records=affordable * wave * ROWS)
    sites = tuple(Site("load", "global", "load", 4, n, n) for n in range(ROWS))
    system.begin(sites, ("a",))
    lane = np.arange(32)
    for first in range(0, launch.blocks, wave):
        blocks = np.arange(first, min(first + wave, launch.blocks))
        blocks = np.repeat(blocks[system.trace_blocks[blocks]], ROWS)
        none = np.zeros(len(blocks), np.int32)
        if not len(none):
            continue
        site = np.tile(np.arange(ROWS, dtype=np.int32), len(blocks) // ROWS)
        y = (blocks // launch.grid[0] * 16 + 2 * site)[:, None] + lane // 2
        x = (blocks % launch.grid[0] * 2)[:, None] + lane % 2
        system.chunk(
            TraceChunk(
                site=site, block=blocks.astype(np.int32), warp=none, phase=none, array=none,
                mask=np.full(len(blocks), 0xFFFFFFFF, np.uint32), stride=none,
                base=none.astype(np.int64), upper=none.astype(np.int64),
                row=32 * np.arange(len(blocks), dtype=np.int32),
                offsets=(4 * (y * WIDE + x)).astype(np.int32).ravel(),
            )
        )  # fmt: skip
    traffic = system.traffic(np.full(ROWS, launch.blocks, np.int64))
    return sum(site.dram_sectors.value for site in traffic.sites), traffic.traced


def test_rows_of_blocks_longer_than_a_wave():
    """L2 holds several rows of blocks, so that each sector is read once. The first block of a
    stretch that counts finds the sectors of the row above only where that was traced."""
    every, whole = stencil_reads(10_000)
    assert (every, whole) == (WIDE * (HIGH + 8) * 4 // 32, 1.0)
    some, part = stencil_reads(25)
    assert part < 0.5
    assert abs(some / every - 1) < 0.1
