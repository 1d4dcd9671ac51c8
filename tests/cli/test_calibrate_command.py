"""``placewise calibrate``."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError, MachineError


def run(*arguments):
    return CliRunner().invoke(app, ["calibrate", *arguments])


def test_the_written_file_is_a_machine_of_every_command(tmp_path):
    file = tmp_path / "mine.msl"
    done = run("spmv", "-m", "A100", "--measured", "40us", "--out", str(file))
    assert done.exit_code == 0, done.output
    assert "factor:" in done.output
    document = CliRunner().invoke(app, ["time", "spmv", "-m", str(file), "--json", "--quiet"])
    (found,) = json.loads(document.stdout)["times"]
    assert found["milliseconds"] == pytest.approx(0.040, rel=0.001)
    assert found["clocks"] == []
    assert CliRunner().invoke(app, ["machine", "check", str(file)]).exit_code == 0


def test_a_file_of_the_user_s_own_is_named_from_beside_it(tmp_path):
    own = tmp_path / "own.msl"
    own.write_text('machine own like A100 "mine";\nlimits { clock = 1300 MHz; }\n', "utf-8")
    file = tmp_path / "below" / "calibrated.msl"
    done = run("spmv", "-m", str(own), "--measured", "40us", "--out", str(file))
    assert done.exit_code == 0, done.output
    assert 'like "../own.msl"' in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--measured", "40"], CaseError, "not a time"),
        (["--measured", "40us", "--out", "mine.txt"], CaseError, "ends in .msl"),
        (["--measured", "40us", "--out", "3.msl"], MachineError, "begin with a letter"),
        (["--measured", "40us", "--clock", "quick"], MachineError, "not a clock"),
    ],
)
def test_bad_input_is_one_error(arguments, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("spmv", "-m", "A100", *arguments)
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
    assert not list(tmp_path.iterdir())
