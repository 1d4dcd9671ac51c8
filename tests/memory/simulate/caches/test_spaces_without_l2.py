"""Spaces that have reach no L2 on their way: what leaves the SM goes to DRAM at once.

Counted by hand: 256 threads read 32 bytes each, every word of them with a load of its own, and
write one word. Global memory of the C1060 has no cache at all, its texture memory has two.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import CounterReport, predict_counters
from placewise.errors import CaseError
from placewise.machine import load_machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.hierarchy import hierarchy
from placewise.memory.simulate.caches.last_level.other_l2_sizes import other_sizes

SOURCE = """
extern "C" __global__ void sums(const float *in, float *out) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < 8; k++) s += in[8 * t + k];
    atomicAdd(out + t, s);
}
"""
THREADS = 256
MACHINE = """
machine Plain;
die = 6 tpc; tpc = 1 sm; sm = 32 core;
limits {{ compute_capability = 7.5; }}
globalMem 1 Y RW na 1GB 32B ? 400clk <{cache}> <> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
{entry}
sharedMem 4 Y RW na 48KB ? 32 20clk <> <> sm ?
  block{{word1 != word2 && word1 % banks == word2 % banks}};
space global G direct <{cache} globalMem> global RW;
space shared S kernel_buffer <sharedMem> global RW;
"""
CACHE = """L2 2 N RW na ? 32B ? 200clk <> <globalMem> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};"""


def counted(machine: str) -> CounterReport:
    arrays = [np.ones(8 * THREADS, np.float32), np.zeros(THREADS, np.float32)]
    case = make_case("sums", SOURCE, arrays, block=64, grid=THREADS // 64)
    return predict_counters(case, machine)


@pytest.fixture
def plain(tmp_path: Path) -> Callable[[str, str], str]:
    """``plain(cache, entry)`` is the file of a machine with that cache."""

    def written(cache: str, entry: str) -> str:
        path = tmp_path / "plain.msl"
        path.write_text(MACHINE.format(cache=cache, entry=entry))
        return str(path)

    return written


@pytest.mark.parametrize("machine", ["C1060", "no cache"])
def test_nothing_is_found_on_the_way_to_dram(machine, plain):
    report = counted("C1060" if machine == "C1060" else plain("", ""))
    values = {m.name: m.value for m in report.metrics}
    loads, atomics = 8 * THREADS, THREADS // 8
    assert values["lts__t_sectors_op_read.sum"] == loads
    assert values["lts__t_sectors_op_red.sum"] == atomics
    assert not [name for name in values if "lookup_hit" in name]
    assert values["dram__sectors_read.sum"] == loads + atomics
    assert values["dram__sectors_write.sum"] == atomics
    with pytest.raises(CaseError, match="reach no L2"):
        other_sizes(report.run)


def test_textures_of_that_machine_have_their_caches():
    caches = hierarchy(load_machine("C1060"), Occupancy(1, 1, 1.0, ()), 0)
    assert caches.last is not None
    assert "global" in caches.past_last
    assert "texture" not in caches.past_last


def test_a_cache_of_unknown_size_finds_nothing_and_the_report_says_so(plain):
    report = counted(plain("L2", CACHE))
    assert "the size of L2 is not known: nothing is found there" in report.notes
