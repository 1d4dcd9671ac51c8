import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import ExecutionError

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
arange = {{ start = 0, step = 1 }}
[[arguments]]
name = "n"
dtype = "int32"
value = {n}
"""
KERNEL = """\
#include <cstdio>
__global__ void twice(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) printf("n = %d\\n", n);
    if (n < 0) while (*(volatile float *)a < 1.0f) { }
    if (i < n) a[i + (n - 256)] *= 2;
}
"""
COMMAND = [sys.executable, "-c", "from placewise.cli.main import main; main()", "run"]


def placewise_run(*arguments, folder):
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.toml").write_text(CASE.format(n=256))
    (tmp_path / "bad.toml").write_text(CASE.format(n=260))
    (tmp_path / "endless.toml").write_text(CASE.format(n=-1))
    (tmp_path / "twice.cu").write_text(KERNEL)
    return tmp_path


def test_outputs_are_shown_and_saved(folder):
    done = placewise_run("good.toml", "--save", "o", "--out", "all.npz", "--check", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("n = 256\n")
    assert "no mistakes" in done.stdout
    wanted = 2 * np.arange(256, dtype=np.float32)
    assert np.array_equal(np.load(folder / "o" / "a.npy"), wanted)
    assert np.array_equal(np.load(folder / "all.npz")["a"], wanted)


def test_findings_set_the_status_and_are_in_the_json(folder):
    done = placewise_run("bad.toml", "--check", "-f", "json", "-q", folder=folder)
    assert done.returncode == 1
    assert done.stderr == ""
    document = json.loads(done.stdout)
    (finding,) = document["check"]["findings"]
    # Threads 252 to 255 of the 256 load and store elements 256 to 259.
    assert finding["kind"] == "out-of-bounds"
    assert finding["count"] == 8
    assert finding["index"] == [256]
    assert finding["place"]["line"] == 6
    assert finding["thread"] == {"block": [3, 0, 0], "thread": [60, 0, 0]}
    assert document["printed"]["text"] == "n = 260\n"
    (array,) = document["arrays"]
    assert (array["least"], array["most"], array["written"]) == (0, 2 * 251 + 8, True)


def test_lines_are_counted(folder):
    document = json.loads(placewise_run("good.toml", "-f", "json", folder=folder).stdout)
    assert document["check"] is None
    lines = {entry["line"]: entry for entry in document["lines"]}
    # Eight warps each load and store their elements once.
    assert lines[6]["accesses"] == {"load global": 8, "store global": 8}


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["gone.toml"], "gone.toml"),
        (["good.toml", "--out", "x.txt"], "x.txt"),
        (["good.toml", "--save", "twice.cu"], "twice.cu"),
        (["good.toml", "--machine", "A1000"], "A1000"),
        (["bad.toml"], "twice.cu:6"),
    ],
)
def test_what_is_wrong_is_one_located_error(folder, arguments, where):
    done = placewise_run(*arguments, folder=folder)
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert where in done.stderr
    assert "Traceback" not in done.stderr


def test_a_kernel_without_end_is_found_by_the_limit(folder):
    done = placewise_run("endless.toml", "--check", "--limit", "2000000", folder=folder)
    assert done.returncode == 1
    assert "does-not-end" in done.stdout
    assert "twice.cu:5" in done.stdout


HEARS_INTERRUPTS = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from placewise.cli.main import main; main()"
)
"""What a shell starts in the background ignores interrupts, and so do its children."""


def test_an_interrupt_ends_a_run(folder):
    limit = "1000000000000000"
    with subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTS, "run", "endless.toml", "--limit", limit],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            while "running" not in process.stderr.readline():
                assert process.poll() is None
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_long_source_lines_do_not_squeeze_the_figures(folder):
    long = KERNEL.replace(
        "if (i < n) a[i + (n - 256)] *= 2;",
        "if (i < n) a[i + (n - 256)] = (a[i] + a[i] + a[i] + a[i] + a[i] + a[i] + a[i] + a[i]"
        " + a[i] + a[i] + a[i] + a[i] + a[i] + a[i] + a[i] + a[i]) / 8.0f;",
    )
    (folder / "twice.cu").write_text(long)
    shown = placewise_run("good.toml", "-q", folder=folder).stdout.splitlines()
    (head,) = [line for line in shown if "warp accesses" in line]
    assert head.split() == ["line", "warp", "instr.", "lanes", "warp", "accesses", "source"]
    (row,) = [line for line in shown if "a[i + (n - 256)]" in line]
    assert "load global 8" in row
    assert row.rstrip().endswith("…")


def test_arguments_go_to_the_parameters_of_their_names(folder):
    head, first, second = CASE.format(n=256).split("[[arguments]]")
    (folder / "turned.toml").write_text("[[arguments]]".join([head, second, first]))
    done = placewise_run("turned.toml", "--out", "all.npz", "-q", folder=folder)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(folder / "all.npz")["a"], 2 * np.arange(256, dtype=np.float32))


STUCK = """
schema = 1
name = "stuck"
kernel = "stuck"
code = '''
__global__ void stuck(int *lock, int *out) {
    while (atomicCAS(lock, 0, 1) != 0);
    out[blockIdx.x] = 1;
}'''
launch = { grid = [2], block = [32] }
[[arguments]]
name = "lock"
dtype = "int32"
shape = [1]
fill = 0
[[arguments]]
name = "out"
dtype = "int32"
shape = [2]
fill = 0
"""


def test_a_lock_that_is_never_freed_is_found_by_the_checker(tmp_path):
    path = tmp_path / "stuck.toml"
    path.write_text(STUCK)
    arguments = ["run", str(path), "--check", "--json", "-q", "--limit", "200000"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)["check"]["findings"]
    assert (found["kind"], found["severity"]) == ("does-not-end", "error")
    assert found["place"]["line"] == 2


@pytest.mark.parametrize("command", [["run"], ["advise", "-m", "A100"], ["counters", "-m", "A100"]])
def test_a_lock_that_is_never_freed_is_one_error(tmp_path, command):
    path = tmp_path / "stuck.toml"
    path.write_text(STUCK)
    name, *options = command
    done = CliRunner().invoke(app, [name, str(path), *options, "-q", "--limit", "200000"])
    assert isinstance(done.exception, ExecutionError)
    assert "<stuck>:2: the kernel does not end" in str(done.exception)
    assert not done.stdout
