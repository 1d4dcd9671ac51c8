"""``placewise sweep``: options become a plan, and results files."""

import json

import pytest
from swept import written_case
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import PlacewiseError


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written_case(tmp_path)
    return "scale.toml"


def invoke(*arguments):
    return CliRunner().invoke(app, ["sweep", *arguments, "-q"])


@pytest.mark.slow
def test_a_sweep_leaves_store_table_and_figure(case, tmp_path):
    options = [case, "-m", "A100,H100", "--size", "n=1024,2048", "--parameter", "unroll=1"]
    done = invoke(*options, "--workers", "1", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["computed"], document["failed"], len(document["rows"])) == (4, 0, 4)
    assert {row["sizes"]["n"] for row in document["rows"]} == {1024, 2048}
    assert {p.name for p in (tmp_path / "sweep").glob("[!.]*")} >= {"results.sqlite", "times.svg"}
    assert list((tmp_path / "sweep").glob("results.[pc]*"))
    again = invoke(*options, "--json")
    repeated = json.loads(again.stdout)
    assert repeated["computed"] == 0
    assert repeated["rows"] == document["rows"]
    assert "4 stored before" in invoke(*options).output


def test_a_part_writes_its_own_store_alone(case, tmp_path):
    done = invoke(case, "-m", "A100", "--size", "n=1024,2048", "--shard", "2/2", "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "1 predictions of part 2 of 2" in done.output
    assert [p.name for p in (tmp_path / "sweep").glob("[!.]*")] == ["results-2-of-2.sqlite"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-m", "A100"], "no case is named"),
        (["scale.toml"], "no machine is named"),
        (["scale.toml", "-m", "A100", "--size", "n"], "is not NAME=VALUE"),
        (["scale.toml", "-m", "A100", "--size", "n=1.5"], "'1.5' is not a size"),
        (["scale.toml", "-m", "A100", "--shard", "3"], "is not I/N"),
        (["scale.toml", "-m", "A100", "--shard", "0/3"], "no part 0 of 3"),
        (
            ["scale.toml", "-m", "A100", "--dask", "a:1", "--workers", "2"],
            "cannot be given for a Dask cluster",
        ),
        (["--plan", "plan.toml", "-m", "A100"], "cannot be given beside --plan"),
        (["--plan", "plan.toml"], "plan.toml"),
        (["scale.toml", "-m", "A100", "--out", "scale.cu"], "is not a folder"),
    ],
)
def test_options_that_do_not_fit_are_refused(case, options, words):
    done = invoke(*options)
    assert isinstance(done.exception, PlacewiseError)
    assert words in str(done.exception)
