"""``placewise rewrite``."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import PlacewiseError

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("my-kernel.toml", "scale.cu"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["rewrite", "my-kernel.toml", *arguments, "--quiet"])


def test_a_placement_is_written_with_its_host_code(folder):
    done = run("-m", "A100", "--place", "table=constant", "--out", "o")
    assert done.exit_code == 0, done.output
    assert "bit-identical" in done.output
    assert "table_const" in (folder / "o" / "scale.cu").read_text()
    assert "cudaMemcpyToSymbol" in (folder / "o" / "scale.host.txt").read_text()


@pytest.mark.slow
def test_versions_are_written_with_their_header(folder):
    done = run("-m", "A100", "--agnostic", "--place", "table=texture", "--out", "o")
    assert done.exit_code == 0, done.output
    source = (folder / "o" / "scale.cu").read_text()
    header = (folder / "o" / "scale_placements.h").read_text()
    assert "scale_any(" in source
    assert "tex1Dfetch<float>(table_tex, " in source
    assert "scale_prepare(" in header


WRONG = {
    "unknown array": (["-m", "A100", "--place", "tabel=constant"], "no array 'tabel'"),
    "unknown space": (["-m", "A100", "--place", "table=cloud"], "no space 'cloud'"),
    "not legal": (["-m", "A100", "--place", "out=texture"], "cannot be there on A100"),
    "no move": (["-m", "A100"], "no array is moved"),
    "several machines": (["-m", "A100,H100", "--place", "table=texture"], "one machine"),
    "buffers of no loop": (
        ["-m", "A100", "--place", "table=shared", "--buffers", "2"],
        "add --chunk",
    ),
    "versions of one": (["-m", "A100", "--place", "table=texture", "--versions", "2"], "agnostic"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_is_one_error_and_nothing_is_written(folder, what):
    arguments, message = WRONG[what]
    done = run(*arguments, "--out", "o")
    assert isinstance(done.exception, PlacewiseError)
    assert message in str(done.exception)
    assert not (folder / "o").exists()
