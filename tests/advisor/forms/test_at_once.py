"""Forms tried by several processes: every task has its result, whatever becomes of a process."""

import os
import time
from types import SimpleNamespace

import pytest

from placewise.advisor.forms.at_once import SLOW_S, meanwhile, tried


def prepared(workers, seconds=SLOW_S):
    inputs = SimpleNamespace(arguments=(), buffers=(), constants=())
    case = SimpleNamespace(inputs=inputs)
    return SimpleNamespace(workers=workers, seconds=seconds, case=case, machine=None)


@pytest.mark.parametrize("seconds", [0.0, SLOW_S])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_task_is_done(workers, seconds):
    found = dict(tried([3, 1, 2], lambda task: task * task, prepared(workers, seconds), None))
    assert found == {3: 9, 1: 1, 2: 4}


@pytest.mark.parametrize(("slept_s", "elsewhere"), [(0.0, 0), (0.6 * SLOW_S, 2)])
def test_of_a_small_launch_only_slow_forms_are_given_to_other_processes(slept_s, elsewhere):
    own = os.getpid()

    def function(task):
        time.sleep(slept_s)
        return os.getpid() != own

    found = dict(tried([0, 1, 2], function, prepared(2, seconds=0.0), None))
    assert not found[0]
    assert sum(found.values()) == elsewhere


@pytest.mark.parametrize(("seconds", "elsewhere"), [(0.0, False), (SLOW_S, True)])
def test_work_goes_on_meanwhile_unless_the_launch_is_small(seconds, elsewhere):
    own = os.getpid()
    with meanwhile(lambda: os.getpid() != own, prepared(2, seconds)) as answer:
        assert answer() == elsewhere


def test_a_task_whose_process_dies_is_done_here():
    own = os.getpid()

    def function(task):
        if task == 1 and os.getpid() != own:
            os._exit(1)
        return task, os.getpid() == own

    found = dict(tried([0, 1, 2], function, prepared(2), None))
    assert found[1] == (1, True)
    assert found[0] == (0, False)


def test_an_error_is_that_of_the_function():
    with pytest.raises(ZeroDivisionError):
        list(tried([0, 1], lambda task: 1 // task, prepared(2), None))
