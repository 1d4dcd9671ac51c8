"""Worker processes: what their answers hold, and how tasks are divided among them."""

import numpy as np

from placewise.forked_workers import Lost, Shares, answers, begun


def test_shared_objects_come_back_as_they_are():
    array = np.arange(4)

    def function(task):
        return {"shared": array, "copied": array + task}

    found = dict(answers([1, 2, 3], function, workers=2, shared=[array]))
    for task in (1, 2, 3):
        assert found[task]["shared"] is array
        np.testing.assert_array_equal(found[task]["copied"], array + task)


def test_a_task_that_fails_is_lost_alone():
    found = dict(answers([0, 1, 2], lambda task: 6 // task, workers=2))
    assert isinstance(found[0], Lost)
    assert "ZeroDivisionError" in found[0].why
    assert (found[1], found[2]) == (6, 3)


def test_an_answer_that_cannot_be_sent_is_lost():
    ((_, found),) = answers([0], lambda _: lambda: None, workers=1)
    assert isinstance(found, Lost)


def test_a_function_that_was_begun_is_waited_for():
    array = np.arange(4)
    with begun(lambda: (array, int(array.sum())), shared=[array]) as answer:
        found, total = answer()
    assert found is array
    assert total == 6
    with begun(lambda: 1 // 0) as answer:
        assert isinstance(answer(), Lost)


def test_work_of_a_slow_worker_is_taken_over():
    tasks = list(range(48))
    shares = Shares(tasks, 3)
    slow = shares.next_for(0)
    quick = [shares.next_for(1 + n % 2) for n in range(len(tasks) - 1)]
    assert {slow, *quick} == set(tasks)
    assert [shares.next_for(n) for n in range(3)] == [None] * 3
