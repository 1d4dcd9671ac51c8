"""A sample's counters against those of the whole launch."""

import numpy as np
import pytest

from placewise.executor.result import Execution
from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import SourceView
from placewise.machine.load import load_machine
from placewise.memory import Profiler, counters, occupancy
from placewise.space import Placement

A100 = load_machine("A100")
BLOCKS = 108 * 64
LINES = 40
"""128-byte lines that a block reads of each array, twice."""


def _counted(budget):
    """All blocks read the same lines of ``shared`` and their own of ``private``."""
    launch = Launch((BLOCKS, 1, 1), (32, 1, 1))
    inputs = Inputs(
        (
            ArrayArgument("shared", np.zeros(32 * LINES, np.float32)),
            ArrayArgument("private", np.zeros(32 * LINES * BLOCKS, np.float32)),
        )
    )
    resident = occupancy(launch, A100, registers=32, shared_bytes=0)
    view = SourceView("k", (), (), 0, 0, 0)
    profiler = Profiler(launch, A100, resident, view, inputs, access_budget=budget)
    site = Site("ld.global.f32", "global", "load", 4, 1, 1)
    profiler.begin((site, site), ("shared", "private"))
    line = np.tile(np.arange(LINES), 2)
    n = 2 * len(line)
    base = np.stack([line, line], axis=1).ravel().astype(np.int64) * 128
    for block in range(BLOCKS):
        base[1::2] = 128 * (line + LINES * block)
        profiler.chunk(
            TraceChunk(
                np.tile(np.array([0, 1], np.int32), n // 2),
                np.full(n, block, np.int32),
                np.zeros(n, np.int32),
                np.zeros(n, np.int32),
                np.full(n, 0xFFFFFFFF, np.uint32),
                np.tile(np.array([0, 1], np.int32), n // 2),
                base,
                base + 64,
                np.full(n, 4, np.int32),
                np.full(n, -1, np.int32),
                np.zeros(0, np.int64),
            )
        )
    executed = np.array([BLOCKS * 2 * LINES] * 2, np.int64)
    run = Execution((), frozenset(), frozenset(), 0, 0, (site, site), executed, 0.0)
    profile = profiler.profile(run)
    counted = counters(profile, A100, Placement.of({"shared": "global", "private": "global"}))
    return profile, counted


@pytest.mark.parametrize("budget", [100_000, 10_000])
def test_first_touches_of_shared_and_private_data(budget):
    profile, counted = _counted(budget)
    assert not profile.sample.complete
    assert profile.sampled_requests <= budget
    # Sectors of 32 bytes that come from global memory: each once.
    expected = {"shared": 4 * LINES, "private": 4 * LINES * BLOCKS}
    for name, sectors in expected.items():
        array = counted.array(name)
        assert array.requests == BLOCKS * 2 * LINES
        home = {level.memory: level for level in array.levels}["globalMem"]
        assert home.loads == pytest.approx(sectors, rel=0.01)
