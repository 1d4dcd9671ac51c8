"""What filling tiles and reading constant memory costs, on a gather whose counts are known."""

import pytest

from placewise.advisor.prepare import prepare
from placewise.choose import judged
from placewise.machine import load_machine
from placewise.memory.reuse.counters import counters
from placewise.model import path_model
from placewise.space import Placement


def placed(prepared, **moves):
    spaces = ((a, moves.get(a, s)) for a, s in prepared.legality.present)
    return Placement(tuple(spaces))


@pytest.fixture(scope="module")
def kepler(gather_case):
    return prepare(gather_case, load_machine("K20c"))


def staged(prepared, array):
    counted = counters(prepared.profile, prepared.machine, placed(prepared, **{array: "shared"}))
    return {level.memory: level for level in counted.array(array).staging}


def test_a_tile_that_is_only_written_is_copied_back_and_not_filled(kepler):
    blocks = kepler.profile.launch.blocks  # Of 128 threads, an element of 4 bytes each.
    levels = staged(kepler, "out")
    assert (levels["globalMem"].loads, levels["globalMem"].stores) == (0, 16 * blocks)
    assert levels["sharedMem"].stores == 0, "nothing is filled in"
    assert levels["sharedMem"].loads == 4 * blocks, "a warp reads 128 bytes of the tile at a time"


def test_a_tile_that_is_only_read_is_filled_and_not_copied_back(kepler):
    levels = staged(kepler, "index")
    size = next(a for a in kepler.profile.arrays if a.name == "index").bytes
    assert levels["globalMem"].loads == pytest.approx(size / 32)
    assert levels["globalMem"].stores == 0
    assert levels["sharedMem"].loads == 0


@pytest.mark.parametrize("machine", ["K20c", "K80", "M2075", "M2050", "C1060"])
def test_constant_memory_serves_a_warp_one_address_after_the_other(gather_case, machine):
    prepared = prepare(gather_case, load_machine(machine))
    (found,) = judged(
        [placed(prepared, index="constant")],
        prepared.profile, prepared.legality, prepared.machine, path_model(),
    )  # fmt: skip
    assert found.counters.array("index").transactions_per_request == 32
    now = counters(prepared.profile, prepared.machine, prepared.legality.present).array("index")
    cost = [
        sum(path_model().path_times(array, prepared.machine).values())
        for array in (now, found.counters.array("index"))
    ]
    assert cost[1] > 2 * cost[0], "each lane has an element of its own"
