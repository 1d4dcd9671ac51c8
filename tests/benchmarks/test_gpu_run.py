"""``benchmarks/gpu/run.sh`` from start to end, on a machine that is acted out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placewise.cases import case_names
from placewise.machine import load_machine

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "gpu" / "run.sh"
STAND_IN = """
import os, runpy, sys
import pathlib
sys.path.insert(0, os.getcwd())
arguments = sys.argv[2:]
module, rest = arguments[0], arguments[1:]
if module == "placewise" and rest[0] == "probe":
    at = rest.index("--device")
    del rest[at : at + 2]
    rest += ["--simulate", os.environ["ACTED_OUT"], "--quick"]
if module == "benchmarks.gpu" and "--check" in rest:
    sys.exit(int(os.environ.get("CHECKED", "0")))
if module == "benchmarks.gpu" and "--arch" in rest:
    print("sm_75")
    sys.exit(0)
if module == "benchmarks.gpu.published":
    name = rest[2] if rest[0] == "prepare" else pathlib.Path(rest[2]) / "published-times.json"
    pathlib.Path(name).write_text("{}")
    sys.exit(0)
if module == "benchmarks.gpu" and rest[0] in ("spmv", "matmul"):
    if rest[0] == "matmul":
        sys.exit(1)
    folder = pathlib.Path(rest[rest.index("--folder") + 1])
    document = '{"schema": "placewise-measurements", "schema_version": 2, "measurements": []}'
    (folder / ("spmv.json" if "--once" in rest else "gpu-times.json")).write_text(document)
    sys.exit(0)
if module == "benchmarks.gpu" and not rest[0].startswith("--"):
    sys.exit(0)
sys.argv = [module, *rest]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
PROFILER = """#!/bin/sh
echo "$@" >>"$PROFILED"
while [ "$1" != --export ]; do shift; done
echo report >"$2.ncu-rep"
shift 2
exec "$@"
"""


@pytest.fixture
def call(tmp_path):
    """The script, its interpreter one that acts a small machine out; ncu is a stand-in, too."""
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (
        ("python", f'#!/bin/sh\nexec {sys.executable} {stand_in} "$@"\n'),
        ("ncu", PROFILER),
    ):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {
        **os.environ,
        "PYTHON": str(tools / "python"),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PROFILED": str(tmp_path / "profiled"),
        "ACTED_OUT": "T1000",
    }

    def run(*arguments, **more):
        return subprocess.run(
            ["bash", SCRIPT, *arguments],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_without_a_gpu_nothing_is_begun(call, tmp_path):
    result = call("--out", str(tmp_path / "results"), CHECKED="3")
    assert result.returncode == 3
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize("arguments", [("--out",), ("--wrong",)])
def test_wrong_arguments_are_named(call, arguments):
    result = call(*arguments)
    assert result.returncode == 2
    assert arguments[0] in result.stderr


@pytest.mark.slow
def test_one_call_leaves_everything_where_it_was_told_to(call, tmp_path):
    results = tmp_path / "results"
    result = call("--out", str(results))
    # matmul fails here, and is named; what comes after it is there all the same.
    assert result.returncode == 1
    assert "matmul ended with status 1" in result.stderr
    assert "spmv ended" not in result.stderr
    machine = load_machine(str(results / "probe-gpu.msl"))
    known = load_machine("T1000").memory("L2")
    assert machine.memory("L2").latency_cycles == pytest.approx(known.latency_cycles, rel=0.03)
    assert (results / "probe-gpu.svg").stat().st_size > 10_000
    probed = json.loads((results / "probe-gpu.json").read_text())
    assert probed["not_found"] == []
    assert json.loads((results / "probe-gpu-advice.json").read_text())["options"]
    assert "L2" in (results / "probe-gpu-beside-H100.txt").read_text()
    assert (results / "gpu-times.json").is_file()
    assert (results / "published-times.json").is_file()
    reports = {path.stem for path in (results / "counters").glob("*.ncu-rep")}
    assert reports == {"published", *case_names()}
    profiled = (tmp_path / "profiled").read_text()
    assert "lts__t_sectors_op_read.sum" in profiled
    assert "--clock-control none" in profiled
