"""Does one task of a sweep: predicts the time of its kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from placewise.advisor.predictions.predicted_time import (
    TimePrediction,
    predict_compiled,
    targeted,
)
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.cases.case_file import CaseFamily
from placewise.kernel.cases.case_text import read_model
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.machine import load_machine
from placewise.sweep.plan import Task
from placewise.sweep.store import Outcome

_KERNELS = 8
"""Most compiled kernels that each process keeps; neighbouring tasks share them."""


def predict_task(task: Task) -> Outcome:
    """The predicted time of ``task``. Any exception becomes the outcome's error, so that one task
    does not end the sweep."""
    return outcome_of(lambda: _predicted(task))


def outcome_of(predict: Callable[[], TimePrediction]) -> Outcome:
    """The prediction that ``predict`` makes, or the error that it raises, and how long it took."""
    start = time.perf_counter()
    error: str | None
    try:
        found = predict()
    except PlacewiseError as raised:
        error = str(raised)
    except MemoryError:
        error = "this computer does not have enough memory"
    except Exception as raised:
        what = " ".join(str(raised).split())[:300]
        error = f"Placewise failed: {type(raised).__name__}: {what}"
    else:
        return Outcome(
            found.milliseconds,
            found.range_ms,
            found.limited_by,
            found.nearly,
            found.registers,
            found.occupancy.warps,
            seconds=time.perf_counter() - start,
        )
    return Outcome(error=error, seconds=time.perf_counter() - start)


def _predicted(task: Task) -> TimePrediction:
    machine = load_machine(task.machine)
    case = targeted(_family(task.path, task.sizes).case(dict(task.parameters)), machine, task.nvrtc)
    if case.language is Language.CUDA:
        kernel = _compiled(case.source, case.filename, case.kernel, case.options)
    else:
        kernel = compile_case(case)
    return predict_compiled(kernel, case, machine)


# Only one is kept, since its arrays may fill most of the memory.
@lru_cache(maxsize=1)
def _family(path: Path, sizes: tuple[tuple[str, int], ...]) -> CaseFamily:
    model = read_model(path)
    return CaseFamily(path, model.model_copy(update={"sizes": {**model.sizes, **dict(sizes)}}))


@lru_cache(maxsize=_KERNELS)
def _compiled(source: str, filename: str, kernel: str, options: CompileOptions) -> Kernel:
    return compile_kernel(source, filename, kernel, options)
