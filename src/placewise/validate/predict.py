"""Predictions of all models for configurations of one kernel on one machine, several processes at a
time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from placewise.advisor.prepare import prepare
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.helper_process import serve_parent
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import CaseFamily, read_case_family
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import for_machine
from placewise.machine import Machine, load_machine
from placewise.machine.clocks import known_clock
from placewise.memory.reuse.counters import counters
from placewise.model.base import Evidence
from placewise.model.clocked import predict_clocked
from placewise.model.evidence.evidence import evidence_of
from placewise.model.registry import known_model
from placewise.recorded.time_tables import MeasuredTime
from placewise.validate.features import Configuration


@dataclass(frozen=True)
class Answer:
    """One model's answer for one configuration."""

    total: float
    """Nanoseconds where ``absolute``, else the model's own measure."""
    low: float
    """Lower end of the interval of ``total``."""
    high: float
    """Upper end of the interval of ``total``."""
    absolute: bool
    """Whether ``total`` is a time."""
    parts: tuple[tuple[str, float], ...] = ()
    """(part of the machine, time that it needs by itself as a share of the total)."""
    notes: tuple[str, ...] = ()
    """What the model says a reader must know to judge the answer."""
    model_error: tuple[float, float] | None = None
    """Lowest and highest ratio of measured to predicted time at a known clock; None where the model
    does not give it separately."""
    by_clock: tuple[float, ...] = ()
    """Nanoseconds at the highest and at the lowest clock; empty where the clock is known."""


@dataclass(frozen=True)
class Answers:
    """All models' answers for one configuration."""

    row: int
    by_model: tuple[tuple[str, Answer | str], ...]
    """(model, its answer, or why there is none)."""
    seconds: float = 0.0
    """Seconds that all answers took."""


@dataclass(frozen=True)
class Task:
    """What every worker process needs to know."""

    case: Path
    machine: str
    models: tuple[str, ...]
    nvrtc: str | None
    clock_mhz: float | None
    """Clock of the SMs in place of the machine's own."""
    traced: bool
    """Whether any model needs the papers' transaction counts, for which another run is traced."""
    limit_s: float | None = None
    """Seconds after which a configuration is given up. Compiled code is not interrupted; the limit
    is checked when it returns."""


ALARM_PERIOD_S = 0.2
"""Seconds between the alarms that end a prediction, from its time limit on."""


class Predictor:
    """Context manager with processes that predict configurations of a task. They are reused between
    calls.

    For a configuration that a model refuses, the answer is the reason. Raises PlacewiseError where
    a configuration is not a valid case.
    """

    def __init__(self, task: Task, *, workers: int | None = None) -> None:
        count = workers or len(os.sched_getaffinity(0))
        self._pool = ProcessPoolExecutor(count, initializer=_begin, initargs=(task,))

    def __enter__(self) -> Predictor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # Results of work that is still going on are not needed.
            for process in list((self._pool._processes or {}).values()):
                process.kill()
        # Wait for the shutdown; otherwise Python would use pipes at its end that are closed by
        # then.
        self._pool.shutdown(cancel_futures=True)

    def predict(
        self, rows: Sequence[MeasuredTime], progress: Callable[[int, int], None] | None = None
    ) -> tuple[Answers, ...]:
        """Answers for ``rows``, in the same order. ``progress`` gets the number of rows done and of
        all rows."""
        found: list[Answers] = []
        running = [
            self._pool.submit(_predict, at, row.configuration) for at, row in enumerate(rows)
        ]
        for done, future in enumerate(as_completed(running), start=1):
            try:
                found.append(future.result())
            except BrokenProcessPool as error:
                raise UnsupportedError(
                    "a process that predicts configurations was killed",
                    hint="the usual reason is lack of memory: give smaller arrays",
                ) from error
            if progress is not None:
                progress(done, len(rows))
        return tuple(sorted(found, key=lambda answers: answers.row))


@dataclass(frozen=True, eq=False)
class _Worker:
    task: Task
    family: CaseFamily
    machine: Machine


_workers: list[_Worker] = []
"""The one worker of this process."""


def _begin(task: Task) -> None:
    serve_parent()
    machine = load_machine(task.machine)
    if task.clock_mhz is not None:
        machine = known_clock(machine, task.clock_mhz)
    _workers[:] = [_Worker(task, read_case_family(task.case), machine)]


def _predict(at: int, configuration: Configuration) -> Answers:
    worker = _workers[0]
    case = worker.family.case(dict(configuration))
    case, _ = for_machine(case, worker.machine, worker.task.nvrtc)
    found: dict[str, Answer | str] = {}
    start = time.perf_counter()
    try:
        with _within(worker.task.limit_s):
            evidence = _evidence(case, worker)
            for name in worker.task.models:
                try:
                    found[name] = _answer(name, evidence, worker.machine)
                except UnsupportedError as error:
                    found[name] = error.message
    except (PlacewiseError, _TooLongError) as error:
        found = {model: found.get(model, str(error)) for model in worker.task.models}
    return Answers(at, tuple(found.items()), time.perf_counter() - start)


class _TooLongError(BaseException):
    """A configuration took longer than the limit. No code that handles errors of kernels, and then
    tries another way, may catch it."""


@contextmanager
def _within(seconds: float | None) -> Iterator[None]:
    """Raise an error in the block once it has taken ``seconds``."""
    if seconds is None:
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLongError(f"no prediction within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    # The alarm repeats, since an error that is raised in a finalizer is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, ALARM_PERIOD_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _evidence(case: Case, worker: _Worker) -> Evidence:
    if not worker.task.traced:
        kernel, named = compile_case(case), named_case(case)
        return evidence_of(kernel, named.launch, named.inputs, worker.machine)
    prepared = prepare(case, worker.machine)
    launch, inputs = prepared.case.launch, prepared.case.inputs
    return replace(
        evidence_of(prepared.kernel, launch, inputs, worker.machine),
        counters=counters(prepared.profile, worker.machine, prepared.legality.present),
    )


def _answer(name: str, evidence: Evidence, machine: Machine) -> Answer:
    prediction = predict_clocked(known_model(name).make(), evidence, machine)
    nanoseconds = prediction.nanoseconds
    parts = tuple((p.path, p.cycles / (prediction.total or 1.0)) for p in prediction.parts)
    if nanoseconds is None:
        low, high = prediction.uncertainty
        return Answer(prediction.total, low, high, absolute=False, parts=parts,
                      notes=prediction.notes)  # fmt: skip
    low, high = prediction.interval_nanoseconds or (nanoseconds, nanoseconds)
    return Answer(nanoseconds, low, high, absolute=True, parts=parts, notes=prediction.notes,
                  model_error=prediction.model_error,
                  by_clock=tuple(one.nanoseconds for one in prediction.at_clocks))  # fmt: skip
