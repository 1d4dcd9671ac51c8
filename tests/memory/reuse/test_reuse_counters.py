"""N_ij worked by hand on a machine of two SMs (tests/memory/conftest.py)."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import SourceView, Tile
from placewise.memory import Profiler, Reading, counters, occupancy
from placewise.memory.reuse.counters import array_counters, cache_sharers
from placewise.space import Placement

# One warp reads two 128-byte lines of A in turn, twice: lines 0 1 0 1.
TWICE = [("A", 0, 0, 0, line * 128, 4) for line in (0, 1, 0, 1)]


def _levels(counted):
    return {level.memory: level for level in counted.levels}


def test_array_alone_fits_l1(make_profile, tiny):
    profile = make_profile({"A": 64}, TWICE)
    counted = counters(profile, tiny, Placement.of({"A": "global"})).array("A")
    levels = _levels(counted)
    # L1 has two blocks and reuse is at distance 1: two first touches miss, two accesses hit.
    assert (levels["L1"].loads, levels["L1"].miss_rate) == (2.0, 0.5)
    # The misses are first touches for L2 as well; global memory serves 128 bytes at a time.
    assert levels["L2"].loads == 0.0
    assert levels["globalMem"].loads == 2.0
    assert counted.requests == 4.0
    assert counted.transactions_per_request == 1.0
    assert levels["globalMem"].bytes == 256.0


def test_two_arrays_share_l1_in_equal_portions(make_profile, tiny):
    both = [step for a, b in zip(TWICE, TWICE, strict=True) for step in (a, ("B", *b[1:]))]
    profile = make_profile({"A": 64, "B": 64}, both)
    placement = Placement.of({"A": "global", "B": "global"})
    assert cache_sharers(profile, tiny, placement) == {"L1": 2, "L2": 2}
    levels = _levels(counters(profile, tiny, placement).array("A"))
    # One block of L1 for each: distance 1 is no smaller, all four miss.
    assert (levels["L1"].loads, levels["L1"].miss_rate) == (0.0, 1.0)
    # Eight sectors of L2 each; an array's own distance is 4 to 7 sectors: half are first touches.
    # Each of the two reuses is a request of four 32-byte sectors.
    assert (levels["L2"].loads, levels["L2"].miss_rate) == (8.0, 0.5)
    assert levels["globalMem"].loads == 2.0


def test_array_elsewhere_frees_its_portion(make_profile, tiny):
    both = [step for a, b in zip(TWICE, TWICE, strict=True) for step in (a, ("B", *b[1:]))]
    profile = make_profile({"A": 64, "B": 64}, both)
    placement = Placement.of({"A": "global", "B": "constant"})
    counted = counters(profile, tiny, placement)
    assert _levels(counted.array("A"))["L1"].loads == 2.0
    b = counted.array("B")
    # Consecutive words in constant memory: two 64-byte blocks a request in cL1 (128 bytes, two
    # blocks, all four distances 2 or 3: no hit), 32 addresses a request in constant memory.
    assert _levels(b)["cL1"].loads == 0.0
    assert b.transactions_per_request == 2.0
    assert _levels(b)["constantMem"].loads == 4 * 32
    assert b.copy_bytes == 256
    assert b.copy_seconds == 256 / 8e9


def test_reading_by_reaching_counts_hits_and_misses(make_profile, tiny):
    profile = make_profile({"A": 64}, TWICE)
    placement = Placement.of({"A": "global"})
    counted = counters(profile, tiny, placement, reading=Reading(charge="reaching")).array("A")
    levels = _levels(counted)
    assert [levels[m].loads for m in ("L1", "L2", "globalMem")] == [4.0, 8.0, 2.0]


def test_reading_by_element(make_profile, tiny):
    profile = make_profile({"A": 64}, TWICE)
    placement = Placement.of({"A": "global"})
    counted = counters(profile, tiny, placement, reading=Reading(unit="element")).array("A")
    # 256 bytes are 64 elements; distances are 32 to 63 elements: the same half misses.
    assert _levels(counted)["L1"].miss_rate == 0.5


def test_stores_pass_a_cache_that_is_not_written(make_profile, tiny):
    trace = [("A", 1, 0, 0, 0, 4), ("A", 1, 0, 0, 0, 4)]
    profile = make_profile({"A": 32}, trace)
    levels = _levels(counters(profile, tiny, Placement.of({"A": "global"})).array("A"))
    assert (levels["L1"].loads, levels["L1"].stores) == (0.0, 0.0)
    # Four sectors, the second time all in L2.
    assert levels["L2"].stores == 4.0
    assert levels["globalMem"].stores == 1.0
    # An array that is only written takes no portion of L1.
    assert cache_sharers(profile, tiny, Placement.of({"A": "global"})) == {"L2": 1}


def test_caches_of_two_sms_do_not_share(make_profile, tiny):
    # Blocks 0 and 1 run on different SMs and read the same line once each.
    profile = make_profile({"A": 32}, [("A", 0, b, 0, 0, 4) for b in (0, 1)], blocks=2)
    levels = _levels(counters(profile, tiny, Placement.of({"A": "global"})).array("A"))
    assert levels["L1"].miss_rate == 1.0
    assert levels["L2"].loads == 4.0
    assert levels["globalMem"].loads == 1.0


def test_divergent_access(make_profile, tiny):
    offsets = [128 * lane for lane in range(32)]
    profile = make_profile({"A": 1024}, [("A", 0, 0, 0, offsets)])
    counted = counters(profile, tiny, Placement.of({"A": "global"})).array("A")
    assert counted.transactions_per_request == 32.0
    assert counted.lanes_per_request == 32.0


def test_inactive_lanes_do_not_count(make_profile, tiny):
    profile = make_profile({"A": 1024}, [("A", 0, 0, 0, 0, 128)], mask=0x0000000F)
    counted = counters(profile, tiny, Placement.of({"A": "global"})).array("A")
    assert (counted.transactions_per_request, counted.lanes_per_request) == (4.0, 4.0)


def test_shared_placement_pays_for_its_tiles(make_profile, tiny):
    # Two blocks of one warp; each reads its own 32 elements three times.
    trace = [("A", 0, b, 0, 128 * b, 4) for b in (0, 1) for _ in range(3)]
    tile = Tile(False, 1, 32, 0, 32, "0", "32 * blockIdx.x", "0", True)
    profile = make_profile({"A": 64}, trace, blocks=2, tiles={"A": tile})
    counted = counters(profile, tiny, Placement.of({"A": "shared"})).array("A")
    assert [(level.memory, level.loads) for level in counted.levels] == [("sharedMem", 6.0)]
    staging = {level.memory: level for level in counted.staging}
    assert staging["sharedMem"].stores == 2.0
    assert staging["globalMem"].loads == 2.0  # one line a block, touched by one block only
    assert counted.staging_bytes == 256.0
    assert counted.staging_path == "global"


def test_shared_placement_copies_back_what_is_written(make_profile, tiny):
    trace = [("A", kind, 0, 0, 0, 4) for kind in (0, 1)]
    tile = Tile(False, 1, 32, 0, 32, "0", "0", "0", True)
    profile = make_profile({"A": 32}, trace, tiles={"A": tile})
    counted = counters(profile, tiny, Placement.of({"A": "shared"})).array("A")
    staging = {level.memory: level for level in counted.staging}
    assert (staging["sharedMem"].loads, staging["sharedMem"].stores) == (1.0, 1.0)
    assert (staging["globalMem"].loads, staging["globalMem"].stores) == (1.0, 1.0)
    assert counted.staging_bytes == 256.0


def test_tile_shared_by_blocks_comes_from_l2_after_the_first(make_profile, tiny):
    # Four blocks stage the same 32 elements; L2 (512 bytes) holds the tiles of four blocks at
    # once only if two SMs with 16 resident blocks had 16 bytes each, so here it does not.
    tile = Tile(True, 1, 32, 0, 32, "0", "0", "0", False)
    trace = [("A", 0, b, 0, 0, 4) for b in range(4)]
    profile = make_profile({"A": 32}, trace, blocks=4, tiles={"A": tile})
    small = counters(profile, tiny, Placement.of({"A": "shared"})).array("A")
    assert {level.memory: level.loads for level in small.staging}["globalMem"] == 4.0
    large = replace(
        tiny,
        memories=tuple(
            replace(m, size_bytes=1 << 20) if m.name == "L2" else m for m in tiny.memories
        ),
    )
    warm = counters(profile, large, Placement.of({"A": "shared"})).array("A")
    loads = {level.memory: level.loads for level in warm.staging}
    assert loads["globalMem"] == 1.0  # 128 of 512 bytes staged are first touches
    assert loads["L2"] == 12.0  # three tiles of four sectors


def test_halves_of_the_sample(make_profile, tiny):
    # SM 0 reads one line a request, SM 1 thirty-two.
    trace = [("A", 0, 0, 0, 0, 4), ("A", 0, 1, 0, 0, 128)]
    profile = make_profile({"A": 1024}, trace, blocks=2)
    counted = counters(profile, tiny, Placement.of({"A": "global"}))
    each = [half.array("A").transactions_per_request for half in counted.halves]
    assert sorted(each) == [1.0, 32.0]
    assert counted.array("A").transactions_per_request == 16.5


def test_array_never_accessed(make_profile, tiny):
    profile = make_profile({"A": 64, "unused": 64}, TWICE)
    placement = Placement.of({"A": "global", "unused": "global"})
    counted = counters(profile, tiny, placement).array("unused")
    assert counted.requests == 0.0
    assert all(level.transactions == 0.0 for level in counted.levels)
    assert cache_sharers(profile, tiny, placement)["L1"] == 1


@pytest.mark.parametrize("sharers", [1, 2, 3, 7])
def test_served_transactions_add_up(make_profile, tiny, sharers):
    rng = np.random.default_rng(3)
    trace = [("A", 0, int(b), 0, int(rng.integers(0, 8)) * 128, 4) for b in np.repeat([0, 1], 60)]
    profile = make_profile({"A": 256}, trace, blocks=2)
    counted = array_counters(profile, tiny, "A", "global", {"L1": sharers, "L2": sharers})
    levels = _levels(counted)
    # In requests: one transaction of L1 and global memory, four of L2.
    served = levels["L1"].loads + levels["L2"].loads / 4 + levels["globalMem"].loads
    assert served == pytest.approx(120.0)


def test_arrays_that_the_source_placed_stay_there_and_share(tiny):
    launch = Launch((1, 1, 1), (32, 1, 1))
    inputs = Inputs(
        (ArrayArgument("A", np.zeros(64, np.float32)),), (("K", np.zeros(16, np.float32)),)
    )
    view = SourceView("k", (), (), 0, 0, 0)
    resident = occupancy(launch, tiny, registers=32, shared_bytes=0)
    profiler = Profiler(launch, tiny, resident, view, inputs)
    profiler.begin((Site("ld", "global", "load", 4, 1, 1),), ("A", "K"))
    zeros = np.zeros(2, np.int32)
    profiler.chunk(
        TraceChunk(
            zeros,
            zeros,
            zeros,
            zeros,
            np.full(2, 0xFFFFFFFF, np.uint32),
            np.array([0, 1], np.int32),
            np.zeros(2, np.int64),
            np.array([64, 0], np.int64),
            np.array([4, 0], np.int32),
            np.full(2, -1, np.int32),
            np.zeros(0, np.int64),
        )
    )
    profile = profiler.profile()
    counted = counters(profile, tiny, Placement.of({"A": "constant"}))
    assert counted.array("K").space == "constant"
    assert counted.array("K").transactions_per_request == 1.0
    assert counted.array("K").copy_bytes == 0  # the program copies it already
    assert cache_sharers(profile, tiny, Placement.of({"A": "constant"})) == {"cL1": 2}


def test_traffic_by_instruction(make_profile, tiny):
    trace = [
        ("A", 0, 0, 0, 0, 4),
        ("A", 0, 0, 0, 0, 128),
        ("A", 1, 0, 0, 0, 8),
    ]
    profile = make_profile({"A": 1024}, trace)
    lines = profile.lines("A", tiny.memory("globalMem"))
    assert [(line.site.kind, line.requests, line.transactions) for line in lines] == [
        ("load", 2.0, 33.0),
        ("store", 1.0, 2.0),
    ]
