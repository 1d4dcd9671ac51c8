"""Real predictions as tasks, here and on a Dask cluster."""

import pytest
from swept import plan_of, written_case

import placewise
from placewise.errors import PlacewiseError
from placewise.sweep import sweep, tasks_of
from placewise.sweep.dask_workers import outcomes_by_dask
from placewise.sweep.predict import predict_task

PLAN = {"sizes": {"n": [1024, 2048]}, "parameters": {"block": [32, 64], "unroll": [1]}}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return written_case(tmp_path_factory.mktemp("case"))


def test_a_task_is_what_predict_time_says(case, tmp_path):
    text = case.read_text().replace("n = 4096", "n = 2048").replace("block = 64", "block = 32")
    other = case.parent / "other.toml"
    other.write_text(text)
    direct = placewise.predict_time(other, "H100")
    task = next(
        t
        for t in tasks_of(plan_of(case, **PLAN))
        if t.machine == "H100" and dict(t.sizes)["n"] == 2048 and dict(t.parameters)["block"] == 32
    )
    found = predict_task(task)
    assert found.error is None
    assert found.milliseconds == direct.milliseconds
    assert found.range_ms == direct.range_ms
    assert found.limited_by == direct.limited_by
    assert found.warps_per_sm == direct.occupancy.warps
    assert found.seconds > 0.0


def test_what_goes_wrong_is_the_outcome(case):
    tasks = tasks_of(plan_of(case, sizes={}, parameters={"block": [2048]}))
    assert "exceeds the machine's 1024" in predict_task(tasks[0]).error
    broken = case.parent / "broken.toml"
    broken.write_text(case.read_text().replace("scale.cu", "broken.cu"))
    (case.parent / "broken.cu").write_text('extern "C" __global__ void scale(float *x) { x[0] = }')
    tasks = tasks_of(plan_of(broken, **PLAN))
    assert "broken.cu" in predict_task(tasks[0]).error


@pytest.mark.slow
def test_two_dask_workers_give_the_same_table(case, tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    plan = plan_of(case, **PLAN)
    here = sweep(plan, tmp_path / "here", workers=1)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster:
        there = sweep(plan, tmp_path / "there", dask=cluster.scheduler_address)
    assert there.computed == len(there.rows) == 8
    for one, other in zip(here.rows, there.rows, strict=True):
        assert one.task == other.task
        assert one.outcome.error is None
        assert one.outcome.milliseconds == other.outcome.milliseconds


def test_no_scheduler_is_one_clear_error(case, monkeypatch):
    pytest.importorskip("dask.distributed")
    monkeypatch.setattr("placewise.sweep.dask_workers._CONNECT_S", 0.5)
    tasks = tasks_of(plan_of(case))
    with pytest.raises(PlacewiseError, match="no Dask scheduler answers"):
        next(outcomes_by_dask(tasks, predict_task, address="tcp://127.0.0.1:9"))
