"""The two memory engines on the same launches, where both models mean the same thing.

``memory/reuse`` (PORPLE's engine) knows warp accesses, the blocks that each touches, and reuse
distances of fully associative LRU caches; ``memory/simulate`` knows sectors, sets and replacement.
With blocks as large as sectors the transactions of an access are its sectors. Where nothing that is
used again has been evicted, misses are first touches, in L1 by SM and in L2 overall, whatever the
replacement. There the engines must agree exactly. Where a cache is far too small or far too large
for what is used again, organisation matters little: hit rates may differ by the share of sectors
that random replacement among hashed sets keeps or loses by chance (TOLERANCE).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from placewise import make_case
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.source import SourceView
from placewise.machine import load_machine
from placewise.memory import Profile, Profiler, occupancy
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

SECTOR = 32
TOLERANCE = 0.05
N = 64
SOURCES = {
    "scale": "int i = blockIdx.x * 256 + threadIdx.x; b[i] = 2.0f * a[i];",
    "stride": "int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[(i * 5) % 4096];",
    "product": """
        int x = threadIdx.x % 16 + blockIdx.x % 4 * 16, y = threadIdx.x / 16 + blockIdx.x / 4 * 16;
        float s = 0;
        for (int k = 0; k < 64; k++) s += a[y * 64 + k] * a[k * 64 + x];
        b[y * 64 + x] = s;""",
    "gather": """
        int i = blockIdx.x * 256 + threadIdx.x;
        b[i] = a[(i * 2654435761u >> 7) % 4096];""",
    "again": """
        float s = 0;
        for (int turn = 0; turn < 4; turn++)
            for (int i = threadIdx.x; i < WORDS; i += 256) s += a[i];
        b[threadIdx.x] = s;""",
}


def both(name: str, words: int, blocks: int) -> tuple[Profile, dict[tuple[str, str], SiteTraffic]]:
    """The launch's profile, and its simulated traffic by array and kind of access."""
    source = f'extern "C" __global__ void k(const float *a, float *b) {{ {SOURCES[name]} }}'
    arrays: dict[str, Any] = {
        "a": np.ones(words, np.float32),
        "b": np.zeros(blocks * 256, np.float32),
    }
    case = make_case("k", source, arrays, grid=(blocks,), block=(256,), defines={"WORDS": words})
    kernel, launch, machine = compile_case(case), case.launch, load_machine("A100")
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=0)
    profiler = Profiler(launch, machine, resident, SourceView("k", (), (), 0, 0, 0), case.inputs)
    execute(kernel, launch, case.inputs, consumer=profiler, threads=1)
    sizes = tuple((n, 4 * words if n == "a" else 1024 * blocks) for n in arrays)
    system = MemorySystem(LaunchFacts(launch, resident, 0, 0, sizes), machine)
    execute(kernel, launch, case.inputs, consumer=system, threads=1)
    found: dict[tuple[str, str], SiteTraffic] = {}
    for t in system.traffic().sites:
        key = (t.array or "", t.site.kind)
        found[key] = t if key not in found else _sum(found[key], t)
    return profiler.profile(), found


def _sum(a: SiteTraffic, b: SiteTraffic) -> SiteTraffic:
    return replace(
        a,
        requests=a.requests + b.requests,
        sectors=a.sectors + b.sectors,
        l1_hits=a.l1_hits + b.l1_hits,
        dram_sectors=a.dram_sectors + b.dram_sectors,
    )


@pytest.mark.parametrize("name", ["scale", "stride", "product", "gather"])
def test_transactions_and_first_touches_are_the_same(name: str) -> None:
    blocks = 16
    profile, simulated = both(name, 4096, blocks)
    l2 = profile.machine.memory("L2")
    assert l2.block_bytes == SECTOR
    for array in "ab":
        kinds = ("load", "store")
        for kind, tag in zip(kinds, (0, 1), strict=True):
            t = simulated.get((array, kind))
            transactions = profile.transactions(array, l2)[tag::2].sum()
            assert transactions == (t.sectors if t else 0)
            assert profile.array(array).requests[tag] == (t.requests if t else 0)
    loads = simulated["a", "load"]
    assert loads.sectors > loads.dram_sectors.value or name == "scale"
    for scope, misses in (
        ("sm", loads.sectors - loads.l1_hits.value),
        ("die", loads.dram_sectors.value),
    ):
        histogram = profile.histogram("a", SECTOR, scope)
        assert histogram is not None
        assert histogram.touches[0::2].sum() == loads.sectors
        assert histogram.cold[0::2].sum() == misses


@pytest.mark.parametrize("fits", [True, False])
def test_hit_rates_of_data_read_again_and_again(fits: bool) -> None:
    l1 = load_machine("A100").memory("L1")
    assert l1.size_bytes
    words = l1.size_bytes // 4 // 4 if fits else l1.size_bytes
    words -= words % 256
    profile, simulated = both("again", words, 1)
    loads = simulated["a", "load"]
    histogram = profile.histogram("a", SECTOR, "sm")
    assert histogram is not None
    missed = (histogram.far(l1.size_bytes / SECTOR) + histogram.cold)[0::2].sum()
    estimated = 1.0 - missed / histogram.touches[0::2].sum()
    assert estimated == (0.75 if fits else 0.0)
    assert loads.l1_hits.value / loads.sectors == pytest.approx(estimated, abs=TOLERANCE)
