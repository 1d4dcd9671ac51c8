"""Processes that do tasks: each task once, whatever single tasks do."""

import os
import signal
import time

import pytest
from swept import invented, plan_of, written_case

from placewise.sweep import tasks_of
from placewise.sweep.local_workers import outcomes_here


@pytest.fixture
def tasks(tmp_path):
    return tasks_of(plan_of(written_case(tmp_path)))


@pytest.mark.parametrize("workers", [1, 2, 5, pytest.param(100, marks=pytest.mark.slow)])
def test_every_task_is_done_once(tasks, workers):
    made = list(outcomes_here(tasks, invented, workers=workers))
    assert len(made) == len(tasks)
    assert dict(made) == {t: invented(t) for t in tasks}


def test_no_tasks_need_no_process(tasks):
    assert list(outcomes_here([], invented, workers=4)) == []


def test_a_process_that_dies_takes_one_task_with_it(tasks):
    def dying(task):
        if task in (tasks[3], tasks[20]):
            os.kill(os.getpid(), signal.SIGKILL)
        return invented(task)

    made = dict(outcomes_here(tasks, dying, workers=2))
    assert {t for t, outcome in made.items() if outcome.error} == {tasks[3], tasks[20]}
    assert "was killed" in made[tasks[3]].error


def test_a_task_that_takes_too_long_fails_alone(tasks):
    def endless(task):
        while task == tasks[5]:
            time.sleep(0.01)
        return invented(task)

    # Far above what the others take, however busy the computer is.
    made = dict(outcomes_here(tasks[:10], endless, workers=2, time_limit=3.0))
    assert [t for t, outcome in made.items() if outcome.error] == [tasks[5]]
    assert "more than 3 s" in made[tasks[5]].error


def test_processes_end_with_the_iterator(tasks):
    def told(task):
        outcome = invented(task)
        return type(outcome)(**{**vars(outcome), "registers": os.getpid()})

    made = outcomes_here(tasks, told, workers=2)
    running = [next(made)[1].registers for _ in range(4)]
    made.close()
    for pid in set(running):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
