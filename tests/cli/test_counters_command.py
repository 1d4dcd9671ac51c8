"""`placewise counters`: text, data, parts that add up, and measured counters beside."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.documents.counters import counters_document
from placewise.advisor.predictions.moved_counters import predict_moved_counters
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.cli.main import main
from placewise.errors import CaseError
from placewise.memory.simulate.caches.tlb import TlbTraffic
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.simulate.metrics.ncu_metrics import WARPS_ACTIVE
from placewise.report.formats import report_console
from placewise.report.predictions.counters import render_counters

LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
SPILLED = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"
WARPS = "smsp__inst_executed.sum"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "profile.csv"
    header = f'"ID","Kernel Name","{LOADS}","{STORES}","{SPILLED}"'
    path.write_text(f'{header}\n"0","spmv","1000","5","7"\n')
    return predict_counters("spmv", "RTX2080Ti", measured=path, row=0, sizes=True)


def text_of(report, **options):
    console = report_console()
    with console.capture() as capture:
        console.print(render_counters(report, **options))
    return capture.get()


def test_predicted_beside_measured(report):
    predicted = {m.name: m.value for m in report.metrics}
    line = next(x for x in text_of(report).splitlines() if LOADS in x)
    error = 100 * (predicted[LOADS] / 1000 - 1)
    assert f"{predicted[LOADS]:,.0f}" in line
    assert "1,000" in line
    assert f"{error:+.2f} %" in line


def test_what_was_recorded_and_is_not_predicted_is_zero(report):
    line = next(x for x in text_of(report).splitlines() if SPILLED in x)
    assert line.split() == [SPILLED, "0", "7", "-100.00", "%"]
    assert report.to_dict()["counters"][SPILLED]["value"] == 0


def test_a_recording_of_another_launch_is_refused_or_told(tmp_path):
    path = tmp_path / "profile.csv"
    columns = '"ID","Kernel Name","Block Size","Grid Size","CC","dram__cycles_elapsed.avg"'
    path.write_text(f'{columns}\n"0","spmv(int)","(64, 1, 1)","(99, 1, 1)","7.5","5"\n')
    with pytest.raises(CaseError, match="another launch of 'spmv': block 64 × 1 × 1, here 256"):
        predict_counters("spmv", "RTX2080Ti", measured=path)
    told = predict_counters("spmv", "RTX2080Ti", measured=path, row=0)
    lines = text_of(told).splitlines()
    assert "recorded with block 64 × 1 × 1, here 256 × 1 × 1" in lines
    assert "has none of these counters" in " ".join(" ".join(lines).split())
    assert len(told.to_dict()["measured_with"]) == 2


def test_parts_add_up(report):
    document = report.to_dict()
    json.dumps(document, allow_nan=False)
    total = {name: c["value"] for name, c in document["counters"].items()}
    arrays = document["arrays"].values()
    lines = [x["counters"] for x in document["lines"]]
    for name in (LOADS, STORES):
        assert sum(a[name]["value"] for a in arrays if name in a) == pytest.approx(total[name])
        assert sum(x[name]["value"] for x in lines if name in x) == pytest.approx(total[name])
    assert sum(x[WARPS]["value"] for x in lines if WARPS in x) <= total[WARPS]
    assert document["executed"] == "machine code"


def test_what_the_machine_reads_itself_is_counted_and_said(report):
    """Without it, L2 reads are those of the arrays and of the machine code."""
    reads = "lts__t_sectors_op_read.sum"
    document = report.to_dict()
    total = document["counters"][reads]["value"]
    parts = sum(a[reads]["value"] for a in document["arrays"].values() if reads in a)
    assert "(machine code)" in document["arrays"]
    assert document["background_microseconds"] > 0
    assert total - parts == pytest.approx(441e6 / 32 * document["background_microseconds"] * 1e-6)
    assert "background reads" in " ".join(document["notes"])


def test_each_array_and_line_is_told(report):
    by_array, by_line = text_of(report, by="array"), text_of(report, by="line")
    assert all(f"\n  {name} " in by_array for name in ("values", "columns", "x", "y"))
    shares = by_array.split(f"\n{STORES}")[-1].splitlines()[1].split()
    assert shares[0] == "y"
    assert shares[-2:] == ["100", "%"]
    assert "values[j] * x[columns[j]]" in by_line


def test_occupancy_is_a_bound(report):
    line = next(x for x in text_of(report).splitlines() if WARPS_ACTIVE in x)
    assert line.split()[1:] == ["≤", "100"]
    assert report.to_dict()["counters"][WARPS_ACTIVE]["upper_bound"]
    for measured, word in ((87.5, "holds"), (101.0, "exceeded")):
        launch = replace(report.measured, values={WARPS_ACTIVE: measured})
        text = text_of(replace(report, measured=launch))
        assert next(x for x in text.splitlines() if WARPS_ACTIVE in x).endswith(word)


def test_translation_and_row_buffers(report):
    """Shown where the machine's file tells of them."""
    assert "Address translation" not in text_of(report)
    assert "DRAM banks" not in text_of(report)
    counts = [np.array(n, float) for n in ([30, 10], [10, 6], [1, 1], [19, 3], [0, 0], [0, 0])]
    sites = list(report.run.traffic.sites)
    first, second = (n for n, s in enumerate(sites) if s.array in ("x", "y"))
    for n, asked in ((first, 150), (second, 50)):
        tlbs = (TlbTraffic("T1", asked, asked - 25), TlbTraffic("T2", 0, 0))
        sites[n] = replace(sites[n], tlbs=tlbs)
    banks = BankTraffic(*counts, duration=1.0, sectors=40.0)
    traffic = replace(report.run.traffic, sites=tuple(sites), banks=banks)
    known = replace(report, run=replace(report.run, traffic=traffic))
    lines = [line.split() for line in text_of(known).splitlines()]
    assert ["T1", "200", "75.0", "%"] in lines
    assert ["T2", "0", "–"] in lines
    assert ["row", "open", "16", "40.0", "%"] in lines
    assert ["another", "row", "open", "22", "55.0", "%"] in lines
    assert ["busiest", "of", "2", "banks", "30", "75.0", "%"] in lines
    document = known.to_dict()
    json.dumps(document, allow_nan=False)
    assert document["tlbs"][0] == {"name": "T1", "requests": 200, "hits": 150}
    by_array = [line.split() for line in text_of(known, by="array").splitlines()]
    assert ["x", "150", "83.3", "%"] in by_array
    assert ["y", "50", "50.0", "%"] in by_array
    assert document["array_levels"]["y"]["tlbs"][0]["hits"] == 25
    place = next(x for x in document["lines"] if sites[first].site.source_line == x["line"])
    assert place["tlbs"][0]["requests"] == 150
    by_line = " ".join(text_of(known, by="line").split())
    assert f"spmv.cu:{place['line']} 150 83.3 %" in by_line
    assert document["dram_banks"]["conflicts"] == [19.0, 3.0]


def test_slices_of_l2(report):
    """Every sector that the SMs ask for lies in one of them."""
    total = {m.name: m.value for m in report.metrics}
    slices = report.to_dict()["l2_slices"]
    assert len(slices["loads"]) == 44
    assert slices["crossed"] is None
    for op, kind in (("read", "loads"), ("write", "stores")):
        name = f"lts__t_sectors_op_{op}"
        assert 44 * total[f"{name}.avg"] == pytest.approx(total[f"{name}.sum"])
        assert total[f"{name}.min"] <= total[f"{name}.avg"] <= total[f"{name}.max"]
        busiest = max(slices[kind]) / sum(slices[kind])
        assert total[f"{name}.max"] == pytest.approx(busiest * total[f"{name}.sum"])
    assert sum(slices["stores"]) == pytest.approx(total["lts__t_sectors_op_write.sum"])
    assert not sum(slices["atomics"])


def test_other_sizes_of_l2(report):
    """Both speeds: they differ by sets alone, as the policy is to replace the least recently used
    line; larger caches miss no more."""
    sizes = report.to_dict()["l2_sizes"]
    estimated = [one["estimated"] for one in sizes]
    assert estimated == sorted(estimated, reverse=True)
    for one in sizes:
        assert one["simulated"] == pytest.approx(one["estimated"], rel=0.05)
    own = next(one for one in sizes if one["size_bytes"] == 5632 * 1024)
    assert f"{100 * own['simulated']:.2f} %" in text_of(report)


def test_bad_input(monkeypatch, capsys, tmp_path):
    nothing = tmp_path / "empty.csv"
    nothing.write_text("")
    arguments = ["counters", "spmv", "-m", "A4000", "--measured", str(nothing)]
    monkeypatch.setattr(sys, "argv", ["placewise", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "no counters" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"block": 64, "grid": (1, 65536)}, "65536 along y"),
        ({"block": 2048, "grid": 1}, "2048 threads"),
        ({"block": 64, "grid": 1, "shared_bytes": 1 << 20}, "1048576 bytes of dynamic"),
    ],
)
def test_a_launch_that_the_machine_refuses(shape, message):
    source = "__global__ void f(float *a) { *a = 1; }"
    case = make_case("f", source, {"a": np.zeros(1, np.float32)}, **shape)
    with pytest.raises(CaseError, match=message):
        predict_counters(case, "A100")


GATHER = """
__global__ void gather(const float *table, const int *index, float *out, const float *large) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * table[index[i]];
}
"""


def gather():
    index = np.random.default_rng(0).integers(0, 64, 2048, dtype=np.int32)
    arrays = {"table": np.arange(64, dtype=np.float32), "index": index}
    out = {"out": np.zeros(2048, np.float32), "large": np.zeros(1, np.float32)}
    return make_case("gather", GATHER, {**arrays, **out}, block=64, grid=32)


@pytest.mark.parametrize("space", ["texture", "constant", "readonly"])
def test_a_retargeted_array_is_counted_as_the_rewritten_one(space):
    kinds = ("l1tex__t_requests", "l1tex__t_sectors_pipe", "idc__requests.sum")
    moves = {"table": space}
    counts = []
    for retarget in (False, True):
        both = predict_moved_counters(gather(), "A4000", moves, retarget=retarget)
        assert both.moved.moves == (("table", space),)
        found = {m.name: m.value for m in both.moved.metrics if m.name.startswith(kinds)}
        counts.append({name: value for name, value in found.items() if "hit" not in name})
        document = counters_document(both.moved, present=both.present)
        assert document["moves"] == [{"array": "table", "space": space}]
        assert document["counters_as_it_is"].keys() >= {"smsp__inst_executed.sum"}
        assert "change" in text_of(both.moved, present=both.present)
    assert counts[0] == counts[1]


def test_a_retargeted_arrays_addresses_take_warps_and_threads():
    both = predict_moved_counters(gather(), "A4000", {"table": "shared"}, retarget=True)
    before, after = ({m.name: m.value for m in r.metrics} for r in (both.present, both.moved))
    fewer = before[WARPS] - after[WARPS]
    assert fewer
    threads = "smsp__thread_inst_executed.sum"
    assert before[threads] - after[threads] == 32 * fewer
    assert after["smsp__thread_inst_executed_per_inst_executed.ratio"] == 32


def test_reductions_in_shared_memory_are_counted_as_the_atomics_they_are_there():
    source = "__global__ void count(int *bins) { atomicAdd(bins + threadIdx.x / 64, 2); }"
    case = make_case("count", source, {"bins": np.zeros(2, np.int32)}, block=64, grid=1)
    both = predict_moved_counters(case, "A4000", {"bins": "shared"}, retarget=True)
    before, after = ({m.name: m.value for m in r.metrics} for r in (both.present, both.moved))
    wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
    assert before["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] > 0
    assert after[wavefronts.format("atom")] > 0
    assert wavefronts.format("red") not in after


def test_what_only_one_of_both_forms_has_is_zero_in_the_other():
    both = predict_moved_counters(gather(), "A4000", {"table": "texture"})
    text = text_of(both.moved, present=both.present)
    row = next(x.split() for x in text.splitlines() if "requests_pipe_tex_mem_texture" in x)
    assert row[1:] == ["0", "64"]
    names = [x.split()[0] for x in text.splitlines() if x.startswith("l1tex")]
    assert names[0] == LOADS


def test_the_rewritten_kernels_outputs_are_compared():
    both = predict_moved_counters(gather(), "A4000", {"table": "shared"})
    assert "the rewritten kernel's outputs are bit-identical" in both.moved.notes
    wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    assert {m.name for m in both.moved.metrics} - {m.name for m in both.present.metrics} >= {
        wavefronts
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--place", "table=textur"], "did you mean 'texture'"),
        (["--place", "tabel=texture"], "did you mean 'table'"),
        (["--place", "table"], "does not say what moves"),
        (["--place", "out=constant", "--retarget"], "the kernel writes to it"),
        (["--place", "large=constant", "--retarget"], "it holds 64 KB"),
        (["--place", "large=shared", "--retarget"], "156 KB in shared memory; a block may have 99"),
        (["--place", "out=constant"], "cannot be placed in constant: written"),
        (["--retarget"], "no array is moved"),
    ],
)
def test_moves_that_cannot_be_are_refused(tmp_path, capsys, monkeypatch, arguments, message):
    np.save(tmp_path / "index.npy", np.zeros(64, np.int32))
    (tmp_path / "gather.toml").write_text(f"""
schema = 1
kernel = "gather"
code = '''{GATHER}'''
launch = {{ grid = [1], block = [64] }}
arguments = [
    {{ name = "table", dtype = "float32", fill = 1, shape = [64] }},
    {{ name = "index", file = "index.npy" }},
    {{ name = "out", dtype = "float32", fill = 0, shape = [64] }},
    {{ name = "large", dtype = "float32", fill = 0, shape = [40000] }},
]
""")
    command = ["placewise", "counters", str(tmp_path / "gather.toml"), "-q", "-m", "A4000"]
    monkeypatch.setattr("sys.argv", [*command, *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
