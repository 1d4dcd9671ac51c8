"""Runs of the studio: progress, answers, errors at their place, cancelling, bounds."""

import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from placewise.schemas.page import PageDocument

SCALE = """\
__global__ void scale(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 2.0f * a[i];
}
"""
ENDLESS = """\
__global__ void scale(volatile float *a, int n) {
    while (a[0] < 1.0f) a[1] += 1.0f;
}
"""
ARGUMENTS = [
    {"name": "a", "dtype": "float32", "shape": [4096], "filling": {"kind": "fill", "value": 0}},
    {"name": "n", "dtype": "int32", "shape": None, "filling": {"kind": "value", "value": 4096}},
]


def asked(source=SCALE, kind="time", machine=None):
    case = {"source": source, "kernel": "scale", "block": [128], "problem": [4096]}
    return {
        "kind": kind,
        "case": case | {"arguments": ARGUMENTS},
        "machines": [machine or {"name": "A100"}],
    }


def started(studio, request):
    status, text, _ = studio.ask("/api/runs", request)
    assert status == 200, text
    return json.loads(text)["run"]


def test_a_run_tells_its_progress_and_gives_a_page(studio):
    run = started(studio, asked())
    events = studio.events(run)
    assert {e["event"] for e in events[:-1]} == {"progress"}
    page = events[-1]["page"]
    TypeAdapter(PageDocument).validate_json(json.dumps(page), strict=True)
    assert page["kind"] == "time"
    # Whoever asks late, as after a reload, hears all of it.
    assert studio.events(run) == events
    status, report, headers = studio.ask(f"/api/runs/{run}/report.html")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    assert page["verdict"] in report


@pytest.mark.slow
def test_a_machine_of_the_editor_is_used(studio):
    half = 'machine Half like A100 "Half"; limits { clock = 705 MHz; }'
    found = [
        studio.events(started(studio, asked(machine=m)))[-1]["page"]["document"]["times"][0]
        for m in ({"name": "A100"}, {"text": half})
    ]
    assert found[1]["machine"] == "Half"
    assert found[1]["milliseconds"] > found[0]["milliseconds"]


def test_a_kernel_that_does_not_compile_is_told_at_its_line(studio):
    event = studio.events(started(studio, asked(SCALE.replace("2.0f", "two"))))[-1]
    assert event["event"] == "failed"
    assert "two" in event["message"]
    assert ":3" in event["where"]
    assert "/tmp" not in event["where"]


def test_a_file_elsewhere_is_not_included(studio):
    event = studio.events(started(studio, asked('#include "/etc/passwd"\n' + SCALE)))[-1]
    assert event["event"] == "failed"
    assert "root:" not in json.dumps(event)
    assert event["where"] == "source, line 1"


def test_an_endless_run_can_be_cancelled_and_its_process_is_gone(serve):
    studio = serve(most=1)
    before = processes_of(os.getpid())
    run = started(studio, asked(ENDLESS, kind="run"))
    status, text, _ = studio.ask("/api/runs", asked())
    assert status == 429
    assert "cancel one" in text
    children = processes_of(os.getpid()) - before
    assert children
    assert studio.ask(f"/api/runs/{run}/cancel", {})[0] == 200
    assert studio.events(run)[-1] == {"event": "cancelled"}
    assert not children & processes_of(os.getpid())
    assert studio.ask("/api/runs", asked())[0] == 200


def processes_of(parent):
    """Numbers of the workers that run as children of a process."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_text()
        except OSError:
            continue
        if "placewise.studio.worker" in command and int(fields[1]) == parent and fields[0] != "Z":
            found.add(int(entry.name))
    return found


def test_a_run_ends_after_its_longest_time(serve):
    studio = serve(seconds=0.05)  # Less than Python takes to start.
    event = studio.events(started(studio, asked(ENDLESS, kind="run")))[-1]
    assert event["event"] == "failed"
    assert "0.05 s" in event["message"]


def test_a_request_with_an_unknown_key_starts_nothing(studio):
    status, text, _ = studio.ask("/api/runs", asked() | {"shell": "ls"})
    assert status == 422
    assert json.loads(text)["where"] == "shell"


@pytest.mark.parametrize("kind", ["advise", "layout", "counters", "lint", "run"])
@pytest.mark.slow
def test_every_kind_of_run_gives_its_page(studio, kind):
    page = studio.events(started(studio, asked(kind=kind)))[-1]["page"]
    assert page["kind"] == kind
