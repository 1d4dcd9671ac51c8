"""PORPLE's models on numbers worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.machine.load import load_machine
from placewise.memory.reuse.counters import ArrayCounters, Counters
from placewise.memory.reuse.staging import LevelCount
from placewise.model import latency_model, path_model, relative
from placewise.model.additive import SHARED
from placewise.space import Placement

# K20c: latencies of the paper's Table 3 (L2 222, global 345, tL1 103, cL1 48, constant 250 and
# shared 48 cycles), concurrency factors 1 for constant memory and 0.2 otherwise.
K20C = load_machine("K20c")


def _level(memory, loads=0.0, stores=0.0):
    return LevelCount(memory, loads, stores, loads + stores, None, 0.0)


def _array(name, space, *levels, staging=()):
    path = K20C.space(space).path
    return ArrayCounters(
        name, space, path, 1.0, 32.0, 1.0, levels, staging, "global" if staging else ""
    )


def _counters(*arrays, halves=()):
    placement = Placement(tuple((a.array, a.space) for a in arrays))
    return Counters(placement, arrays, halves)


A_GLOBAL = _array("A", "global", _level("L2", 100), _level("globalMem", 50))
B_TEXTURE = _array("B", "texture", _level("tL1", 30), _level("L2", 20), _level("textureMem", 10))
C_CONSTANT = _array("C", "constant", _level("cL1", 200), _level("constantMem", 4))

GLOBAL = 0.2 * (100 * 222 + 50 * 345)
TEXTURE = 0.2 * (30 * 103 + 20 * 222 + 10 * 351)
CONSTANT = 200 * 48 + 4 * 250


def test_slowest_path_decides():
    found = path_model().predict(_counters(A_GLOBAL, B_TEXTURE, C_CONSTANT), K20C)
    assert found.total == pytest.approx(CONSTANT)
    assert found.binding == "constant"
    cycles = {part.path: part.cycles for part in found.parts}
    assert cycles == pytest.approx({"constant": CONSTANT, "global": GLOBAL, "texture": TEXTURE})
    assert [part.path for part in found.parts] == ["constant", "global", "texture"]
    assert not found.absolute


def streams(moved):
    """A triad: two arrays read, one written, those in ``moved`` read as textures, half of all
    accesses served by L2."""
    where = {name: "texture" if name in moved else "global" for name in "abc"}
    counts = {"a": (100, 0), "b": (100, 0), "c": (0, 100)}
    return _counters(
        *(_array(n, s, _level("L2", *counts[n]), _level(K20C.space(s).levels[-1], *counts[n]))
          for n, s in where.items())
    )  # fmt: skip


def test_streams_of_one_dram_gain_nothing_by_another_path():
    joint = relative(path_model(joint=True), streams("ab"), streams(""), K20C)
    assert joint.ratio == pytest.approx((3 * 222 + 345 + 2 * 351) / (3 * (222 + 345)))
    printed = relative(path_model(), streams("ab"), streams(""), K20C)
    assert printed.ratio == pytest.approx(2 * (222 + 351) / (3 * (222 + 345))), "two thirds"


def test_what_paths_share_is_counted_once_for_each_array():
    found = path_model(joint=True).predict(streams("ab"), K20C)
    assert found.binding == SHARED
    assert sum(t.cycles for p in found.parts for t in p.terms) == pytest.approx(found.total)


def test_a_cache_of_one_path_is_not_shared():
    # tL1 of the SM and constant memory's cL2, on one path each: all at once.
    both = _counters(
        _array("B", "texture", _level("tL1", 100)), _array("C", "constant", _level("cL2", 10))
    )
    found = path_model(joint=True).predict(both, K20C)
    assert found.total == pytest.approx(max(0.2 * 100 * 103, 10 * 120))
    assert SHARED not in {part.path for part in found.parts}


def test_moves_of_atomically_updated_arrays_have_no_probability():
    bins = replace(_array("A", "global", _level("globalMem", 0, 100)), atomic=True)
    tile = replace(_array("A", "shared", _level("sharedMem", 0, 100)), atomic=True)
    found = relative(path_model(), _counters(tile), _counters(bins), K20C)
    assert found.ratio < 1.0
    assert found.faster is None
    other = _array("B", "global", _level("globalMem", 10))
    moved = _array("B", "texture", _level("tL1", 10))
    apart = relative(path_model(), _counters(bins, moved), _counters(bins, other), K20C)
    assert apart.faster is not None, "the array with atomics stays"


def test_arrays_of_a_path_add_up():
    more = replace(A_GLOBAL, array="A2")
    found = path_model().predict(_counters(A_GLOBAL, more, B_TEXTURE), K20C)
    assert found.total == pytest.approx(2 * GLOBAL)
    assert dict(found.parts[0].arrays) == pytest.approx({"A": GLOBAL, "A2": GLOBAL})


def test_latency_model_adds_the_paths():
    found = latency_model().predict(_counters(A_GLOBAL, B_TEXTURE, C_CONSTANT), K20C)
    assert found.total == pytest.approx(GLOBAL + TEXTURE + CONSTANT)


def test_staging_takes_the_direct_path():
    tile = _array(
        "A",
        "shared",
        _level("sharedMem", 90),
        staging=(_level("globalMem", 7), _level("sharedMem", 0, 8)),
    )
    found = path_model().predict(_counters(tile), K20C)
    assert found.total == pytest.approx(0.2 * (90 * 48 + 7 * 345 + 8 * 48))
    assert found.binding == "global"
    assert sorted(t.staging for t in found.parts[0].terms) == [False, True, True]


def test_writes_cost_the_write_latency():
    slow = replace(
        K20C,
        memories=tuple(
            replace(m, write_latency_cycles=1000.0) if m.name == "globalMem" else m
            for m in K20C.memories
        ),
    )
    found = path_model().predict(_counters(_array("A", "global", _level("globalMem", 3, 2))), slow)
    assert found.total == pytest.approx(0.2 * (3 * 345 + 2 * 1000))


def test_concurrency_factors():
    open_machine = replace(
        K20C, memories=tuple(replace(m, concurrency=None) for m in K20C.memories)
    )
    assert path_model().concurrency(open_machine.memory("cL1"), open_machine) == 1.0
    assert path_model().concurrency(open_machine.memory("L2"), open_machine) == 0.2
    fig4 = replace(K20C.memory("globalMem"), concurrency=(0.1, 0.5))
    assert path_model().concurrency(fig4, K20C) == 0.1
    assert path_model(intensity="compute").concurrency(fig4, K20C) == 0.5
    assert path_model(alpha=0.3).concurrency(fig4, K20C) == 0.3
    assert path_model(alpha=0.3).concurrency(K20C.memory("cL1"), K20C) == 1.0


def test_ratio_spans_the_concurrency_factors():
    # All global: 0.2 · (100 · 222 + 50 · 345) = 7890 at α = 0.2. With C in constant memory it is
    # max(α · 39450, 10600): α = 0.1 gives 10600 / 3945, 0.5 gives 1.
    now = _counters(A_GLOBAL, _array("C", "global"))
    then = _counters(A_GLOBAL, C_CONSTANT)
    found = relative(path_model(), then, now, K20C)
    assert found.ratio == pytest.approx(10600 / 7890)
    assert found.parameter_high == pytest.approx(10600 / 3945)
    assert found.parameter_low == pytest.approx(1.0)


def test_ratio_of_a_placement_to_itself_is_one():
    now = _counters(A_GLOBAL, B_TEXTURE, C_CONSTANT)
    found = relative(path_model(), now, now, K20C)
    assert (found.ratio, found.low, found.high) == (1.0, 1.0, 1.0)


def test_ratio_spans_the_halves_of_the_sample():
    def case(first, second):
        one, other = (_array("A", "global", _level("L2", n)) for n in (first, second))
        halves = (_counters(one), _counters(other))
        return _counters(_array("A", "global", _level("L2", (first + second) / 2)), halves=halves)

    found = relative(path_model(), case(10, 30), case(40, 40), K20C)
    assert (found.ratio, found.parameter_low, found.parameter_high) == pytest.approx(
        (0.5, 0.25, 0.75)
    )


def test_nothing_accessed():
    empty = _counters()
    assert path_model().predict(empty, K20C).total == 0.0
    assert path_model().predict(empty, K20C).binding == ""
    assert relative(path_model(), empty, empty, K20C).ratio == 1.0


def test_total_of_many_placements_at_once():
    paths = np.array([[3.0, 1.0], [2.0, 5.0]])
    assert path_model().total(paths).tolist() == [3.0, 5.0]
    assert latency_model().total(paths).tolist() == [4.0, 7.0]


def test_near_binding_parts_are_named():
    near = _array("B", "texture", _level("tL1", 0.95 * GLOBAL / (0.2 * 103)))
    found = path_model().predict(_counters(A_GLOBAL, near), K20C)
    assert found.near_binding(0.1) == ("global", "texture")
    assert found.near_binding(0.01) == ("global",)


def test_the_kernels_intensity_chooses_the_factor():
    memory = replace(K20C.memory("globalMem"), concurrency=(0.1, 0.5))
    machine = replace(
        K20C, memories=tuple(memory if m.name == "globalMem" else m for m in K20C.memories)
    )
    found = _counters(_array("A", "global", _level("globalMem", 8)))
    waiting, computing = (
        path_model().predict(replace(found, intensity=kind), machine)
        for kind in ("memory", "compute")
    )
    assert waiting.total == pytest.approx(8 * 345 * 0.1)
    assert computing.total == pytest.approx(8 * 345 * 0.5)
    asked = path_model(intensity="memory").predict(replace(found, intensity="compute"), machine)
    assert asked.total == waiting.total
