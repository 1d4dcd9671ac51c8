"""Results of a sweep on disk: a folder of SQLite files, one for each process that writes.

A result is stored as soon as its prediction is made, so a sweep may be interrupted at any moment.
Each part of a job array writes its own file, since SQLite's locks do not work on every network file
system. All parts read all files.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from placewise.errors import PlacewiseError
from placewise.sweep.plan import Task

SCHEMA = 1
"""Version of the tables; a store with another version is refused."""
_SUFFIX = ".sqlite"
_WAIT_S = 60.0
"""Seconds that a read waits for a writer of the same file."""
_TABLE = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, "case" TEXT, machine TEXT, sizes TEXT, parameters TEXT,
    milliseconds REAL, low_ms REAL, high_ms REAL, limited_by TEXT, nearly_limited_by TEXT,
    registers INTEGER, warps_per_sm INTEGER, error TEXT, seconds REAL, recorded INTEGER
)"""
_INSERT = """
INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (key) DO UPDATE SET
    milliseconds = excluded.milliseconds, low_ms = excluded.low_ms, high_ms = excluded.high_ms,
    limited_by = excluded.limited_by, nearly_limited_by = excluded.nearly_limited_by,
    registers = excluded.registers, warps_per_sm = excluded.warps_per_sm,
    error = excluded.error, seconds = excluded.seconds, recorded = recorded + 1
"""
_READ = """
SELECT key, milliseconds, low_ms, high_ms, limited_by, nearly_limited_by, registers, warps_per_sm,
    error, seconds, recorded FROM results"""


@dataclass(frozen=True)
class Outcome:
    """The result of one task: a predicted time, or an error."""

    milliseconds: float | None = None
    range_ms: tuple[float, float] | None = None
    """Ends of the interval of the predicted time, in milliseconds."""
    limited_by: str | None = None
    nearly_limited_by: tuple[str, ...] = ()
    """Other parts of the machine that take at least 80 % as long."""
    registers: int | None = None
    warps_per_sm: int | None = None
    error: str | None = None
    """Why there is no predicted time; None where there is one."""
    seconds: float = 0.0
    """Seconds that the prediction took."""


@dataclass(frozen=True)
class Row:
    """A task with its outcome."""

    task: Task
    outcome: Outcome


class Store:
    """The store of a sweep: one file that this process writes, and the results in all files of the
    folder. Made by :func:`opened`."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder

    def outcomes(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Stored outcomes of ``keys``, from all files of the folder. If a key has several, a
        predicted time is preferred to an error."""
        wanted = set(keys)
        found: dict[str, Outcome] = {}
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")):
            for key, outcome, _ in _stored(file):
                if key in wanted and (key not in found or found[key].error is not None):
                    found[key] = outcome
        return found

    def record(self, task: Task, outcome: Outcome) -> None:
        """Store one outcome; it is on disk when this returns. Raises PlacewiseError where it cannot
        be written."""
        low, high = outcome.range_ms or (None, None)
        values = (
            task.key, task.case, task.machine_name, json.dumps(dict(task.sizes)),
            json.dumps(dict(task.parameters)), outcome.milliseconds, low, high, outcome.limited_by,
            json.dumps(outcome.nearly_limited_by), outcome.registers, outcome.warps_per_sm,
            outcome.error, outcome.seconds,
        )  # fmt: skip
        with _told(self._folder), self._connection:
            self._connection.execute(_INSERT, values)


@contextmanager
def opened(folder: Path, name: str = "results") -> Iterator[Store]:
    """Context manager: the store in ``folder``, which is created if missing, with ``name`` as the
    file to write to.

    Raises PlacewiseError where another process writes the same file, where the folder cannot be
    written, and where a file in it is not a store.
    """
    file = folder / f"{name}{_SUFFIX}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".{name}.lock").open("w")
    except OSError as error:
        raise PlacewiseError(
            f"cannot be written: {error.strerror or error}", where=str(folder)
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlacewiseError(
                "another sweep writes here",
                where=str(file),
                hint="wait for it, give another --out, or give each its own --shard",
            ) from None
        with _told(file):
            connection = sqlite3.connect(file, timeout=_WAIT_S)
            try:
                _check_schema(connection, file)
                with connection:
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")
            except BaseException:
                connection.close()
                raise
        try:
            yield Store(connection, folder)
        finally:
            connection.close()


def times_recorded(folder: Path) -> dict[str, int]:
    """How often each key of a store was recorded. It is more than once only if failed tasks were
    tried again, or two parts had the same task."""
    found: dict[str, int] = {}
    for file in folder.glob(f"*{_SUFFIX}"):
        for key, _, recorded in _stored(file):
            found[key] = found.get(key, 0) + recorded
    return found


def _stored(file: Path) -> Iterator[tuple[str, Outcome, int]]:
    """(key, outcome, how often it was recorded) of every result in a file."""
    with _told(file):
        connection = sqlite3.connect(file, timeout=_WAIT_S)
        try:
            if _check_schema(connection, file) == 0:
                return
            rows = connection.execute(_READ)
            for key, ms, low, high, limit, nearly, regs, warps, error, seconds, times in rows:
                span = None if low is None or high is None else (low, high)
                parts = tuple(json.loads(nearly))
                outcome = Outcome(ms, span, limit, parts, regs, warps, error, seconds)
                yield key, outcome, times
        finally:
            connection.close()


def _check_schema(connection: sqlite3.Connection, file: Path) -> int:
    """Version of a file's tables: :data:`SCHEMA`, or 0 for a new file. Raises PlacewiseError for
    any other version."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found not in (0, SCHEMA):
        raise PlacewiseError(
            f"has tables of version {found}, this program's have version {SCHEMA}",
            where=str(file),
            hint="give another --out",
        )
    return found


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Context manager that turns SQLite's errors into a PlacewiseError."""
    try:
        yield
    except (sqlite3.Error, json.JSONDecodeError) as error:
        raise PlacewiseError(
            f"not a readable store of results: {error}", where=str(file), hint="give another --out"
        ) from error
