"""Tables of measured times in every format that is read, and what is wrong with bad ones."""

import gzip
import json
from dataclasses import replace

import pytest

from placewise.errors import CaseError
from placewise.validate import read_times

PARAMETERS = ("block", "method")


def written(folder, name, content):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def cache(**entries):
    return {
        "device_name": "NVIDIA A100-PCIE-40GB",
        "kernel_name": "k",
        "tune_params_keys": ["block", "method"],
        "tune_params": {"block": [32, 64], "method": ["a", "b"]},
        "objective": "time",
        "cache": {
            "32,a": {"block": 32, "method": "a", "time": 1.5, "times": [1.4, 1.6]},
            "64,a": {"block": 64, "method": "a", "time": 0.5},
            "64,b": {"block": 64, "method": "b", "time": "CompilationFailedConfig"},
            **entries,
        },
    }


def t4(*more):
    def result(block, method, value, unit="ms", invalidity="correct"):
        return {
            "configuration": {"block": block, "method": method},
            "objectives": ["time"],
            "invalidity": invalidity,
            "measurements": [
                {"name": "GFLOP/s", "value": 3.0, "unit": "GFLOP/s"},
                {"name": "time", "value": value, "unit": unit},
            ],
        }

    first = result(32, "a", 1.5), result(64, "a", 500.0, "µs")
    failed = result(64, "b", 0.0, invalidity="runtime")
    return {"schema_version": "1.0.0", "results": [*first, failed, *(result(*m) for m in more)]}


def times(table):
    return {tuple(dict(r.configuration).values()): r.nanoseconds for r in table.rows}


EXPECTED = {(32, "a"): 1.5e6, (64, "a"): 0.5e6}


def test_a_cache_of_kernel_tuner(tmp_path):
    table = read_times(written(tmp_path, "c.json", cache()), PARAMETERS)
    assert times(table) == EXPECTED
    assert (table.device, table.failed) == ("NVIDIA A100-PCIE-40GB", 1)
    assert table.parameters == PARAMETERS


def test_results_in_the_t4_format(tmp_path):
    table = read_times(written(tmp_path, "t.json", t4()), PARAMETERS)
    assert times(table) == EXPECTED
    assert table.failed == 1


def ktt(unit="Microseconds", status="Ok", name="BLOCK"):
    def result(block, method, duration, status="Ok"):
        values = {name: block, "METHOD": method}
        return {
            "Configuration": [
                {"Name": n, "Value": v, "ValueType": "UnsignedInt"} for n, v in values.items()
            ],
            "ComputationResults": [{"Duration": duration}],
            "TotalDuration": duration,
            "Status": status,
        }

    return {
        "Metadata": {"Device": "NVIDIA GeForce RTX 3090", "TimeUnit": unit},
        "Results": [result(32, 0, 1500.0), result(64, 1, 500.0), result(128, 0, 0.0, status)],
    }


def test_results_of_ktt_as_it_writes_them(tmp_path):
    path = written(tmp_path, "ktt.json", ktt(status="ComputationFailed"))
    table = read_times(path, PARAMETERS)
    assert table.device == "NVIDIA GeForce RTX 3090"
    assert [(dict(r.configuration), r.nanoseconds) for r in table.rows] == [
        ({"block": 32, "method": 0}, 1.5e6),
        ({"block": 64, "method": 1}, 0.5e6),
    ]
    assert table.failed == 1
    seconds = read_times(written(tmp_path, "s.json", ktt("Milliseconds")), PARAMETERS)
    assert seconds.rows[0].nanoseconds == 1.5e9


@pytest.mark.parametrize(
    ("data", "message"), [(ktt("Fortnights"), "table of times"), (ktt(name="SIZE"), "'block'")]
)
def test_results_of_ktt_that_are_wrong(tmp_path, data, message):
    with pytest.raises(CaseError, match=message):
        read_times(written(tmp_path, "ktt.json", data), PARAMETERS)


@pytest.mark.parametrize("end", [",", ",\n"])
def test_a_cache_of_a_run_that_was_interrupted(tmp_path, end):
    whole = json.dumps(cache())
    path = written(tmp_path, "cache.json", whole.removesuffix("}}") + end)
    assert read_times(path, PARAMETERS) == replace(
        read_times(written(tmp_path, "whole.json", whole), PARAMETERS), path=path
    )


def test_the_t4_format_may_state_its_unit_once(tmp_path):
    data = t4()
    for result in data["results"]:
        for measurement in result["measurements"]:
            measurement["unit"] = ""
    microseconds = {**data, "metadata": {"timeunit": "microseconds"}}
    fine = read_times(written(tmp_path, "us.json", microseconds), PARAMETERS)
    coarse = read_times(written(tmp_path, "ms.json", data), PARAMETERS)
    assert [1e3 * r.nanoseconds for r in fine.rows] == pytest.approx(
        [r.nanoseconds for r in coarse.rows]
    )


@pytest.mark.parametrize(
    ("column", "scale"), [("median_ms", 1.0), ("time", 1.0), ("duration_us", 1e3), ("time_ns", 1e6)]
)
def test_a_csv_in_the_unit_that_its_column_names(tmp_path, column, scale):
    text = f"block,method,{column},runs\n32,a,{1.5 * scale},7\n64,a,{0.5 * scale},7\n64,b,,0\n"
    path = written(tmp_path, "t.csv.gz", gzip.compress(text.encode()))
    table = read_times(path, PARAMETERS)
    assert times(table) == pytest.approx(EXPECTED)
    assert table.failed == 1


def test_another_column_can_be_the_time(tmp_path):
    path = written(tmp_path, "t.csv", "block,method,median_ms,min_ms\n32,a,2,1.5\n64,a,1,0.5\n")
    assert times(read_times(path, PARAMETERS, time_column="min_ms")) == EXPECTED


def test_the_fastest_of_equal_configurations_counts(tmp_path):
    path = written(tmp_path, "t.json", t4((32, "a", 1.25), (32, "a", 4.0)))
    assert times(read_times(path, PARAMETERS))[32, "a"] == 1.25e6


def test_only_the_parameters_that_are_asked_for_tell_configurations_apart(tmp_path):
    table = read_times(written(tmp_path, "c.json", cache()), ("method",))
    assert times(table) == {("a",): 0.5e6}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", "{", "not a readable JSON file"),
        ("t.json", {"rows": []}, "neither a cache of Kernel Tuner, nor results"),
        ("t.json", {"cache": {"a": {"block": 1}}}, "not a readable table of times"),
        ("t.json", {"cache": {"a": 3}, "tune_params_keys": ["a"]}, "not a readable table of times"),
        ("t.json", {"results": [3]}, "not a readable table of times"),
        ("t.json", t4((1, "a", 1.0, "parsec")), "'parsec', which is no unit of time"),
        ("t.json", {"results": []}, "no configuration has a time"),
        ("t.csv", "", "no column of times"),
        ("t.csv", "block,method\n1,2\n", "no column of times"),
        ("t.csv", "block,time\n1,2\n", "configuration 0 has no parameter 'method'"),
        ("t.csv", "block,method,time\n1,2\n", "line 2: a row is longer or shorter"),
        ("t.csv", "block,method,time\n1,2,3,4\n", "line 2: a row is longer or shorter"),
        ("t.csv", "block,method,time\n1,2,-3\n", "no configuration has a time"),
        ("t.csv.gz", b"no gzip", "cannot read the measured times"),
        ("t.csv.gz", gzip.compress(b"block,method,time\n1,2,3\n", mtime=0)[:20], "cannot read"),
    ],
)
def test_a_bad_file_is_one_located_error(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(CaseError) as caught:
        read_times(path, PARAMETERS)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(CaseError, match="cannot read"):
        read_times(tmp_path / "none.csv", PARAMETERS)


def test_a_parameter_that_is_no_value_is_refused(tmp_path):
    path = written(tmp_path, "t.json", t4(({"a": []}, "a", 1.0)))
    with pytest.raises(CaseError, match="neither numbers nor text"):
        read_times(path, PARAMETERS)
