"""SARIF logs of a kernel that does everything badly, and of a mended one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from placewise.advisor import advise
from placewise.advisor.lint import lint
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.errors import PlacewiseError
from placewise.executor.check import Checker
from placewise.executor.run_case import run_case
from placewise.kernel.cases.make_case import make_case
from placewise.report.sarif.findings import check_sarif, lint_sarif, write_lint_sarif
from placewise.report.sarif.log import write_sarif

BAD = """\
__constant__ float table[1024];

extern "C" __global__ void bad(const float *matrix, const int *which, float *out, int n) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = matrix[INDEX];
    __syncthreads();
    out[y * n + x] = tile[threadIdx.x][threadIdx.y] * table[ENTRY];
}
"""
SPILLS = """
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float *a, float *o) {
    float v[64];
    for (int i = 0; i < 64; i++) v[i] = a[threadIdx.x + 1024 * i];
    float s = 0;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 64; i++) { v[i] = v[i] * v[(i + 7) % 64] + s; s += v[i]; }
    o[threadIdx.x] = s;
}
"""


def bad(**defines):
    n = 64
    rng = np.random.default_rng(0)
    arguments = [
        rng.random((n, n), dtype=np.float32),
        rng.integers(0, 1024, (n, n), dtype=np.int32),
        np.zeros((n, n), np.float32),
        np.int32(n),
    ]
    chosen = {"PAD": 0, "INDEX": "x * n + y", "ENTRY": "which[y * n + x] & 1023"} | defines
    constants = {"table": rng.random(1024, dtype=np.float32)}
    return make_case(
        "bad", BAD, arguments, block=(32, 32), grid=(2, 2), defines=chosen, constants=constants
    )


@pytest.fixture(scope="module")
def report():
    return predict_counters(bad(), "A4000")


def found(report):
    return {(r.rule, r.line.line, r.array, r.warning) for r in lint(report.run)}


def test_every_rule_at_its_line(report):
    assert found(report) == {
        ("uncoalesced-access", 6, "matrix", True),
        ("bank-conflict", 8, None, True),
        ("divergent-constant", 8, "table", True),
    }


@pytest.mark.parametrize(
    ("mended", "gone"),
    [
        ({"PAD": 1}, "bank-conflict"),
        ({"INDEX": "y * n + x"}, "uncoalesced-access"),
        ({"ENTRY": "which[0] & 1023"}, "divergent-constant"),
    ],
)
def test_what_is_mended_is_gone(mended, gone):
    left = {rule for rule, *_ in found(predict_counters(bad(**mended), "A4000"))}
    assert left == {"bank-conflict", "uncoalesced-access", "divergent-constant"} - {gone}


def test_figures_are_those_of_the_accesses(report):
    by_rule = {r.rule: r for r in lint(report.run)}
    assert by_rule["uncoalesced-access"].times == 32 / 4
    assert by_rule["bank-conflict"].times == 32
    assert "32 sectors of 32 bytes for each warp's load, 4 if" in by_rule[
        "uncoalesced-access"
    ].message  # fmt: skip


def test_spills_are_the_compilers():
    arguments = [np.ones(1024 * 64, np.float32), np.zeros(1024, np.float32)]
    case = make_case("spills", SPILLS, arguments, block=1024, grid=1)
    remarks = [r for r in lint(predict_counters(case, "A4000").run) if r.rule == "register-spill"]
    (remark,) = remarks
    assert remark.warning
    assert remark.line.line in range(3, 8)


def test_the_log_names_rules_places_and_levels(report, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lint_sarif(tmp_path / "log.sarif", report)
    log = json.loads((tmp_path / "log.sarif").read_text())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert len(run["results"]) == 3
    uris = [a["location"]["uri"] for a in run["artifacts"]]
    assert len(set(uris)) == len(uris)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        (where,) = result["locations"]
        place = where["physicalLocation"]
        line = place["region"]["startLine"]
        assert place["region"]["snippet"]["text"] == BAD.splitlines()[line - 1].strip()
        assert uris[place["artifactLocation"]["index"]] == place["artifactLocation"]["uri"]
        assert where["logicalLocations"] == [{"name": "bad", "kind": "function"}]


def test_the_logs_folder_is_made_or_the_refusal_says_why(tmp_path):
    write_sarif(tmp_path / "new" / "folder" / "log.sarif", {"runs": []})
    assert json.loads((tmp_path / "new" / "folder" / "log.sarif").read_text()) == {"runs": []}
    (tmp_path / "file").write_text("")
    with pytest.raises(PlacewiseError, match="cannot be written"):
        write_sarif(tmp_path / "file" / "log.sarif", {})


def test_fingerprints_outlive_edits_elsewhere(report):
    longer = replace(bad(), source="// One more line.\n" + BAD)
    marks = [
        {r["partialFingerprints"]["placewise/v1"] for r in lint_sarif(x)["runs"][0]["results"]}
        for x in (report, predict_counters(longer, "A4000"))
    ]
    assert marks[0] == marks[1]
    assert len(marks[0]) == 3


@pytest.mark.slow
def test_a_recommended_placement_is_a_result_with_the_source_as_its_fix(report):
    """Of any form that was written: here one is taken for recommended that was not run."""
    advice = advise(bad(INDEX="y * n + x", PAD=1, ENTRY="0"), "A4000", finalists=3)
    option = next(
        o for o in advice.options if o.rewritten and ("matrix", "global", "readonly")
        in o.placement.moved(advice.present.placement)
    )  # fmt: skip
    advice = replace(advice, recommended=option)
    results = lint_sarif(report, advice)["runs"][0]["results"]
    (better,) = (r for r in results if r["ruleId"] == "better-placement")
    assert better["locations"][0]["physicalLocation"]["region"]["startLine"] == 6
    (fix,) = better["fixes"]
    (change,) = fix["artifactChanges"][0]["replacements"]
    assert change["deletedRegion"]["endLine"] == len(BAD.splitlines())
    assert "__ldg(&matrix[" in change["insertedContent"]["text"]


def test_the_checkers_mistakes():
    source = "__global__ void k(float *a, int n) { if (n > 0) a[threadIdx.x + 1] = 1; }"
    checker = Checker()
    run = run_case(
        make_case("k", source, [np.zeros(32, np.float32), np.int32(1)], block=32, grid=1),
        checker=checker,
    )
    (result,) = check_sarif(run.case, checker.findings)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("out-of-bounds", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
