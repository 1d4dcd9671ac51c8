"""Traces as other programs read them, beside executed counts and addresses known by hand."""

from collections import Counter
from dataclasses import replace

import accel_sim_reader as reader
import numpy as np
import pytest
from typer.testing import CliRunner

import placewise
from placewise.cli.main import app
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import execute
from placewise.executor.exported.export import export_traces
from placewise.kernel.cases.prepare_case import compile_case, named_case

SOURCE = """
extern "C" __global__ void strided(const float *a, const int *where, float *o, int n) {
    __shared__ float kept[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    kept[threadIdx.x] = a[2 * i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < threadIdx.x % 4; ++k) sum += a[where[i] + k];
    if (threadIdx.x % 2) o[i] = sum + kept[threadIdx.x ^ 1];
}
"""
N = 250
rng = np.random.default_rng(3)
WHERE = rng.integers(0, 500, 256).astype(np.int32)


@pytest.fixture(scope="module")
def case():
    arguments = [np.ones(512, np.float32), WHERE, np.zeros(256, np.float32), np.int32(N)]
    return placewise.make_case("strided", SOURCE, arguments, block=64, grid=4)


@pytest.fixture(scope="module")
def traced(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    done = export_traces(case, "A100", accel_sim=folder, parquet=folder / "accesses.parquet")
    return folder, done, *reader.kernel(folder / "kernel-1.traceg")


@pytest.fixture(scope="module")
def executed(case):
    case = named_case(replace(case, options=replace(case.options, arch="sm_80")))
    kernel = replace(compile_case(case), machine_code=True)
    return execute(kernel, case.launch, case.inputs)


def test_the_header_is_the_launch(traced):
    _, done, header, blocks = traced
    assert header["grid dim"] == "(4,1,1)"
    assert header["block dim"] == "(64,1,1)"
    assert header["binary version"] == "80"
    assert header["accelsim tracer version"] == "3"
    assert int(header["shmem"]) == 64 * 4
    assert list(blocks) == [(x, 0, 0) for x in range(4)]
    assert all(len(warps) == 2 for warps in blocks.values())
    assert done.blocks == 4


def test_every_instruction_is_executed_as_often_as_the_executor_counts(traced, executed):
    _, done, _, blocks = traced
    seen = Counter(i.pc for warps in blocks.values() for warp in warps for i in warp)
    counted = Counter({c.place: c.warps for c in executed.instruction_counts() if c.warps})
    more = counted - seen
    # The executor counts each group of lanes that arrives where they meet again.
    assert set(more) <= set(executed.meeting_places)
    assert seen + more == counted
    assert done.warp_instructions == executed.warp_instructions - more.total()


def test_lanes_leave_at_exit_and_not_before(traced):
    *_, blocks = traced
    for (x, _, _), warps in blocks.items():
        for number, warp in enumerate(warps):
            first = x * 64 + number * 32
            alive = 0xFFFFFFFF
            for i in warp:
                assert i.mask & ~alive == 0
                alive &= ~i.mask if i.opcode.startswith("EXIT") else 0xFFFFFFFF
            assert alive == 0
            left_early = next(i.mask for i in warp if i.opcode.startswith("EXIT"))
            assert left_early == sum(1 << lane for lane in range(32) if first + lane >= N)


def test_addresses_are_those_of_the_source(traced):
    folder, *_, blocks = traced
    copies, kernels = reader.commands(folder / "kernelslist.g")
    assert kernels == ["kernel-1.traceg"]
    a, where, o = [at for at, _ in copies[:3]]
    assert [size for _, size in copies[:3]] == [512 * 4, 256 * 4, 256 * 4]
    for (x, _, _), warps in blocks.items():
        for number, warp in enumerate(warps):
            loads = [i for i in warp if i.opcode.startswith("LDG")]
            stores = [i for i in warp if i.opcode.startswith("STG")]
            first = x * 64 + number * 32
            lanes = [lane for lane in range(32) if first + lane < N]
            gathered = Counter()
            for load in loads:
                gathered.update((lane, at) for lane, at in load.addresses.items())
            wanted = Counter({(lane, a + 4 * 2 * (first + lane)): 1 for lane in lanes})
            for lane in lanes:
                times = lane % 4
                start = a + 4 * int(WHERE[first + lane])
                wanted.update((lane, start + 4 * k) for k in range(times))
            for lane, at in list(gathered):
                if where <= at < where + 1024:
                    assert at == where + 4 * (first + lane)
                    del gathered[lane, at]
            assert gathered == wanted
            stored = {lane: at for i in stores for lane, at in i.addresses.items()}
            assert stored == {lane: o + 4 * (first + lane) for lane in lanes if lane % 2}


def test_shared_addresses_are_offsets_in_the_block(traced):
    *_, blocks = traced
    for warps in blocks.values():
        for number, warp in enumerate(warps):
            stored = [i for i in warp if i.opcode.startswith("STS")]
            for i in stored:
                assert i.addresses == {
                    lane: 4 * (32 * number + lane) for lane in range(32) if i.mask >> lane & 1
                }


def test_registers_are_those_of_the_listing(traced):
    *_, blocks = traced
    warp = blocks[0, 0, 0][0]
    load = next(i for i in warp if i.opcode.startswith("LDG"))
    store = next(i for i in warp if i.opcode.startswith("STG"))
    assert (len(load.written), len(load.read)) == (1, 1)
    assert (len(store.written), len(store.read)) == (0, 2)


def test_the_table_has_every_access(traced):
    parquet = pytest.importorskip("pyarrow.parquet")
    folder, done, _, blocks = traced
    rows = parquet.read_table(folder / "accesses.parquet").to_pylist()
    assert len(rows) == done.accesses
    seen = {
        (row["block"], row["warp"], row["at"]): (row["offset"], row["lanes"], row["addresses"])
        for row in rows
    }
    for (x, _, _), warps in blocks.items():
        for number, warp in enumerate(warps):
            for at, i in enumerate(warp):
                if i.width:
                    offset, lanes, addresses = seen.pop((x, number, at))
                    assert (offset, lanes) == (i.pc, i.mask)
                    assert addresses == list(i.addresses.values())
    assert not seen
    assert {row["array"] for row in rows if row["space"] == "global"} == {"a", "where", "o"}
    assert {row["phase"] for row in rows if row["space"] == "shared" and row["kind"] == "load"} == {
        1
    }
    assert all(row["line"] for row in rows)


def test_some_blocks_are_a_grid_of_their_own(case, tmp_path):
    done = export_traces(case, "A100", accel_sim=tmp_path, blocks=2)
    header, blocks = reader.kernel(tmp_path / "kernel-1.traceg")
    assert header["grid dim"] == "(2,1,1)"
    assert (len(blocks), done.blocks) == (2, 2)


def test_what_cannot_be_traced_is_said(case, tmp_path, monkeypatch):
    with pytest.raises(UnsupportedError, match=r"7\.0"):
        export_traces(case, "K20c", accel_sim=tmp_path / "no")
    assert not (tmp_path / "no" / "kernelslist.g").exists()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"placewise\[parquet\]") as raised:
        export_traces(case, "A100", parquet=tmp_path / "a.parquet")
    assert "pyarrow" in str(raised.value)
    done = CliRunner().invoke(app, ["trace", "spmv", "-m", "A100"])
    assert isinstance(done.exception, CaseError)
    assert "nothing to write" in str(done.exception)
