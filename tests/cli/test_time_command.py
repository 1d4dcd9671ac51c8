"""``placewise time``."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError, MachineError, UnsupportedError


def run(*arguments):
    return CliRunner().invoke(app, ["time", *arguments, "--quiet"])


def test_one_line_a_machine_the_fastest_first():
    found = run("matmul", "-m", "A100, T4,K20c", "--measured", "A100=0.6ms")
    assert found.exit_code == 0
    lines = [line.split()[0] for line in found.output.splitlines() if line.strip()]
    assert lines.index("A100") < lines.index("T4")
    assert "600 µs" in found.output
    assert "K20c: no time is predicted" in found.output


def test_one_machine_shows_what_its_parts_would_take():
    found = run("matmul", "-m", "A100")
    assert "What each part of the machine alone would take" in found.output
    assert "load/store unit" in found.output


def test_json_has_every_machine_in_the_order_asked_for():
    found = run("matmul", "-m", "T4", "-m", "A100,T4", "--json")
    data = json.loads(found.stdout)
    assert [t["machine"] for t in data["times"]] == ["T4", "A100"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["matmul", "-m", "A1000"], MachineError, "no machine named 'A1000'"),
        (["matmul", "-m", ","], CaseError, "no machine is named"),
        (["matmul", "-m", "A100,T4", "--measured", "3ms"], CaseError, "which machine"),
        (["matmul", "-m", "A100", "--measured", "T4=3ms"], CaseError, "not among"),
        (["matmul", "-m", "A100", "--measured", "A100=3"], CaseError, "not a time"),
        (["matmul", "-m", "K20c"], UnsupportedError, "7.0 and later"),
    ],
)
def test_bad_input_is_one_error(arguments, error, message):
    found = run(*arguments)
    assert isinstance(found.exception, error)
    assert message in str(found.exception)


def test_the_launch_s_overhead_is_added_as_given():
    short, long = (
        json.loads(run("spmv", "-m", "A100", "--launch-overhead", us, "--json").stdout)["times"][0]
        for us in ("1us", "6us")
    )
    assert long["milliseconds"] - short["milliseconds"] == pytest.approx(0.005, rel=0.01)
