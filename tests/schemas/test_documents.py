"""Every command's ``--json`` is the document that its schema describes, key by key."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from typer.main import get_command
from typer.testing import CliRunner

import placewise
from placewise.cli.main import app
from placewise.schemas import DOCUMENTS, json_schema

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
COMMANDS = {
    "advise spmv -m K20c": "placewise-advice",
    "advise my-kernel.toml -m A100 --finalists 1": "placewise-advice",
    "advise my-kernel.toml -m A100 --finalists 1 --layouts": "placewise-joint",
    "advise blur.toml -m RTX3060 --finalists 1": "placewise-program",
    "advise my-kernel.toml -m A100 --model huang-li --measured 1ms": "placewise-targets",
    "layout transpose.toml -m A100": "placewise-layout",
    "layout particles.toml -m A100 --static": "placewise-static-layout",
    "rewrite my-kernel.toml -m A100 --place table=constant": "placewise-written",
    "rewrite my-kernel.toml -m A100 --agnostic --versions 1": "placewise-agnostic",
    "time my-kernel.toml -m A100 -m K20c --measured A100=1ms": "placewise-times",
    "calibrate my-kernel.toml -m A100 --measured 1ms": "placewise-calibration",
    "sweep blocks.toml -m A100 --parameter BLOCK_SIZE=64,128 -q": "placewise-sweep",
    "counters spmv -m H100 --sizes": "placewise-counters",
    "counters my-kernel.toml -m A4000 --place table=constant": "placewise-counters",
    "lint transpose.toml -m A4000": "placewise-lint",
    "run my-kernel.toml": "placewise-run",
    "trace my-kernel.toml -m A100 --accel-sim traces --blocks 2 -q": "placewise-trace",
    "machine-code my-kernel.toml -m A100 --run": "placewise-machine-code",
    "machine list": "placewise-machines",
    "machine show T4": "placewise-machine",
    "machine check T4": "placewise-machine-check",
    "machine diff T4 C1060": "placewise-machine-difference",
    "machine curve latency.txt": "placewise-levels",
    "validate times.csv --case blocks.toml -m A100 --model path": "placewise-validation",
    "reproduce hu-liu": "placewise-reproduction",
    "probe --simulate T1000 --only constant --only banks -q": "placewise-probe",
    "cases": "placewise-cases",
    "draft scale.cu --out drafted.toml": "placewise-draft",
    "doctor": "placewise-doctor",
}
UNTRIED = {"measure", "studio", "machine from-mt4g"}
"""They need a GPU, serve pages, or print the document of ``machine show``."""
CYCLES = {k: 30.0 if k < 100 else 90.0 for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)}
LATENCIES = "clock: 1380 1380\n" + "".join(f" 100 1380 {k} 1.0 {c}\n" for k, c in CYCLES.items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "work"
    shutil.copytree(EXAMPLES, folder)
    (folder / "latency.txt").write_text(LATENCIES)
    return folder


def validated(document):
    """Check a document strictly against the schema that it names; returns the schema's name."""
    name = document["schema"]
    TypeAdapter(DOCUMENTS[name]).validate_json(json.dumps(document), strict=True)
    return name


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=[pytest.mark.slow] * ("blur" in c)) for c in COMMANDS],
)
def test_the_json_of_a_command_is_what_its_schema_describes(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, [*command.split(), "--json"])
    assert done.exit_code in (0, 1), done.output
    assert validated(json.loads(done.stdout)) == COMMANDS[command]


def test_every_command_is_tried():
    group = get_command(app)
    machine = group.commands["machine"].commands
    names = {*group.commands, *(f"machine {name}" for name in machine)} - {"machine"}
    tried = {name for name in names for command in COMMANDS if f"{command} ".startswith(f"{name} ")}
    assert names - tried == UNTRIED


def test_findings_of_the_checker_are_described():
    source = """__global__ void k(int *a) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        a[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    case = placewise.make_case("k", source, [np.zeros(8, np.int32)], block=64, grid=1)
    document = placewise.execute(case, check=True).to_dict()
    assert {f["kind"] for f in document["check"]["findings"]} >= {"out-of-bounds", "shared-race"}
    assert validated(document) == "placewise-run"


def test_results_without_a_command_are_described():
    moved = placewise.rewrite("spmv", {"x": "texture"}, "A100")
    assert validated(moved.to_dict()) == "placewise-rewritten"
    assert validated(placewise.predict_time("spmv", "A100").to_dict()) == "placewise-time"


def test_a_key_that_is_new_missing_or_of_another_type_is_refused():
    document = placewise.predict_time("spmv", "A100").to_dict()
    for wrong in (
        document | {"new": 1},
        {k: v for k, v in document.items() if k != "range_ms"},
        document | {"milliseconds": "1.5"},
        document | {"schema_version": 1},
    ):
        with pytest.raises(ValidationError):
            validated(wrong)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_key_is_described(name):
    schema = json_schema(name)
    assert schema["properties"]["schema"]["const"] == name
    parts = {"": schema, **schema.get("$defs", {})}
    for part, described in parts.items():
        assert described["description"], part
        assert described["additionalProperties"] is False
        assert sorted(described["required"]) == sorted(described["properties"])
        for key, value in described["properties"].items():
            if key not in ("schema", "schema_version"):
                of_part = parts.get(value.get("$ref", "").rpartition("/")[2], {})
                assert value.get("description") or of_part.get("description"), (part, key)
