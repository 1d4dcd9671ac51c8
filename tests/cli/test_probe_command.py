"""``placewise probe``, in process and, for its errors, as a program."""

import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import PlacewiseError

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, ["probe", "-q", *arguments])


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A machine of which some parts are probed in a second, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return "T1000"


@pytest.mark.slow
def test_chosen_parts_of_a_simulated_machine_as_data(tiny, tmp_path):
    result = run("--simulate", tiny, "--only", "constant", "--only", "banks", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert list(data["paths"]) == ["constant"]
    assert len(data["banks"]) == 3 * 32
    assert data["paths"]["constant"]["caches"][0]["confidence"] == "high"
    assert data["not_found"] == []
    # Without the caches of global memory there is no machine file, only the curves.
    assert [p.suffix for p in tmp_path.iterdir()] == [".svg"]


def test_text_names_what_was_found(tiny, tmp_path):
    drawing = tmp_path / "drawings" / "banks.png"
    result = run("--simulate", tiny, "--only", "banks", "--only", "dram", "--curves", str(drawing))
    assert result.exit_code == 0, result.output
    assert "shared memory:" in result.stdout
    assert "DRAM: row hit" in result.stdout
    assert drawing.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--simulate", "nothing-such"), "no machine named"),
        (("--simulate", "T1000", "--curves", "curves.txt"), "figure is an .svg or a .png"),
        (("--simulate", "T1000", "--only", "banks", "--out", "a.msl"), "needs the part 'global'"),
        (("--simulate", "T1000", "--out", "file/a.msl"), "is not a folder"),
    ],
)
def test_errors_come_before_anything_is_measured_or_written(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    result = run(*arguments)
    assert isinstance(result.exception, PlacewiseError)
    assert message in str(result.exception)
    assert result.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU")
def test_without_a_gpu_there_is_one_clear_error(tmp_path):
    entry = "from placewise.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", entry, "probe"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.strip() == "error: no NVIDIA driver or GPU found on this machine"
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


def test_an_unknown_part_is_refused():
    assert run("--only", "magic").exit_code == 2
