"""Predictions as files of autotuners, read back by Placewise's readers and by Kernel Tuner."""

import json

import numpy as np
import pytest
from swept import invented, plan_of, written_case

from placewise.errors import CaseError, PlacewiseError
from placewise.recorded.time_tables import read_times
from placewise.sweep import sweep, tasks_of
from placewise.sweep.store import Outcome
from placewise.sweep.tuner_files import (
    cache_document,
    cache_text,
    predictions_of,
    t4_document,
)

SOURCE = """
extern "C" __global__ void add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * block_size_x * tile + threadIdx.x;
    for (int k = 0; k < tile; ++k, i += block_size_x) if (i < n) c[i] = a[i] + b[i];
}
"""
N = 1 << 16
ARGUMENTS = [np.zeros(N, np.float32), np.ones(N, np.float32), np.ones(N, np.float32), np.int32(N)]
SPACE = {"block_size_x": [64, 128, 2048], "tile": [1, 2]}
OPTIONS = {"grid_div_x": ["block_size_x", "tile"], "quiet": True}


@pytest.fixture
def rows(tmp_path):
    plan = plan_of(written_case(tmp_path)).model_copy(update={"machines": ["A100"]})

    def partly(task):
        values = dict(task.parameters)
        return Outcome(error="does not compile") if values["block"] == 32 else invented(task)

    return sweep(plan, tmp_path / "store", workers=1, predict=partly).rows


@pytest.mark.parametrize("kind", ["cache", "t4"])
def test_times_are_read_back_as_they_were_predicted(rows, tmp_path, kind):
    predictions = predictions_of(rows)
    if kind == "cache":
        text = cache_text(cache_document(predictions, kernel="scale", machine="A100"))
    else:
        text = json.dumps(t4_document(predictions, machine="A100"))
    (tmp_path / "file.json").write_text(text)
    table = read_times(tmp_path / "file.json", ["n", "block", "unroll"])
    assert table.device == "A100 (predicted by Placewise)"
    assert table.failed == 6
    found = {tuple(dict(r.configuration).items()): r.nanoseconds for r in table.rows}
    wanted = {
        tuple((n, {**dict(r.task.sizes), **dict(r.task.parameters)}[n]) for n in table.parameters):
        r.outcome.milliseconds * 1e6
        for r in rows if r.outcome.milliseconds is not None
    }  # fmt: skip
    assert found == pytest.approx(wanted)


def test_t4_results_are_what_their_schema_describes(rows):
    schemas = pytest.importorskip("kernel_tuner.file_utils")
    import jsonschema

    version, schema = schemas.output_file_schema("results")
    document = t4_document(predictions_of(rows), machine="A100")
    jsonschema.validate(document, schema)
    assert document["schema_version"] == version
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"results": [{}]}, schema)


def test_several_machines_or_no_parameters_are_refused(tmp_path, rows):
    both = sweep(plan_of(written_case(tmp_path)), tmp_path / "s", workers=1, predict=invented)
    with pytest.raises(CaseError, match="one kernel on one machine"):
        predictions_of(both.rows)
    bare = plan_of(written_case(tmp_path), sizes={}, parameters={})
    alone = bare.model_copy(update={"machines": ["A100"]})
    done = sweep(alone, tmp_path / "t", workers=1, predict=lambda task: Outcome(1.0, (1.0, 1.0)))
    with pytest.raises(CaseError, match="no parameter"):
        predictions_of(done.rows)


def test_a_tuning_problem_is_swept_whole(tmp_path):
    problem = {
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "block", "Type": "int", "Values": "[32 * i for i in range(1, 5)]"},
                {"Name": "unroll", "Type": "int", "Values": "[1, 2]", "Default": 1},
            ],
            "Conditions": [{"Expression": "block * unroll <= 128"}],
        },
        "KernelSpecification": {
            "Language": "CUDA", "KernelName": "scale", "KernelFile": "scale.cu",
            "LocalSize": {"X": "block"}, "GlobalSize": {"X": "4096 // block"},
            "Arguments": [{"Name": "x", "Type": "float", "MemoryType": "Vector", "Size": 4096,
                           "FillType": "Constant", "FillValue": 1}],
        },
    }  # fmt: skip
    written_case(tmp_path)
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem))
    whole = plan_of(path, sizes={}, parameters={}, all_configurations=True)
    found = {tuple(dict(t.parameters).values()) for t in tasks_of(whole)}
    assert found == {(32 * i, u) for i in range(1, 5) for u in (1, 2) if 32 * i * u <= 128}
    part = plan_of(path, sizes={}, parameters={"unroll": [2]}, all_configurations=True)
    assert {dict(t.parameters)["unroll"] for t in tasks_of(part)} == {2}
    with pytest.raises(CaseError, match="only a tuning problem"):
        tasks_of(plan_of(tmp_path / "scale.toml", all_configurations=True))


@pytest.mark.slow
def test_kernel_tuner_runs_on_predicted_times(tmp_path):
    pytest.importorskip("kernel_tuner")
    import placewise
    from placewise.sweep.predicted_tuning import tune_kernel

    cache = tmp_path / "predicted.json"
    results, environment = tune_kernel(
        "add", SOURCE, N, ARGUMENTS, SPACE, machine="A100", workers=1, cache=cache,
        restrictions=["block_size_x * tile <= 128"], **OPTIONS,
    )  # fmt: skip
    found = {(r["block_size_x"], r["tile"]): r["time"] for r in results}
    assert set(found) == {(64, 1), (64, 2), (128, 1)}
    for (block, tile), time in found.items():
        case = placewise.make_case(
            "add", SOURCE, ARGUMENTS, block=block, problem=N, per_block=block * tile,
            defines={"block_size_x": block, "tile": tile},
        )  # fmt: skip
        direct = placewise.predict_time(case, "A100").milliseconds
        assert time == pytest.approx(direct, rel=1e-6)
    best = min(found, key=found.get)
    assert environment["best_config"]["time"] == found[best]
    # Its own simulation runs on the file, too, whatever the strategy.
    kernel_tuner = pytest.importorskip("kernel_tuner")
    again, _ = kernel_tuner.tune_kernel(
        "add", SOURCE, N, ARGUMENTS, SPACE, cache=str(cache), simulation_mode=True, lang="CUDA",
        restrictions=["block_size_x * tile <= 128"], strategy="random_sample",
        strategy_options={"max_fevals": 2}, **OPTIONS,
    )  # fmt: skip
    assert all(found[r["block_size_x"], r["tile"]] == r["time"] for r in again)


def test_the_strategy_runs_first_what_is_predicted_to_be_fast(tmp_path):
    kernel_tuner = pytest.importorskip("kernel_tuner")
    from placewise.sweep.predicted_tuning import PredictedFirst, tune_kernel

    predicted, _ = tune_kernel(
        "add", SOURCE, N, ARGUMENTS, SPACE, machine="A100", workers=1, **OPTIONS
    )
    times = {(r["block_size_x"], r["tile"]): r["time"] for r in predicted if "__error__" not in r}
    assert (2048, 1) not in times
    # "Measured" times that are the predicted ones turned round: the strategy must not look at them.
    measured = [
        ({"block_size_x": b, "tile": t}, Outcome(1.0 / times.get((b, t), 1.0), (0.0, 0.0)))
        for b in SPACE["block_size_x"] for t in SPACE["tile"] if b * t <= 1024
    ]  # fmt: skip
    document = cache_document(measured, kernel="add", machine="measured")
    (tmp_path / "measured.json").write_text(cache_text(document))
    results, _ = kernel_tuner.tune_kernel(
        "add", SOURCE, N, ARGUMENTS, SPACE, cache=str(tmp_path / "measured.json"),
        simulation_mode=True, lang="CUDA", restrictions=["block_size_x * tile <= 1024"],
        strategy=PredictedFirst("A100", workers=1), strategy_options={"max_fevals": 3}, **OPTIONS,
    )  # fmt: skip
    tried = [(r["block_size_x"], r["tile"]) for r in results]
    assert [times[t] for t in tried] == sorted(times.values())[:3]


def test_what_is_not_covered_is_said():
    pytest.importorskip("kernel_tuner")
    from placewise.sweep.predicted_tuning import tune_kernel

    with pytest.raises(PlacewiseError, match="texture"):
        tune_kernel("add", SOURCE, N, ARGUMENTS, SPACE, machine="A100", texmem_args={"t": 1})
    with pytest.raises(PlacewiseError, match="no configuration has a predicted time"):
        tune_kernel("add", "__global__ void add(", N, ARGUMENTS, {"block_size_x": [64]},
                    machine="A100", workers=1, quiet=True)  # fmt: skip
