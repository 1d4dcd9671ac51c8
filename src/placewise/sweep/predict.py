"""One task of a sweep done: what its kernel is predicted to take."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path

from placewise.advisor.predictions.predicted_time import predict_compiled, targeted
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
"""Compiled kernels kept by each process: neighbours of a sweep share theirs."""


def predict_task(task: Task) -> Outcome:
    """The predicted time of ``task``. Whatever goes wrong becomes the outcome's error: one task
    does not end a sweep."""
    start = time.perf_counter()
    try:
        found = _predicted(task)
    except PlacewiseError as error:
        found = Outcome(error=str(error))
    except MemoryError:
        found = Outcome(error="this computer's memory does not suffice")
    except Exception as error:
        what = " ".join(str(error).split())[:300]
        found = Outcome(error=f"Placewise failed: {type(error).__name__}: {what}")
    return Outcome(
        found.milliseconds,
        found.range_ms,
        found.limited_by,
        found.nearly_limited_by,
        found.registers,
        found.warps_per_sm,
        found.error,
        time.perf_counter() - start,
    )


def _predicted(task: Task) -> Outcome:
    machine = load_machine(task.machine)
    case = targeted(_family(task.path, task.sizes).case(dict(task.parameters)), machine, task.nvrtc)
    if case.language is Language.CUDA:
        kernel = _compiled(case.source, case.filename, case.kernel, case.options)
    else:
        kernel = compile_case(case)
    found = predict_compiled(kernel, case, machine)
    return Outcome(
        found.milliseconds,
        found.range_ms,
        found.limited_by,
        found.nearly,
        found.registers,
        found.occupancy.warps,
    )


# One alone: its arrays may be most of what fits the memory.
@lru_cache(maxsize=1)
def _family(path: Path, sizes: tuple[tuple[str, int], ...]) -> CaseFamily:
    model = read_model(path)
    return CaseFamily(path, model.model_copy(update={"sizes": {**model.sizes, **dict(sizes)}}))


@lru_cache(maxsize=_KERNELS)
def _compiled(source: str, filename: str, kernel: str, options: CompileOptions) -> Kernel:
    return compile_kernel(source, filename, kernel, options)
