"""`placewise machine-code`: what it prints, as text and as data, and its errors."""

import json
import sys

import pytest

from placewise.advisor.predictions.machine_code import inspect_machine_code
from placewise.cli.main import main
from placewise.errors import CaseError
from placewise.kernel.toolchain import toolkit
from placewise.report.formats import report_console
from placewise.report.predictions.machine_code import render_machine_code


def text_of(report, **options):
    console = report_console()
    with console.capture() as capture:
        console.print(render_machine_code(report, **options))
    return capture.get()


@pytest.fixture(scope="module")
def executed():
    return inspect_machine_code("spmv", "A4000", run=True)


def test_the_text_says_what_the_code_needs_and_does(executed):
    text = text_of(executed)
    assert f"{executed.code.facts.registers} per thread" in text
    assert "nothing spilled" in text
    assert "of 48 warps per SM of the A4000" in text
    assert "y: bit-identical to the PTX run's" in text
    assert "LDG.E" not in text


def test_the_listing_has_every_instruction_under_its_line(executed):
    text = text_of(executed, listing=True)
    for i in executed.code.instructions:
        assert f"  {i.offset:04x}  B" in text
    assert "sum += values[j] * x[columns[j]]" in text


def test_counts_add_up(executed):
    document = executed.to_dict()
    json.dumps(document)
    run = document["run"]
    assert sum(g["executed"] for g in document["mix"].values()) == run["warp_instructions"]
    assert sum(g["static"] for g in document["mix"].values()) == len(document["instructions"])
    assert sum(i["executions"] for i in document["instructions"]) == run["warp_instructions"]
    # Every warp executes the first instruction once: blocks of 256 threads.
    x, y, z = executed.case.launch.grid
    assert document["instructions"][0]["executions"] == x * y * z * 8
    assert document["occupancy"]["bound_by"]
    assert document["live_registers"] <= document["registers"]


@pytest.mark.slow
def test_what_is_not_known_of_a_target_is_told():
    report = inspect_machine_code("matmul", arch="sm_121", run=True)
    assert report.run is not None
    assert all(check.identical for check in report.run.outputs)
    assert any("no publication" in note for note in report.notes)
    assert any("no machine of sm_121" in note for note in report.notes)
    assert "fp32" in text_of(report)


def test_an_old_machine_has_its_own_code_with_its_own_compiler():
    try:
        toolkit("11.8")
    except CaseError:
        pytest.skip("NVRTC 11.8 is not installed")
    report = inspect_machine_code("spmv", "K20c", nvrtc="11.8", run=True)
    assert report.target.arch == "sm_35"
    assert report.occupancy is not None
    assert "64 of 64 warps" in text_of(report)
    stand_in = inspect_machine_code("spmv", "K20c")
    assert any("sm_35" in note for note in stand_in.notes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["machine-code", "spmv"], "--machine"),
        (["machine-code", "spmv", "--arch", "sm_35"], "11.8"),
        (["machine-code", "spmv", "--arch", "sm_86", "--nvrtc", "9"], "12.9"),
        (["machine-code", "spmvv", "--arch", "sm_86"], "spmvv"),
    ],
)
def test_bad_input_is_one_error(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(sys, "argv", ["placewise", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.err.count("error:") == 1
    assert said in printed.err
    assert printed.out == ""


def test_json_is_all_that_is_printed(monkeypatch, capsys):
    arguments = ["machine-code", "matmul", "-m", "A100", "--format", "json"]
    monkeypatch.setattr(sys, "argv", ["placewise", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["target"]["arch"] == "sm_80"
