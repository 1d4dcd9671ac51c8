"""Forms tried by several processes: every task has its result, whatever becomes of a process."""

import os
from types import SimpleNamespace

import pytest

from placewise.advisor.forms.at_once import tried


def prepared(workers):
    inputs = SimpleNamespace(arguments=(), buffers=(), constants=())
    return SimpleNamespace(workers=workers, case=SimpleNamespace(inputs=inputs), machine=None)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_task_is_done(workers):
    found = dict(tried([3, 1, 2], lambda task: task * task, prepared(workers), None))
    assert found == {3: 9, 1: 1, 2: 4}


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
