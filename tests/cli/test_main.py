import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

CASE = """\
schema = 1
kernel = "twice"
source = "twice.cu"
[launch]
grid = [4]
block = [64]
[[arguments]]
name = "a"
dtype = "float32"
shape = [256]
fill = 1
"""
KERNEL = """\
__global__ void twice(float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = 2 * a[i];
}
"""


def placewise(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from placewise.cli.main import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "twice.toml").write_text(CASE)
    (tmp_path / "twice.cu").write_text(KERNEL)
    return tmp_path


def test_json_leaves_standard_output_clean(folder):
    done = placewise("advise", "twice.toml", "-m", "A100", "--format", "json", folder=folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["case"]["kernel"] == "twice"
    assert "compiling" in done.stderr


@pytest.mark.slow
def test_quiet_is_quiet(folder):
    done = placewise("advise", "twice.toml", "-m", "A100", "-q", folder=folder)
    assert done.stderr == ""
    assert "Verdict" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["advise", "twice.toml", "-m", "A1000", "--out", "o"], "A1000"),
        (["advise", "gone.toml", "-m", "A100"], "gone.toml"),
        (["advise", "twice.toml", "-m", "A100", "--measured", "3", "--out", "o"], "--measured"),
        (["advise", "twice.toml", "-m", "A100", "--measured", "gone.csv"], "gone.csv"),
        (["advise", "twice.toml", "-m", "A100", "--out", "twice.cu"], "twice.cu"),
        (["advise", "twice.toml", "-m", "A100", "--row", "1"], "--row"),
        (["counters", "twice.toml", "-m", "A100", "--row", "1"], "--row"),
        (["measure", "twice.toml", "--out", "."], "is a folder"),
        (["machine-code", "twice.toml", "--arch", "86"], "sm_86"),
        (["machine", "check", "gone.msl"], "gone.msl"),
    ],
)
def test_bad_input_is_one_located_error(folder, arguments, where):
    done = placewise(*arguments, folder=folder)
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert where in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (folder / "o").exists()


def test_machines_and_cases_are_listed(folder):
    machines = placewise("machine", "list", folder=folder).stdout
    assert "K20c" in machines
    cases = placewise("cases", folder=folder).stdout
    assert "spmv" in cases
    assert cases.index("linear algebra") < cases.index("transpose") < cases.index("simulation")
    by_paper = placewise("cases", "--by", "paper", folder=folder).stdout
    assert re.search(r"^PORPLE .*\nmm +matmul ", by_paper)
    assert "Fan2" in by_paper
    assert placewise("machine", "check", "K20c", folder=folder).returncode == 0


def test_lists_and_checks_as_data(folder):
    cases = json.loads(placewise("cases", "--json", folder=folder).stdout)["cases"]
    assert {"name", "group", "papers", "kernel", "grid", "block"} <= cases[0].keys()
    checked = json.loads(placewise("machine", "check", "K20c", "--json", folder=folder).stdout)
    assert (checked["name"], checked["warnings"]) == ("K20c", [])


def test_the_version_is_told(folder):
    assert placewise("--version", folder=folder).stdout.startswith("placewise ")


def test_help_has_examples(folder):
    assert "placewise advise spmv" in placewise("advise", "--help", folder=folder).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", [["cases"], ["cases", "--json"], ["machine", "show", "A100"]])
def test_a_full_disk_behind_standard_output_is_one_message(command):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "placewise", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


def test_a_reader_that_has_seen_enough_is_no_mistake():
    command = f"{sys.executable} -m placewise machine show A100 --json"
    with subprocess.Popen(
        command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait()
