"""The counters benchmark: samples that stand for the whole, a table that goes on, its judgement."""

import numpy as np
import pytest

from benchmarks.counters import kernels
from benchmarks.counters.judge import ASKED, COUNTERS, EXACT, L2_READS, judge, unseen
from benchmarks.counters.measured import POINTS, Row, case_of, sample_of
from benchmarks.counters.rows import Compared, read_table, write_table
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.memory.simulate.metrics.ncu_metrics import WARPS_ACTIVE


def points_row(threads, tile):
    values = {"block_size_x": threads, "tile_size": tile, "between_method": 0, "use_method": 0}
    return Row("pnpoly", 0, {k: float(v) for k, v in values.items()})


@pytest.mark.parametrize(("threads", "tile"), [(32, 1), (288, 3), (992, 20)])
def test_a_sample_of_points_stands_for_all(threads, tile):
    sample, row = sample_of(points_row(threads, tile), 100), points_row(threads, tile)
    taken = sample.blocks * threads * tile
    assert len(dict(row_arrays(case_of(row, share=100)))["bitmap"]) == taken
    assert taken * sample.of_data == pytest.approx(POINTS)
    working = sum(  # threads of each block that have a point
        min(threads, POINTS - first) for first in range(0, POINTS, threads * tile)
    )
    assert sample.blocks * threads * sample.of_threads == pytest.approx(working)


def row_arrays(case):
    return [(a.name, a.data) for a in case.inputs.arguments if hasattr(a, "data")]


def compared(kernel, number, error=0.0, registers=(32, 32)):
    counters = {c: (100.0, 100.0 * (1 + error if c != EXACT else 1)) for c in COUNTERS}
    return Compared(kernel, number, registers, counters)


def test_the_table_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "results" / "rows.csv"
    rows = [compared("pnpoly", 3), compared("convolution", 12, 0.25, (64, 48))]
    assert read_table(path) == []
    write_table(path, rows, COUNTERS)
    assert read_table(path) == sorted(rows, key=lambda r: (r.kernel, r.number))


def test_compiled_kernels_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = "__global__ void fill(float *a) {{ a[threadIdx.x] = {}; }}"
    cases = [
        make_case("fill", source.format(n), {"a": np.zeros(32, np.float32)}, block=32, grid=1)
        for n in (1, 2)
    ]
    first = kernels.compiled(cases[0])
    other = kernels.compiled(cases[1])
    monkeypatch.setattr(kernels, "compile_case", lambda _: pytest.fail("compiled again"))
    assert kernels.compiled(cases[0]) == first == compile_case(cases[0])
    assert kernels.compiled(cases[1]) == other != first


def test_occupancy_is_a_bound():
    rows = [compared("convolution", 1), compared("pnpoly", 1, 0.1), compared("pnpoly", 2, -0.1)]
    found = {f.figure: f for f in judge(rows)}
    assert found[f"{WARPS_ACTIVE}: rows within the bound"].value == pytest.approx(2 / 3)


def test_percentiles_and_bounds():
    """Nine rows of ten are 1 % off, one 50 %: the median is 1 %, the 90th percentile between."""
    rows = [compared("convolution", n, -0.01) for n in range(9)] + [compared("pnpoly", 1, 0.5)]
    found = {f.figure: f for f in judge(rows)}
    median = found[f"{L2_READS}: median of |error|"]
    assert median.value == pytest.approx(0.01)
    assert median.holds
    assert found[f"{L2_READS}: 90th percentile of |error|"].value == pytest.approx(0.059)
    assert not found[f"{L2_READS}, pnpoly: median of |error|"].holds
    assert found[f"{EXACT}: rows that are exact"].value == 1.0
    assert sum(len(a.percentiles) for a in ASKED) + 3 <= len(found)


def test_rows_that_nothing_was_fitted_on():
    assert [n for n in range(8) if unseen(compared("pnpoly", n))] == [1, 2, 3, 5, 6, 7]
    assert [n for n in (0, 1, 164, 165, 166) if unseen(compared("convolution", n))] == [1, 166]
