"""What the equations of Huang and Li are fed with: constant misses, time between requests, banks,
carried replays, addressing of the machine's own architecture, two-dimensional textures, staging."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.cases import load_case
from placewise.errors import UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import load_machine
from placewise.machine.machine import Dram
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.addressing import KEPLER_2D, addressing, instruction_difference
from placewise.model.huang_li.model import HuangLiModel
from placewise.model.huang_li.observe import observe

A4000 = load_machine("A4000")
ONE_BANK = replace(A4000, dram=Dram(row_bits=tuple(range(20, 30)), bank_hashes=(1 << 40,)))
COARSE = Dram(
    channels=8, banks=8, row_bits=tuple(range(21, 30)), bank_hashes=(1 << 18, 1 << 19, 1 << 20),
    channel_hashes=(1 << 15, 1 << 16, 1 << 17), hit_ns=100.0, miss_ns=115.0, conflict_ns=130.0,
)  # fmt: skip
"""64 banks of 32 KB each, one after another."""


def compiled(source, arguments, *, threads=32, blocks=1, machine=A4000, constants=()):
    major, minor = machine.limits.compute_capability
    arch = f"sm_{max(75, 10 * major + minor)}"
    case = named_case(
        make_case(
            "k", source, arguments, block=threads, problem=threads * blocks, arch=arch,
            constants=dict(constants),
        )
    )  # fmt: skip
    return compile_case(case), case.launch, case.inputs


TABLE = """
__constant__ float table[16384];
__global__ void k(float *out, int step) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += table[(i * 257 + blockIdx.x * step) & 16383];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def table():
    parts = compiled(
        TABLE, [np.zeros(32 * 64, np.float32), np.int32(4099)], blocks=64,
        constants={"table": np.ones(16384, np.float32)},
    )  # fmt: skip
    run = simulate_launch(*parts, A4000)
    return run, observe(run, A4000)


def test_misses_of_the_constant_cache_are_replays_requests_and_events(table):
    """Each of 64 blocks loads 64 different lines of a table of 64 KB: its SM's first cache, of 2
    KB, has none of them."""
    run, seen = table
    counted = run.traffic.constant_caches[0]
    assert counted.missed.value > 0.9 * counted.asked.value > 0
    assert seen.replays.constant_misses == counted.missed.value
    assert seen.constant.first_misses > 0.9 * seen.constant.requests
    assert 0 < seen.constant.dram < seen.constant.first_misses
    events = HuangLiModel().parts(seen, A4000).events
    total = seen.constant.requests + seen.replays.constant_misses
    assert events.constant == pytest.approx(total / seen.requests)


def test_misses_of_the_constant_cache_take_longer(table):
    _, seen = table
    hits = replace(seen.constant, first_misses=0.0, second_hits=0.0, dram=0.0)
    nearest = replace(seen, constant=hits, replays=replace(seen.replays, constant_misses=0.0))
    model = HuangLiModel()
    assert model.parts(seen, A4000).t_mem > 1.2 * model.parts(nearest, A4000).t_mem
    assert model.parts(seen, A4000).t_comp > model.parts(nearest, A4000).t_comp


CHASE = """
__global__ void k(const int *next, float *out, int n, int steps) {
    int i = threadIdx.x;
    float y = i;
    for (int s = 0; s < steps; s += %(loads)d) {
        #pragma unroll
        for (int t = 0; t < %(loads)d; ++t) i = next[i];
        #pragma unroll 1
        for (int j = 0; j < %(adds)d; ++j) y = y * 1.0001f + 0.5f;
    }
    out[threadIdx.x] = y + i;
}
"""


@pytest.mark.parametrize("sliced", [False, True])
def test_time_between_requests_is_counted_in_instructions(sliced):
    """A warp waits for each of its loads, all of which go to one bank. With 200 multiply-adds per
    load all gaps are alike; with 1,600 for eight loads seven of eight are short: of gaps g, 1, …, 1
    the deviation over the mean is near the root of 7."""
    gaps = {}
    for name, loads, adds in (("even", 1, 200), ("bursty", 8, 1600)):
        n = 1 << 21
        following = ((np.arange(n) + 32 * 64) % n).astype(np.int32)
        source = CHASE % {"loads": loads, "adds": adds}
        arguments = [following, np.zeros(32, np.float32), np.int32(n), np.int32(64)]
        parts = compiled(source, arguments)
        run = evidence_of(*parts, ONE_BANK).run if sliced else simulate_launch(*parts, ONE_BANK)
        (load,) = observe(run, ONE_BANK).banks
        assert load.requests == 64
        gaps[name] = load.gap_deviation / load.gap_mean
        # Of 64 loads the first comes at once or after 1,600 multiply-adds.
        per_warp = run.execution.warp_instructions
        assert load.gap_mean * per_warp == pytest.approx(per_warp / 64, rel=0.25)
    assert gaps["even"] < 0.05
    assert gaps["bursty"] == pytest.approx(np.sqrt(7), rel=0.1)


@pytest.mark.parametrize("name", ["transpose", "spmv"])
def test_banks_of_a_few_blocks_stand_for_all(name):
    """The blocks of one SM touch a few of 64 banks; the launch touches all."""
    machine = replace(A4000, dram=COARSE)
    case = load_case(name)
    case = named_case(replace(case, options=replace(case.options, arch="sm_86")))
    parts = (compile_case(case), case.launch, case.inputs)
    few, whole = evidence_of(*parts, machine).run, simulate_launch(*parts, machine)
    assert few.traffic.traced < 0.05
    assert whole.traffic.traced == 1.0
    sampled, seen = observe(few, machine), observe(whole, machine)
    assert len(sampled.banks) == len(seen.banks) == 64
    model = HuangLiModel()
    times = [model.parts(one, machine).total for one in (sampled, seen)]
    assert times[0] == pytest.approx(times[1], rel=0.15)


def test_banks_are_as_many_as_the_mapping_tells_apart(table):
    _, seen = table
    machine = replace(
        A4000, dram=Dram(row_bits=(20,), bank_hashes=tuple(1 << b for b in range(8, 13)))
    )
    parts = HuangLiModel(queue="even").parts(seen, machine)
    assert parts.notes == ("requests spread evenly over 32 banks",)


DOUBLE = """
__global__ void k(const double *a, double *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[i];
    for (int j = 0; j < 8; ++j) x = x * 1.5 + 0.25;
    b[i] = x;
}
"""


def test_replays_that_no_placement_changes_are_carried_over():
    """Eq. 3: eight double multiply-adds of each warp issue over two cycles, wherever ``a`` is."""
    data = np.ones(4096)
    run = simulate_launch(*compiled(DOUBLE, [data, data.copy()], blocks=128), A4000)
    sample = observe(run, A4000)
    assert sample.carried == 8 * sample.total_warps
    target = replace(sample, carried=0.0, replays=replace(sample.replays, bank_conflicts=100.0))
    model = HuangLiModel()
    alone, carried = model.parts(target, A4000), model.parts(target, A4000, sample)
    assert carried.t_comp > alone.t_comp
    # A profiler counted twice as many of the sample: the target has as many more.
    counted = sample.replays.total + 2 * sample.carried
    measured = model.parts(target, A4000, sample, counted)
    assert measured.t_comp - alone.t_comp == pytest.approx(2 * (carried.t_comp - alone.t_comp))


ADD = """
__global__ void k(const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = 2 * a[i];
}
"""


@pytest.fixture(scope="module")
def kepler():
    k80 = load_machine("K80")
    size = 1 << 20
    parts = compiled(
        ADD, [np.zeros(size, np.float32), np.zeros(size, np.float32)], threads=256,
        blocks=size // 256, machine=k80,
    )  # fmt: skip
    return k80, parts


def test_kepler_takes_what_the_paper_prints(kepler):
    k80, parts = kepler
    present = observe(simulate_launch(*parts, k80), k80)
    for space, added in (("texture", -2), ("constant", -1), ("shared", -1)):
        moved = observe(simulate_launch(*parts, k80, placement={"a": space}), k80, {"a": space})
        assert moved.instructions - present.instructions == pytest.approx(added)
    assert instruction_difference("sm_37", "float", "global", "texture") == -2
    with pytest.raises(UnsupportedError, match="no loads of double from texture"):
        instruction_difference("sm_86", "double", "global", "texture")


def test_the_k80_has_the_papers_banks(kepler):
    """Of 4 MB from an aligned start on, bits 5 to 7 tell eight banks apart; two arrays of 4 MB lie
    in two such ranges."""
    k80, parts = kepler
    dram = k80.dram
    assert sorted((*dram.column_bits, *dram.row_bits)) == [*range(8, 22), 30, 31, 32]
    seen = observe(simulate_launch(*parts, k80), k80)
    assert len(seen.banks) % 8 == 0
    assert 8 <= len(seen.banks) <= 24
    whole, even = HuangLiModel().parts(seen, k80), HuangLiModel(queue="even").parts(seen, k80)
    assert whole.dram_latency != even.dram_latency


def test_textures_of_two_dimensions_take_both_coordinates(kepler):
    """nvdisasm for sm_86: two I2FP before TEX, on the column and on the row."""
    assert addressing("sm_86", "float", "texture2d").per_access == 2
    k80, parts = kepler
    moved = {"a": "texture2d"}
    seen = observe(simulate_launch(*parts, k80, placement={"a": "texture"}), k80, moved)
    assert seen.texture.requests > 0
    present = observe(simulate_launch(*parts, k80), k80)
    assert seen.instructions - present.instructions == pytest.approx(KEPLER_2D - 2)


def test_filling_shared_memory_takes_its_bytes_over_the_bandwidth(kepler):
    k80, parts = kepler
    run = simulate_launch(*parts, k80, placement={"a": "shared"})
    free, filled = (observe(run, k80, {"a": "shared"}, staged_bytes=n) for n in (0.0, 240e6))
    model = HuangLiModel()
    more = model.parts(filled, k80).total - model.parts(free, k80).total
    # 240 MB at 240 GB/s are a millisecond, at 875 MHz.
    assert more == pytest.approx(875e3)


SHARED = """
__global__ void k(const float *a, float *b) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = tile[255 - threadIdx.x];
}
"""


def test_what_leaves_shared_memory_is_indexed_by_the_thread():
    """A store and a load of each of 1,024 warps are coalesced: four sectors of one line. Every
    thread's element fits L2, which has it when it is loaded."""
    size = 1 << 15
    data = [np.zeros(size, np.float32), np.zeros(size, np.float32)]
    run = simulate_launch(*compiled(SHARED, data, threads=256, blocks=128), A4000)
    present, moved = observe(run, A4000), observe(run, A4000, leaves_shared="global")
    assert (present.shared.requests, moved.shared.requests) == (2048, 0)
    assert moved.global_.requests == present.global_.requests + 2048
    assert moved.global_.first_misses == present.global_.first_misses + 2048
    assert moved.dram_sectors == present.dram_sectors
    # sm_86: shared memory takes the index as it is, global memory one multiply-add.
    assert moved.instructions - present.instructions == pytest.approx(2)
    with pytest.raises(UnsupportedError, match="not moved to constant"):
        observe(run, A4000, leaves_shared="constant")
