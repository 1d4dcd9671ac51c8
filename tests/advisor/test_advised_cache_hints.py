"""Cache hints from the search to the proof: two long streams beside a table that L1 could keep."""

import numpy as np
import pytest

from placewise.advisor import advise, legal_placements, prepare, verify
from placewise.advisor.cache_hints import hinted, windowed_array
from placewise.advisor.predictions.moved_counters import predict_moved_counters
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.errors import UnsupportedError
from placewise.kernel.binary.surviving_hints import Fate
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

SOURCE = """
extern "C" __global__ void lookup(const int *index, const float *weight, const float *table,
                                  float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weight[i] * table[index[i]];
}
"""
READ = "lts__t_sectors_op_read.sum"
HIT = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"


def lookup(table, source=SOURCE, n=1 << 18):
    rng = np.random.default_rng(0)
    arguments = [
        rng.integers(0, table, n, dtype=np.int32),
        rng.random(n, dtype=np.float32),
        rng.random(table, dtype=np.float32),
        np.zeros(n, np.float32),
        np.int32(n),
    ]
    return make_case("lookup", source, arguments, block=256, problem=n)


@pytest.fixture(scope="module")
def advised():
    return advise(lookup(1 << 15), "A100", finalists=1)


def placed(advice, space):
    moves = tuple((a, "global", space) for a in ("index", "weight"))
    present = advice.present.placement
    return next(o for o in advice.options if o.placement.moved(present) == moves)


def computes_the_same(option, advice):
    """Advice itself runs only forms that gain."""
    prepared = prepare(advice.case, advice.machine)
    return verify(option.rewritten, prepared.case, prepared.execution).identical


@pytest.mark.parametrize(
    ("space", "function"),
    [
        ("l2only", "__ldcg"),
        ("streaming", "__ldcs"),
        ("no_allocate", "load_no_allocate"),
        ("prefetch_256", "load_prefetch_256"),
        ("once", "load_once_prefetch_256"),
    ],
)
def test_streams_are_hinted_and_timed(advised, space, function):
    option = placed(advised, space)
    assert computes_the_same(option, advised)
    assert option.rerun is not None
    source = option.rewritten.case.source
    assert f"{function}(&weight[i]) * table[{function}(&index[i])]" in source
    assert {h.fate for h in option.hints} == {Fate.SURVIVED}
    assert {h.asked for h in option.hints} == {advised.machine.space(space).hint}


def test_the_table_is_kept_in_l1(advised):
    moves = (("table", "global", "evict_last"),)
    present = advised.present.placement
    option = next(o for o in advised.options if o.placement.moved(present) == moves)
    assert computes_the_same(option, advised)
    assert "load_evict_last(&table[index[i]])" in option.rewritten.case.source
    assert {h.fate for h in option.hints} == {Fate.SURVIVED}


def test_advice_says_what_times_of_hints_rest_on(advised):
    assert any("how strictly hardware follows" in note for note in advised.notes)
    (document,) = (
        o["hints"]
        for o in advised.to_dict()["options"]
        if o["moves"] and o["moves"][0]["to"] == "once"
    )
    assert document[0]["text"].startswith("line ")
    assert document[0]["fate"] == "survived"


def test_hints_do_not_multiply_the_search(advised):
    # Three arrays that are read, and the result.
    assert advised.placements == len({"global", "readonly", "texture", "shared"}) ** 3 * 2
    prepared = prepare(lookup(1 << 15), load_machine("A100"))
    listed = list(legal_placements(prepared.legality))
    assert len(listed) == len(set(listed))
    spaces = prepared.machine.spaces
    loaded = {s.name for s in spaces if s.hint}
    alone = [p for p in listed if loaded & {space for _, space in p}]
    # Each for three arrays and for all of them; what is only written has nothing to hint.
    assert len(alone) == len(loaded) * (3 + 1)
    windows = [p for p in listed if "persisting" in {space for _, space in p}]
    assert len(windows) == 4, "a launch has one window, over any array"


def test_no_hint_where_nothing_could_gain():
    """A table that L1 keeps beside the streams, and one that it could not keep alone."""
    for table in (1 << 8, 1 << 22):
        prepared = prepare(lookup(table), load_machine("A100"))
        found = hinted(prepared.profile, prepared.legality, prepared.machine)
        # Streams may gain by a prefetch, which leaves nothing to others.
        assert {s for p in found for _, s in p} <= {"global", "prefetch_256"}


def test_windows_are_left_out_where_they_save_no_time_at_best():
    prepared = prepare(lookup(1 << 24, n=1 << 20), load_machine("A100"))
    asked = prepared.profile, prepared.legality, prepared.machine
    assert windowed_array(*asked) == "table"
    with_, without = (hinted(*asked, windows=w) for w in (True, False))
    (window,) = (p for p in with_ if p not in without)
    assert ("table", "persisting") in window.spaces
    assert [p for p in with_ if p != window] == without


@pytest.mark.parametrize("space", ["l2only", "streaming", "no_allocate"])
@pytest.mark.parametrize("retarget", [False, True], ids=["rewritten", "retargeted"])
def test_counters_of_the_table_gain(space, retarget):
    both = predict_moved_counters(
        lookup(3 << 12, n=1 << 19), "T1000", {"index": space, "weight": space}, retarget=retarget
    )
    before, after = (
        {m.name: m.value for m in report.metrics} for report in (both.present, both.moved)
    )
    assert after[READ] < 0.8 * before[READ]
    if not retarget:
        assert after[HIT] > before[HIT]
        assert after["smsp__inst_executed.sum"] == before["smsp__inst_executed.sum"]


def test_a_table_that_is_kept_gains():
    both = predict_moved_counters(lookup(3 << 12, n=1 << 19), "T1000", {"table": "evict_last"})
    before, after = (
        {m.name: m.value for m in report.metrics} for report in (both.present, both.moved)
    )
    assert after[READ] < 0.8 * before[READ]
    assert after[HIT] > before[HIT]
    assert "all cache hints survived" in both.moved.notes[-1]


def test_past_l1_every_sector_is_asked_of_l2():
    n = 1 << 14
    both = predict_moved_counters(lookup(1 << 8, n=n), "A100", {"table": "l2only"})
    before, after = (
        {m.name: m.value for m in report.metrics} for report in (both.present, both.moved)
    )
    assert HIT in before
    assert HIT not in after, "nothing is found there, so the counter is left out"


def test_what_the_kernel_writes_too_can_be_hinted_but_not_made_read_only():
    source = SOURCE.replace("out[i] =", "out[i] = out[i] +")
    case = lookup(1 << 8, source)
    machine, view = load_machine("A100"), analyse_source(case)
    text = rewrite(case, Placement.of({"out": "l2only"}), machine, view).case.source
    assert "out[i] = __ldcg(&out[i]) + weight[i]" in text
    with pytest.raises(UnsupportedError, match="written"):
        rewrite(case, Placement.of({"out": "readonly"}), machine, view)


def test_hints_in_the_source_are_where_the_array_is():
    source = SOURCE.replace("weight[i] *", "__ldcs(&weight[i]) *")
    prepared = prepare(lookup(1 << 8, source), load_machine("A100"))
    assert prepared.legality.present["weight"] == "streaming"
    assert prepared.legality.present["index"] == "global"
    old = prepare(lookup(1 << 8, source), load_machine("K20c"))
    assert old.legality.present["weight"] == "global"


STORES = """
extern "C" __global__ void keep(const float *table, float *out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int r = 0; r < rounds; r++) {
        s += __ldcg(&table[(i * 8 + r * 8) % n]);
        __syncthreads();
        STORE(&out[(r * gridDim.x * blockDim.x + i) * 8], s);
    }
}
"""


def test_streamed_stores_leave_the_table_in_l2():
    """A table of half an L2 that is read once a round, between stores of many times its size."""
    n, rounds = 1 << 17, 24
    arguments = [
        np.zeros(n, np.float32),
        np.zeros(rounds << 17, np.float32),
        np.int32(n),
        np.int32(rounds),
    ]

    def read_from_dram(store):
        case = make_case("keep", STORES, arguments, block=1024, grid=16, defines={"STORE": store})
        found = {m.name: m.value for m in predict_counters(case, "T1000").metrics}
        return found["dram__sectors_read.sum"]

    plain, streamed = read_from_dram("__stwb"), read_from_dram("__stcs")
    assert streamed < 0.7 * plain
