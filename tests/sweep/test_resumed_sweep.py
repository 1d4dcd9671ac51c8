"""Sweeps that are ended and go on: nothing lost, nothing computed twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from swept import invented, plan_of, written_case

from placewise.sweep import sweep
from placewise.sweep.store import Outcome, times_recorded

DRIVER = """
import os, signal, sys
from pathlib import Path
from swept import invented, plan_of
from placewise.sweep import sweep

case, folder, log, killed_at = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]

def logged(task):
    with log.open("a") as file:
        file.write(task.key + "\\n")
    if len(log.read_text().splitlines()) == int(killed_at):
        os.kill(os.getppid(), signal.SIGKILL)
    return invented(task)

sweep(plan_of(case), folder, workers=2, predict=logged)
"""


def driven(case, folder, log, killed_at):
    """Sweep in a process of its own, which a worker kills when it begins so many tasks."""
    found = subprocess.run(
        [sys.executable, "-c", DRIVER, str(case), str(folder), str(log), str(killed_at)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        check=False,
    )
    return found.returncode


def test_killed_twice_and_resumed(tmp_path):
    case, folder, log = written_case(tmp_path), tmp_path / "store", tmp_path / "log"
    stored, begun = [], []
    for killed_at in (11, 30):
        assert driven(case, folder, log, killed_at) == -signal.SIGKILL
        stored.append(set(times_recorded(folder)))
        begun.append(len(log.read_text().splitlines()))
    assert driven(case, folder, log, 0) == 0
    keys = log.read_text().splitlines()
    for before, count in zip(stored, begun, strict=True):
        # Both workers were at a task when the sweep was killed, and it had heard of all others.
        assert len(before) >= count - 2 * (1 + begun.index(count))
        assert not before & set(keys[count:])
    result = sweep(plan_of(case), folder, predict=lambda task: pytest.fail("all are stored"))
    assert result.computed == 0
    assert [row.outcome for row in result.rows] == [invented(row.task) for row in result.rows]
    assert set(times_recorded(folder).values()) == {1}
    assert len(result.rows) == 48


def test_parts_make_the_whole(tmp_path):
    plan, folder = plan_of(written_case(tmp_path)), tmp_path / "store"
    parts = [sweep(plan, folder, shard=(n, 3), workers=1, predict=invented) for n in (3, 1, 2)]
    assert [part.computed for part in parts] == [16, 16, 16]
    whole = sweep(plan, folder, predict=lambda task: pytest.fail("all are stored"))
    assert [row.outcome for row in whole.rows] == [invented(row.task) for row in whole.rows]


def test_failures_are_stored_and_tried_again_on_request(tmp_path):
    plan, folder = plan_of(written_case(tmp_path)), tmp_path / "store"

    def failing(task):
        return Outcome(error="odd") if dict(task.parameters)["unroll"] == 2 else invented(task)

    first = sweep(plan, folder, workers=2, predict=failing)
    assert (first.computed, len(first.failed)) == (48, 24)
    again = sweep(plan, folder, workers=2, predict=invented)
    assert (again.computed, len(again.failed)) == (0, 24)
    mended = sweep(plan, folder, workers=2, predict=invented, retry_failed=True)
    assert (mended.computed, len(mended.failed)) == (24, 0)


def test_a_larger_plan_computes_what_is_new(tmp_path):
    case, folder = written_case(tmp_path), tmp_path / "store"
    sweep(plan_of(case), folder, workers=2, predict=invented)
    larger = plan_of(case, sizes={"n": [1024, 2048, 4096, 8192]})
    assert sweep(larger, folder, workers=2, predict=invented).computed == 16


def test_records_have_a_column_for_every_value(tmp_path):
    result = sweep(plan_of(written_case(tmp_path)), tmp_path / "s", workers=2, predict=invented)
    records = result.records()
    assert len(records) == 48
    first = result.rows[0].task
    assert records[0]["n"] == dict(first.sizes)["n"]
    assert records[0]["block"] == dict(first.parameters)["block"]
    frame = result.to_dataframe()
    assert list(frame.columns) == list(records[0])
    assert frame.milliseconds.sum() == sum(invented(r.task).milliseconds for r in result.rows)
