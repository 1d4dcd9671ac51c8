"""The harness that drives real kernels, on small kernels of our own."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import results
from benchmarks.real_kernels import command, outcome
from benchmarks.real_kernels.command import load_drivers, run_program
from benchmarks.real_kernels.registry import SUITES, RealProgram
from benchmarks.real_kernels.run import agreement, compile_program, run
from benchmarks.real_kernels.table import (
    END,
    START,
    Row,
    machine_code_agrees,
    read_rows,
    update_document,
    write_rows,
)
from benchmarks.real_kernels.touched import differences

SOURCE = """
#include "config.h"
__constant__ float weights[4];
__device__ int launches;
template <class T> __global__ void gather(const T *in, const int *index, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weights[i % 4] * in[index[i]];
    if (i == 0) launches += 1;
}
__global__ void count(const int *in, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1);
}
__global__ void outside(int *out) { out[threadIdx.x + 100] = 1; }
"""
N = 90
INDEX = np.random.default_rng(0).integers(0, 50, N).astype(np.int32)


def drive(device):
    values = np.arange(50, dtype=np.float32)
    weights = np.array([1, 2, 3, 4], np.float32)
    device.constant("weights", weights)
    index = device.array("index", INDEX)
    out = device.empty("out", N)
    device.launch("gather<float>", 3, 32, device.array("in", values), index, out, N)
    bins = device.zeros("bins", 50, np.int32)
    device.launch("count", 3, 32, index, bins, N)
    return [
        outcome.exact("out", out.view(), values[INDEX] * np.tile(weights, 23)[:N]),
        outcome.exact("bins", bins.view(), np.bincount(INDEX, minlength=50)),
        outcome.exact("launches", device.symbol("launches", np.int32).view(), [1]),
    ]


@pytest.fixture
def suites(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "kernels.cu").write_text(SOURCE)
    return tmp_path


def program(drive, *kernels, **options):
    return RealProgram(
        "own",
        "own",
        "kernels.cu",
        kernels,
        "something",
        drive,
        empty_headers=("config.h",),
        **options,
    )


OWN = program(drive, "gather<float>", "count")


def test_run_agrees_and_counts_every_byte(suites):
    done = run(OWN, compile_program(OWN, suites, "sm_80"), traced=True)
    assert done.agrees, done
    assert done.launches == 2
    counts = done.touched.counts()
    # Every element is four bytes; each is read once per thread that indexes it.
    uses = np.bincount(INDEX, minlength=INDEX.max() + 1)
    assert np.array_equal(counts["in", "read"], np.repeat(uses, 4))
    assert np.array_equal(counts["index", "read"], np.full(4 * N, 2))
    assert np.array_equal(counts["out", "written"], np.ones(4 * N))
    assert np.array_equal(counts["bins", "written"], counts["bins", "read"])
    assert np.array_equal(counts["bins", "read"], np.repeat(uses, 4))
    assert not any(name == "weights" for name, _ in counts)


def test_machine_code_agrees_with_ptx_and_with_the_reference(suites):
    row = run_program(OWN, suites, ("sm_80",))
    assert row.agrees
    assert row.sm_80 == "same bits"
    assert machine_code_agrees(row.sm_80)
    assert row.thread_instructions > 0
    assert row.functions == {("own", "kernels.cu", "gather"), ("own", "kernels.cu", "count")}


def test_other_accesses_and_other_results_are_told(suites):
    kernels = compile_program(OWN, suites, "sm_80")

    def shorter(device):
        device.array("index", INDEX)
        bins = device.zeros("bins", 50, np.int32)
        device.launch("count", 1, 32, device.arrays["index"], bins, 10)
        return []

    def full(device):
        device.array("index", INDEX)
        bins = device.zeros("bins", 50, np.int32)
        device.launch("count", 3, 32, device.arrays["index"], bins, N)
        return []

    few = run(program(shorter, "count"), kernels, traced=True)
    all_ = run(program(full, "count"), kernels, traced=True)
    assert differences(few.touched, few.touched) == ()
    told = differences(few.touched, all_.touched)
    assert "index read 40 and 360 bytes" in told
    said = agreement(OWN, few, all_)
    assert not said.agrees
    assert "index read 40 and 360 bytes" in said.said
    assert "bins" in said.said
    assert not machine_code_agrees(said.said)


def test_wrong_results_are_found(suites):
    def wrong(device):
        bins = device.zeros("bins", 50, np.int32)
        device.launch("count", 3, 32, device.array("index", INDEX), bins, N)
        return [outcome.exact("bins", bins.view(), np.zeros(50))]

    row = run_program(program(wrong, "count"), suites, ())
    assert row.reference == "other results: bins"
    assert row.worst == float("inf")


@pytest.mark.parametrize(
    ("kernel", "told"),
    [("outside", "out of bounds"), ("missing", "no kernel named 'missing'")],
)
def test_what_does_not_run_says_why(suites, kernel, told):
    def bad(device):
        device.launch(kernel, 1, 32, device.zeros("out", 32, np.int32))
        return []

    row = run_program(program(bad, kernel), suites, ("sm_80",))
    assert not row.agrees
    assert told in row.reference
    assert str(suites) not in row.reference
    assert row.sm_80 == ""


def test_missing_file_is_a_row_too(tmp_path):
    assert "kernels.cu" in run_program(OWN, tmp_path, ()).reference


def test_tolerance_is_roundings_of_the_scale():
    exact = np.array([1.0, 100.0])
    found = (exact * (1 + 3 * np.finfo(np.float32).eps)).astype(np.float32)
    assert outcome.rounded("a", found, exact, 4).worst <= 1
    assert outcome.rounded("a", found, exact, 2).worst > 1
    assert outcome.rounded("a", found, exact, 2, scale=200.0).worst <= 1
    assert outcome.rounded("a", np.array([np.nan], np.float32), [1.0], 4).worst == float("inf")
    assert outcome.near("a", found, exact, 1e-9, "none").worst > 1
    assert outcome.exact("a", [1, 2], [1, 2]).worst == 0
    assert outcome.exact("a", [1, 2], [1, 3]).worst == float("inf")


def test_table_comes_back_from_its_file_and_goes_into_the_document(tmp_path):
    row = Row(
        "own", "own", "a/kernels.cu", "f<int, 3>; g", "sums | products", 2, 12_345, 0.5, "agrees",
        0.25, "exact", "same bits", "refused",
    )  # fmt: skip
    write_rows(tmp_path / "rows.csv", [row, row])
    assert read_rows(tmp_path / "rows.csv") == [row, row]
    document = tmp_path / "doc.md"
    document.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    update_document(document, [row])
    text = document.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| kernels.cu | f<int, 3>, g | sums / products | 12,345 | agrees |" in text


def test_partial_runs_keep_the_other_rows(suites, monkeypatch, capsys):
    other = program(drive, "gather<float>", "count")
    second = RealProgram("second", "own", "kernels.cu", ("count",), "the same", other.drive)
    monkeypatch.setattr(command, "load_drivers", lambda: [OWN, second])
    monkeypatch.setattr(command, "SUITES", {"own": ""})
    monkeypatch.setattr(command, "TABLE", suites / "table.csv")
    monkeypatch.setattr(command, "DOCUMENT", suites / "doc.md")
    monkeypatch.setattr(results, "RESULTS", suites)
    (suites / "doc.md").write_text(f"{START}\n{END}\n")
    kept = Row(
        "second", "own", "kernels.cu", "count", "the same", 1, 1, 0.0, "agrees", 0.0, "exact",
        "same bits", "refused",
    )  # fmt: skip
    write_rows(suites / "table.csv", [kept])
    # Fewer kernels agree than the benchmark asks for.
    with pytest.raises(SystemExit):
        command.main(suites, ["own"], skip_machine_code=False)
    rows = read_rows(suites / "table.csv")
    assert [row.program for row in rows] == ["own", "second"]
    assert rows[0].sm_86 == "same bits"
    assert rows[1] == kept
    assert "something" in (suites / "doc.md").read_text()
    assert "[1/1] own (own): agrees; sm_80 same bits" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(None, None, skip_machine_code=False)
    assert "judging the table" in capsys.readouterr().out


def test_registry_is_consistent():
    programs = load_drivers()
    assert len({p.name for p in programs}) == len(programs)
    assert {p.suite for p in programs} == set(SUITES)
    for one in programs:
        assert one.kernels
        assert one.computes
        assert not Path(one.file).is_absolute()
        assert all(folder.split("/")[0] in SUITES for folder in one.includes)
