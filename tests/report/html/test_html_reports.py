"""``--html`` of every command writes a page whose data its schema describes."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

import placewise
from placewise.cli.main import app
from placewise.schemas.page import PageDocument

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
COMMANDS = {
    "advise transpose.toml -m A100 --finalists 1": 2,
    "advise transpose.toml -m K20c --finalists 1": 2,
    "advise transpose.toml -m A100 --finalists 1 --layouts": 2,
    "layout particles.toml -m A100 --layout soa": 2,
    "advise blur.toml -m RTX3060 --finalists 1": 2,
    "layout bodies.toml -m A100 --layout soa": 1,
    "time transpose.toml -m A100,H100 --measured A100=1ms": 2,
    "counters transpose.toml -m A100": 1,
    "counters transpose.toml -m A100 --place out=shared": 2,
    "lint transpose.toml -m A100": 1,
    "run transpose.toml --check": 1,
    "validate times.csv --case blocks.toml -m A100 --model path": 0,
    "probe --simulate T1000 --only constant --only banks -q --curves curves.svg": 0,
}
"""By command, the number of forms of its page."""
SLOW = ("advise blur.toml", "layout bodies.toml")
"""Programs of several launches, which take ten seconds each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "work"
    shutil.copytree(EXAMPLES, folder)
    return folder


def data_of(text):
    found = re.search(r'<script id="placewise-page" type="application/json">(.*?)</script>', text)
    assert found is not None
    return TypeAdapter(PageDocument).validate_json(found[1], strict=True)


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=pytest.mark.slow) if c.startswith(SLOW) else c for c in COMMANDS],
)
def test_a_command_writes_the_page_of_its_document(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, [*command.split(), "--json", "--html", "out/page.html"])
    assert done.exit_code in (0, 1), done.output
    text = (folder / "out" / "page.html").read_text()
    data = data_of(text)
    assert data["kind"] == command.split()[0]
    assert len(data["forms"]) == COMMANDS[command]
    printed = json.loads(done.stdout)
    assert data["document"]["schema"] == printed["schema"]
    assert data["document"].keys() == printed.keys()
    assert data["verdict"].endswith(".")
    assert len(text.encode()) - len(json.dumps(data).encode()) < 1_000_000


def test_a_page_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "taken").write_text("")
    target = tmp_path / "taken" / "page.html"
    done = CliRunner().invoke(app, ["time", "spmv", "-m", "A100", "--html", str(target)])
    assert done.exit_code != 0
    assert not done.stdout


@pytest.mark.slow
def test_results_show_their_page_in_notebooks(gather_advice):
    assert "srcdoc=" in gather_advice._repr_html_()
    source = "__global__ void one(int *a) { a[threadIdx.x] = 1; }"
    case = placewise.make_case("one", source, [np.zeros(32, np.int32)], block=32, grid=1)
    assert "srcdoc=" in placewise.predict_time(case, "A100")._repr_html_()
    assert "srcdoc=" in placewise.lint(case, "A100")._repr_html_()
    moved = placewise.predict_moved_counters(case, "A100", {"a": "shared"}, retarget=True)
    assert "srcdoc=" in moved._repr_html_()


def test_the_page_of_a_result_is_made_once():
    source = "__global__ void one(int *a) { a[threadIdx.x] = 1; }"
    run = placewise.execute(
        placewise.make_case("one", source, [np.zeros(32, np.int32)], block=32, grid=1)
    )
    assert "srcdoc=" in run._repr_html_()
    assert run._repr_html_() is run._repr_html_()
