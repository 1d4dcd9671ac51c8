"""``placewise lint`` and ``--sarif`` of the other commands."""

import json

import pytest
from typer.testing import CliRunner

from placewise.advisor.predictions import predicted_counters
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.cli.main import app
from placewise.errors import CaseError, ExecutionError

CASE = """
schema = 1
name = "columns"
kernel = "columns"
code = '''
__global__ void columns(const float *a, float *o, int n) {
    o[threadIdx.x] = a[threadIdx.x * n];
    if (n < 0) o[n] = 0;
}'''
[launch]
grid = [1]
block = [64]
[[arguments]]
name = "a"
dtype = "float32"
shape = [64, 64]
fill = 1
[[arguments]]
name = "o"
dtype = "float32"
shape = [64]
fill = 0
[[arguments]]
name = "n"
dtype = "int32"
value = VALUE
"""


def run(tmp_path, *arguments, value=64):
    (tmp_path / "columns.toml").write_text(CASE.replace("VALUE", str(value)))
    command, *rest = arguments
    return CliRunner().invoke(app, [command, str(tmp_path / "columns.toml"), "-q", *rest])


def results(path):
    return json.loads(path.read_text())["runs"][0]["results"]


def test_warnings_fail_the_build(tmp_path):
    done = run(tmp_path, "lint", "-m", "T4")
    assert done.exit_code == 1
    assert "warning: a: 32 sectors" in done.stdout.replace("\n", " ")
    assert "[uncoalesced-access]" in done.stdout
    assert run(tmp_path, "lint", "-m", "T4", "--report-only").exit_code == 0


def test_a_good_kernel_passes(tmp_path):
    done = run(tmp_path, "lint", "-m", "T4", "--json", value=1)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["schema"] == "placewise-lint"
    assert document["remarks"] == []


@pytest.mark.parametrize("command", ["lint", "counters"])
def test_sarif_beside_the_report(tmp_path, command):
    log = tmp_path / "log.sarif"
    run(tmp_path, command, "-m", "T4", "--sarif", str(log))
    assert [r["ruleId"] for r in results(log)] == ["uncoalesced-access"]


def test_sarif_of_advice_and_another_compiler(tmp_path):
    log = tmp_path / "log.sarif"
    done = run(
        tmp_path, "advise", "-m", "T4", "--finalists", "0", "--nvrtc", "13", "--sarif", str(log)
    )
    assert done.exit_code == 0, done.output
    assert [r["ruleId"] for r in results(log)] == ["uncoalesced-access"]


def test_sarif_of_advice_counts_with_the_same_limit(tmp_path, monkeypatch):
    limits = []

    def counted(*arguments, instruction_limit, **options):
        limits.append(instruction_limit)
        return predict_counters(*arguments, instruction_limit=instruction_limit, **options)

    monkeypatch.setattr(predicted_counters, "predict_counters", counted)
    log = tmp_path / "log.sarif"
    arguments = ("-m", "T4", "--finalists", "0", "--limit", "5000000", "--sarif", str(log))
    done = run(tmp_path, "advise", *arguments)
    assert done.exit_code == 0, done.output
    assert limits == [5_000_000]
    assert [r["ruleId"] for r in results(log)] == ["uncoalesced-access"]


def test_a_launch_over_the_limit_leaves_no_sarif(tmp_path):
    log = tmp_path / "log.sarif"
    endless = CASE.replace(
        "    if (n < 0)", "    while (((volatile float *)a)[n] > 0) ;\n    if (n < 0)"
    )
    (tmp_path / "endless.toml").write_text(endless.replace("VALUE", "64"))
    arguments = [str(tmp_path / "endless.toml"), "-q", "-m", "T4", "--limit", "100000"]
    done = CliRunner().invoke(app, ["advise", *arguments, "--sarif", str(log)])
    assert isinstance(done.exception, ExecutionError)
    assert "does not end" in str(done.exception)
    assert not log.exists()


def test_sarif_of_the_checker(tmp_path):
    log = tmp_path / "log.sarif"
    done = run(tmp_path, "run", "--check", "--nvrtc", "13", "--sarif", str(log), value=66)
    assert done.exit_code == 1
    assert [r["ruleId"] for r in results(log)] == ["out-of-bounds"]
    refused = run(tmp_path, "run", "--sarif", str(log))
    assert isinstance(refused.exception, CaseError)


def test_an_unknown_compiler_is_named(tmp_path):
    for command in (["run"], ["advise", "-m", "T4"]):
        done = run(tmp_path, *command, "--nvrtc", "9.1")
        assert done.exception is not None
        assert "9.1" in str(done.exception)
