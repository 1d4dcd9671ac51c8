"""``placewise reproduce`` as a user calls it."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError

runner = CliRunner()


def test_json_keeps_standard_output_clean():
    done = runner.invoke(app, ["reproduce", "hu-liu", "--json"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["schema"] == "placewise-reproduction"
    (found,) = document["reproductions"]
    assert found["name"] == "hu-liu"
    assert len(found["tables"]) == 7
    for table in found["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_text_has_paper_beside_program():
    done = runner.invoke(app, ["reproduce", "hu-liu"])
    assert done.exit_code == 0
    assert "Hu and Liu 2015" in done.stdout
    assert "paper  program" in done.stdout
    assert "Not recomputed, or assumed" in done.stdout


def test_counters_of_a_file(tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text("duration_us,smsp__inst_executed.sum,a__b.sum\n1,10,3\n2,20,1\n3,30,0\n")
    done = runner.invoke(
        app, ["reproduce", "huang-li-events", "--counters", str(path), "-f", "json", "-q"]
    )
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)["reproductions"]
    assert found["figures"]["counters.csv: selected"] == 1
    # A correlation that does not exist is no number, and JSON has none.
    assert "NaN" not in done.stdout


def test_what_is_missing_is_named():
    with pytest.raises(CaseError, match="measured times and their kernel"):
        runner.invoke(app, ["reproduce", "huang-li-ablations"], catch_exceptions=False)
    with pytest.raises(CaseError, match="needs recorded counters"):
        runner.invoke(app, ["reproduce", "huang-li-events"], catch_exceptions=False)
    done = runner.invoke(app, ["reproduce", "table-9"])
    assert done.exit_code == 2
    assert not done.stdout
    with pytest.raises(CaseError, match="cannot read"):
        runner.invoke(
            app,
            ["reproduce", "huang-li-events", "--counters", "nowhere.csv"],
            catch_exceptions=False,
        )
