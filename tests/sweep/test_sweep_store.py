"""What is stored comes back, from all files of the folder."""

import sqlite3

import pytest
from swept import invented, plan_of, written_case

from placewise.errors import PlacewiseError
from placewise.sweep import tasks_of
from placewise.sweep.store import Outcome, opened, times_recorded


@pytest.fixture
def tasks(tmp_path):
    return tasks_of(plan_of(written_case(tmp_path)))


def test_outcomes_come_back_as_they_were(tasks, tmp_path):
    folder = tmp_path / "store"
    failed = Outcome(error="no clock\n  hint: none", seconds=0.5)
    with opened(folder) as store:
        store.record(tasks[0], invented(tasks[0]))
        store.record(tasks[1], failed)
    with opened(folder) as store:
        found = store.outcomes(t.key for t in tasks)
    assert found == {tasks[0].key: invented(tasks[0]), tasks[1].key: failed}


def test_all_files_of_a_folder_are_read_and_times_go_before_errors(tasks, tmp_path):
    with opened(tmp_path, "results-1-of-2") as store:
        store.record(tasks[0], Outcome(error="lost"))
        store.record(tasks[1], invented(tasks[1]))
    with opened(tmp_path, "results-2-of-2") as store:
        store.record(tasks[0], invented(tasks[0]))
    with opened(tmp_path) as store:
        found = store.outcomes(t.key for t in tasks)
    assert found == {t.key: invented(t) for t in tasks[:2]}
    assert times_recorded(tmp_path) == {tasks[0].key: 2, tasks[1].key: 1}


def test_two_writers_of_one_file_are_refused(tmp_path):
    with opened(tmp_path), opened(tmp_path, "results-1-of-2"):
        second = opened(tmp_path)
        with pytest.raises(PlacewiseError, match="another sweep writes here"):
            second.__enter__()
    with opened(tmp_path):
        pass


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "results.sqlite").write_text("not a database, but long enough to be read as one")
    with pytest.raises(PlacewiseError, match="not a readable store"), opened(tmp_path):
        pass


def test_a_store_of_another_version_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "results.sqlite")
    connection.execute("PRAGMA user_version = 7")
    connection.commit()
    connection.close()
    with pytest.raises(PlacewiseError, match="version 7"), opened(tmp_path):
        pass
