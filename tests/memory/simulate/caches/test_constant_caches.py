"""The caches of constant memory against ordered dictionaries on random accesses, and kernels whose
misses follow on paper."""

from collections import OrderedDict

import numpy as np
import pytest

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.launch import Launch
from placewise.machine import load_machine, parse_machine
from placewise.memory import occupancy
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics, traffic_metrics
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

MACHINE = """
machine Tiny;
die = 2 tpc; tpc = 1 sm; sm = 32 core;
limits {{ compute_capability = 7.5; max_threads_per_sm = 128; max_blocks_per_sm = 2; }}
globalMem 1 Y RW na 1GB 32B ? 400clk <L2 L1> <> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
L2 2 N RW na {l2}B 32B ? 200clk <L1> <globalMem> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
L1 3 N RW na 1KB 128B ? 30clk <> <L2 globalMem> sm ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
constantMem 4 Y R na 64KB ? ? 200clk <cL2 cL1> <> die ? warp{{address1 != address2}};
cL2 5 N R na 2KB {block} ? 100clk <cL1> <constantMem> {scope} ? warp{{address1 != address2}};
cL1 6 N R na 512B 64B ? 50clk <> <cL2 constantMem> sm ? warp{{address1 != address2}};
sharedMem 7 Y RW na 48KB ? 32 20clk <> <> sm ?
  block{{word1 != word2 && word1 % banks == word2 % banks}};
detail L1 {{ line = 128 B; sector = 32 B; ways = 2; policy = lru; }}
detail L2 {{ line = 128 B; sector = 32 B; ways = 4; policy = lru; }}
detail cL1 {{ ways = 2; policy = lru; }}
detail cL2 {{ ways = 4; policy = lru; {partitions} }}
space global G direct <L1 L2 globalMem> global RW;
space constant C host_buffer <cL1 cL2 constantMem> constant R declaration "__constant__";
space shared S kernel_buffer <sharedMem> global RW;
"""
SITES = (
    Site("ld.const.f32", "constant", "load", 4, 1, 1),
    Site("ld.const.v4.f32", "constant", "load", 16, 2, 2),
    Site("ld.global.f32", "global", "load", 4, 3, 3),
    Site("st.global.f32", "global", "store", 4, 4, 4),
)
ARRAYS = (("a", 4096), ("c", 8192))
SEED, WARPS, BLOCKS = 3, 2, 5


def machine(l2=4096, partitions="", scope="sm", block="256B"):
    text = MACHINE.format(l2=l2, partitions=partitions, scope=scope, block=block)
    return parse_machine(text, "tiny.msl")


class Cache:
    """An LRU cache of lines that hold sets of sectors."""

    def __init__(self, sets, ways):
        self.sets, self.ways = [OrderedDict() for _ in range(sets)], ways

    def missing(self, line, sectors=frozenset({0})):
        row = self.sets[line % len(self.sets)]
        held = row.pop(line, frozenset())
        if not held and len(row) == self.ways:
            row.popitem(last=False)
        row[line] = held | sectors
        return sectors - held


def different(values):
    return list(OrderedDict.fromkeys(values))


def reference(accesses, arrays_at, l2_sets, fetching):
    """Of each site: lines asked and missed in both caches of constant memory, sectors asked of L2
    and found there."""
    counts = np.zeros((len(SITES), 6), int)
    near, far, plain = ([Cache(*n) for _ in range(2)] for n in ((4, 2), (2, 4), (4, 2)))
    halves = 2 if l2_sets % 2 == 0 else 1
    l2 = [Cache(l2_sets // halves, 4) for _ in range(halves)]
    for wave in range(-(-BLOCKS // 4)):
        queues, place = {}, block_slots(wave, 2, 2, SEED)
        for site, block, warp, lanes in accesses:
            if block // 4 == wave:
                slot = place[block % 4]
                queues.setdefault((slot // 2, slot, warp), []).append((site, lanes))
        while queues:
            requests = []
            for (sm, *_), queue in sorted(queues.items()):
                site, lanes = queue.pop(0)
                constant = SITES[site].space == "constant"
                base = arrays_at["c" if constant else "a"]
                words = [base + x + b for x in lanes for b in range(0, SITES[site].lane_bytes, 4)]
                if constant:
                    lines = different(w // 128 for w in words)
                    for line in lines:
                        # Lines of 64 bytes of one request's line are looked up in order.
                        own = sorted({w // 64 for w in words if w // 128 == line})
                        lacking = [x for x in own if near[sm].missing(x)]
                        wide = different(x // 4 for x in lacking)
                        gone = [x for x in wide if far[sm].missing(x)]
                        counts[site, :4] += [len(own), len(lacking), len(wide), len(gone)]
                        if sm in fetching:
                            whole = frozenset(range(4))
                            requests += [(site, 2 * x + k, whole) for x in gone for k in (0, 1)]
                    continue
                for line in different(w // 128 for w in words):
                    sectors = frozenset(w // 32 % 4 for w in words if w // 128 == line)
                    if SITES[site].kind == "load":
                        sectors = plain[sm].missing(line, sectors)
                    if sectors:
                        requests.append((site, line, sectors))
            for site, line, sectors in requests:
                lacking = l2[line % halves].missing(line // halves, sectors)
                if SITES[site].kind == "load":
                    counts[site, 4:] += [len(sectors), len(sectors) - len(lacking)]
            queues = {k: q for k, q in queues.items() if q}
    return counts


def simulated(machine, accesses, placement=None):
    columns, rows = [], []
    for site, block, warp, lanes in accesses:
        array = 1 if SITES[site].space == "constant" else 0
        mask = (1 << len(lanes)) - 1
        columns.append((site, block, warp, 0, mask, array, 0, 0, 0, len(rows)))
        rows += lanes
    types = (np.int32,) * 4 + (np.uint32, np.int32, np.int64, np.int64, np.int32, np.int32)
    chunk = TraceChunk(
        *(np.array(c, t) for c, t in zip(zip(*columns, strict=True), types, strict=True)),
        np.array(rows, np.int32),
    )
    launch = Launch((BLOCKS, 1, 1), (32 * WARPS, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    facts = LaunchFacts(launch, resident, 0, 0, ARRAYS)
    system = MemorySystem(facts, machine, placement=placement, seed=SEED)
    system.begin(SITES, ("a", "c"))
    system.chunk(chunk)
    lines = system.array_lines
    return system.traffic(), {"a": int(lines[1]) * 128, "c": int(lines[2]) * 128}


def some_accesses(seed, sites=4):
    random = np.random.default_rng(seed)
    accesses = []
    for block in range(BLOCKS):
        for warp in range(WARPS):
            for _ in range(random.integers(1, 40)):
                site = int(random.integers(sites))
                width = SITES[site].lane_bytes
                size = 8192 if SITES[site].space == "constant" else 4096
                near = int(random.integers(0, size - 1024))
                reach = int(random.choice([width, 64, 1024]))
                lanes = near // 16 * 16 + random.integers(0, reach // width, 32) * width
                accesses.append((site, block, warp, lanes[: random.integers(1, 33)].tolist()))
    return accesses


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("l2", "partitions"), [(4096, ""), (1536, ""), (4096, "partitions = 1;")])
def test_random_accesses(seed, l2, partitions):
    accesses = some_accesses(seed)
    traffic, arrays_at = simulated(machine(l2, partitions), accesses)
    expected = reference(accesses, arrays_at, l2 // 512, {0} if partitions else {0, 1})
    for t, counts in zip(traffic.sites, expected, strict=True):
        levels = [(n.asked.value, n.missed.value) for n in t.constant]
        assert [x for level in levels for x in level] == counts[: 4 * bool(t.constant)].tolist()[:4]
        assert [c.name for c in t.constant] == ["cL1", "cL2"][: len(t.constant)]
        assert bool(t.constant) == (t.site.space == "constant")
        assert [t.l2_asked.value, t.l2_hits.value] == counts[4:].tolist()
        if t.constant:
            assert (t.sectors, t.lines, t.l1_hits.value) == (0, 0, 0)


@pytest.mark.parametrize("unknown", [{"scope": "die"}, {"block": "?"}])
def test_only_replays_where_a_cache_is_not_known(unknown):
    accesses = some_accesses(1, sites=2)
    known, _ = simulated(machine(), accesses)
    traffic, _ = simulated(machine(**unknown), accesses)
    for found, other in zip(traffic.sites, known.sites, strict=True):
        assert found.wavefronts == other.wavefronts
        assert not found.constant
        assert found.l2_sectors.value == found.dram_sectors.value == 0
    assert [m.name for m in traffic_metrics(traffic.sites, 32)] == ["idc__requests.sum"]


@pytest.mark.parametrize(("space", "cached"), [("shared", False), ("global", True)])
def test_an_array_seen_elsewhere_leaves_these_caches(space, cached):
    traffic, _ = simulated(machine(), some_accesses(1, sites=2), {"c": space})
    for site in traffic.sites[:2]:
        assert not site.constant
        assert (site.sectors > 0) == (site.l2_sectors.value > 0) == cached


SMALL = r"""
__constant__ float table[64];
extern "C" __global__ void same(float *out, int first, int n) {
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) s += table[(first + k) & 63];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void beside(float *out, int first, int n) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = table[(first + n) & 63] + table[7];
}
extern "C" __global__ void each(float *out, const int *which) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = table[which[threadIdx.x]];
}
"""
LARGE = r"""
__constant__ float table[16384];
extern "C" __global__ void stream(float *out, int rounds) {
    float s = 0;
#pragma unroll 1
    for (int r = 0; r < rounds; r++)
#pragma unroll 1
        for (int k = 0; k < 16384; k++) s += table[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
"""
OUT = np.zeros(128, np.float32)


def constant_counters(kernel, source, values, **arguments):
    """Of two blocks of two warps on two SMs of an A100: requests, misses of L1, lines missed in
    L1.5, sectors asked of L2."""
    case = make_case(
        kernel, source, {"out": OUT, **arguments},
        block=64, grid=2, arch="sm_80", constants={"table": values},
    )  # fmt: skip
    run = simulate_launch(compile_case(case), case.launch, case.inputs, load_machine("A100"))
    (site,) = (t for t in run.traffic.sites if t.constant)
    found = {m.name: m.value for m in launch_metrics(run)}
    requests, hits, misses = (
        found.get(f"idc__requests{end}.sum", 0) for end in ("", "_lookup_hit", "_lookup_miss")
    )
    assert hits == requests - misses
    return requests, misses, site.constant[1].missed.value, site.l2_sectors.value


def test_uniform_index_into_a_small_table():
    # 256 bytes are four lines of L1 and one of L1.5: each SM fetches them once.
    found = constant_counters(
        "same", SMALL, np.ones(64, np.float32), first=np.int32(3), n=np.int32(100)
    )
    assert found == (4 * 100, 2 * 4, 2, 2 * 8)


def test_a_constant_that_an_instruction_has_as_an_operand_is_no_request():
    # Four warps load one word by its index; table[7] is an operand of the sum. On two SMs.
    found = constant_counters(
        "beside", SMALL, np.ones(64, np.float32), first=np.int32(3), n=np.int32(1)
    )
    assert found == (4, 2, 2, 2 * 8)


def test_divergent_index_into_a_small_table():
    # 32 different words of a warp are 32 requests; of these 64 words each is in one of four lines.
    which = (np.arange(64, dtype=np.int32) * 37 + 5) % 64
    found = constant_counters("each", SMALL, np.ones(64, np.float32), which=which)
    assert found == (4 * 32, 2 * 4, 2, 2 * 8)


def test_a_table_of_64_kb_twice():
    # 1024 lines pass through an L1 of 32 in both rounds; L1.5 holds the table from the first on.
    found = constant_counters("stream", LARGE, np.ones(16384, np.float32), rounds=np.int32(2))
    assert found == (4 * 2 * 16384, 2 * 2 * 1024, 2 * 256, 2 * 2048)
