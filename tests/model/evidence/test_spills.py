"""Local memory of all SMs in the L2 that they share."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.model.evidence.footprint import sharing, within_arrays
from placewise.model.evidence.spills import with_spills_of_all

WARPS = 8
BLOCKS = 480


def spilling(words, opcode="LDL", blocks=1):
    """(sites, chunk) of some blocks whose warps store ``words`` words each and read them again."""
    sites = (Site("STL", "local", "store", 4, 0, None), Site(opcode, "local", "load", 4, 16, None))
    site = np.repeat(np.array([0, 1], np.int32), words)
    offset = np.tile(4 * np.arange(words), 2)
    of_block = len(site) * WARPS
    n = of_block * blocks
    zeros = np.zeros(n, np.int32)
    warps = np.tile(np.arange(WARPS, dtype=np.int32), blocks)
    chunk = TraceChunk(
        site=np.tile(site, WARPS * blocks),
        block=np.repeat(np.arange(blocks, dtype=np.int32), of_block),
        warp=np.repeat(warps, len(site)),
        phase=zeros,
        mask=np.full(n, 0xFFFFFFFF, np.uint32),
        array=zeros - 1,
        base=np.tile(offset, WARPS * blocks),
        upper=np.tile(offset, WARPS * blocks),
        stride=zeros,
        row=zeros - 1,
        offsets=np.zeros(0, np.int64),
    )
    return sites, chunk


def traffics(words, machine, opcode="LDL", blocks=1):
    """Traffic of some blocks with an L2 of their own, and as that of all; an SM holds one."""
    sites, chunk = spilling(words, opcode, blocks)
    launch = Launch((BLOCKS, 1, 1), (WARPS * 32, 1, 1))
    facts = LaunchFacts(launch, Occupancy(1, WARPS, 48, ()), 0, 4 * words, ())
    system = MemorySystem(facts, machine)
    system.begin(sites, ())
    system.chunk(chunk)
    alone = system.traffic()
    every = with_spills_of_all(alone, chunk, (sites, ()), facts, machine, sharing=1.0, most={})
    return alone, every


def missing_share(traffic):
    load = traffic.sites[1]
    return load.dram_sectors.value / load.l2_sectors.value


@pytest.mark.parametrize("opcode", ["LDL", "LDL.LU"])
def test_what_all_sms_spill_may_not_fit_l2(opcode):
    machine = load_machine("A4000")  # 48 SMs, 4 MB
    alone, every = traffics(512, machine, opcode)  # 0.5 MB an SM
    assert missing_share(alone) == pytest.approx(0.0, abs=0.01)
    assert missing_share(every) > 0.8
    stored = every.sites[0].sectors
    assert every.dirtied.value == pytest.approx(stored, rel=0.05)


def test_what_fits_l2_stays_there():
    _, every = traffics(64, load_machine("A4000"))  # 64 KB an SM, 3 MB in all
    assert every.sites[1].dram_sectors.value == pytest.approx(0.0, abs=1.0)
    stored = every.sites[0].sectors
    assert (
        every.dirtied.value < 0.2 * stored
    )  # each place's words are written over, not written back


def test_only_blocks_that_an_sm_holds_at_a_time_fill_l2():
    _, every = traffics(64, load_machine("A4000"), blocks=7)  # seven of them need 21 MB
    assert every.sites[1].dram_sectors.value == pytest.approx(0.0, abs=1.0)


def test_a_kernel_without_local_memory_is_left_alone():
    machine = load_machine("A4000")
    sites, chunk = spilling(8)
    launch = Launch((BLOCKS, 1, 1), (WARPS * 32, 1, 1))
    facts = LaunchFacts(launch, Occupancy(1, WARPS, 48, ()), 0, 32, ())
    system = MemorySystem(facts, machine)
    system.begin(sites, ())
    traffic = system.traffic()
    empty = replace(chunk, **{name: getattr(chunk, name)[:0] for name in ("site", "block")})
    assert (
        with_spills_of_all(traffic, empty, (sites, ()), facts, machine, sharing=1.0, most={})
        is traffic
    )


def test_sharing_is_how_often_arrays_would_be_fetched():
    alone, _ = traffics(8, load_machine("A4000"))
    assert sharing(alone, within_arrays(alone, {}, {})) == 1.0
