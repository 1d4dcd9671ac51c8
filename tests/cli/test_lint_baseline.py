"""Baselines of findings and of times, and annotations for GitHub."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError

ROOT = Path(__file__).parents[2]
SOURCE = """// columns
extern "C" __global__ void columns(const float *a, float *o, int n) {
    o[threadIdx.x] = a[threadIdx.x * n];
    // here
}
"""
CASE = """schema = 1
name = "columns"
kernel = "columns"
source = "columns.cu"
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
value = 64
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("columns.cu").write_text(SOURCE)
    # NVRTC remembers the folder of a process's first compilation for names that are relative.
    Path("columns.toml").write_text(CASE.replace("columns.cu", str(tmp_path / "columns.cu")))
    return tmp_path


def lint(*options):
    return CliRunner().invoke(app, ["lint", "columns.toml", "-m", "T4", "-q", *options])


def test_known_findings_do_not_fail():
    assert lint().exit_code == 1
    assert lint("--write-baseline", "known.json").exit_code == 0
    done = lint("--baseline", "known.json", "--json", "--sarif", "log.sarif")
    assert done.exit_code == 0
    assert [r["known"] for r in json.loads(done.stdout)["remarks"]] == [True]
    (result,) = json.loads(Path("log.sarif").read_text())["runs"][0]["results"]
    assert result["baselineState"] == "unchanged"
    assert "0 warnings, 0 notes, 1 known" in lint("--baseline", "known.json").stdout


@pytest.mark.slow
def test_edits_elsewhere_keep_findings_known_and_others_make_them_new():
    lint("--write-baseline", "known.json")
    Path("columns.cu").write_text("// One more line.\n" + SOURCE)
    assert lint("--baseline", "known.json").exit_code == 0
    again = "    o[threadIdx.x] += a[threadIdx.x * n];\n    // here"
    Path("columns.cu").write_text(SOURCE.replace("    // here", again))
    done = lint("--baseline", "known.json", "--json", "--sarif", "log.sarif")
    states = {r["line"]: r["known"] for r in json.loads(done.stdout)["remarks"]}
    assert done.exit_code == 1
    assert states.pop(4) is False
    results = json.loads(Path("log.sarif").read_text())["runs"][0]["results"]
    assert "new" in {r["baselineState"] for r in results}


def test_the_same_line_twice_is_known_once():
    lint("--write-baseline", "known.json")
    document = json.loads(Path("known.json").read_text())
    document["remarks"] *= 2
    Path("known.json").write_text(json.dumps(document))
    assert lint("--baseline", "known.json").exit_code == 0
    document["remarks"] = []
    Path("known.json").write_text(json.dumps(document))
    assert lint("--baseline", "known.json").exit_code == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "placewise-times", "times": []}'])
def test_a_baseline_that_is_none_is_refused(text):
    Path("known.json").write_text(text)
    for command in (["lint"], ["time"]):
        if command == ["time"] and "times" in text:
            continue
        done = CliRunner().invoke(
            app, [*command, "columns.toml", "-m", "T4", "-q", "--baseline", "known.json"]
        )
        assert isinstance(done.exception, CaseError)
        assert "known.json" in str(done.exception)


def test_annotations_are_as_github_reads_them():
    Path("columns.toml").rename("odd,name.toml")
    done = CliRunner().invoke(app, ["lint", "odd,name.toml", "-m", "T4", "-q", "-f", "github"])
    first, last = done.stdout.splitlines()
    found = re.fullmatch(r"::(\w+) file=([^,:]+),line=(\d+),title=([^,:]+)::(.+)", first)
    assert found[1] == "warning"
    assert (found[2], found[3]) == ("columns.cu", "3")
    assert found[4] == "placewise%3A uncoalesced-access"
    assert found[5].startswith("a: 32 sectors of 32 bytes")
    assert "%" not in found[5].replace("%25", "")
    assert last == "columns on T4: 1 findings, 0 known"


def time(*options):
    return CliRunner().invoke(app, ["time", "columns.toml", "-m", "T4", "-q", *options])


def test_a_time_beyond_the_baseline_fails():
    first = time("--json")
    document = json.loads(first.stdout)
    Path("times.json").write_text(first.stdout)
    assert time("--baseline", "times.json", "--tolerance", "0%").exit_code == 0
    now = document["times"][0]["milliseconds"]
    document["times"][0]["milliseconds"] = now / 1.04
    Path("times.json").write_text(json.dumps(document))
    assert time("--baseline", "times.json").exit_code == 0
    done = time("--baseline", "times.json", "--tolerance", "0.03", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)["times"][0]
    assert found["baseline_ms"] == now / 1.04
    text = time("--baseline", "times.json")
    assert "+4.0%" in text.stdout


def test_a_baseline_without_the_machine_is_refused():
    Path("times.json").write_text(time("--json").stdout)
    done = CliRunner().invoke(
        app, ["time", "columns.toml", "-m", "A100", "-q", "--baseline", "times.json"]
    )
    assert isinstance(done.exception, CaseError)
    assert "no time of columns on A100" in str(done.exception)
    assert isinstance(time("--tolerance", "much").exception, CaseError)


def test_the_hooks_run_commands_that_there_are():
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"^  entry: placewise (\S+) --quiet$", hooks, re.MULTILINE)
    ids = re.findall(r"^- id: (\S+)$", hooks, re.MULTILINE)
    assert entries == ["lint", "time"]
    page = (ROOT / "docs" / "how-to" / "lint.md").read_text()
    assert set(ids) == set(re.findall(r"^      - id: (\S+)$", page, re.MULTILINE))
