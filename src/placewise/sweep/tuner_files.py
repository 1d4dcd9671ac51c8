"""Predictions as files for autotuners: Kernel Tuner's cache, and results in the T4 format.

Kernel Tuner's simulation mode can run on a cache of predictions, so every search strategy can be
tried without a GPU.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from placewise.errors import CaseError
from placewise.kernel.cases.strict_model import Parameter
from placewise.sweep.store import Outcome, Row

T4_VERSION = "1.0.0"
PREDICTED = "predicted by Placewise"
"""Added after the machine's name, so that nobody mistakes the times for measured ones."""
Prediction = tuple[Mapping[str, Parameter], Outcome]
"""(values of the tuning parameters, outcome of the prediction)."""


def predictions_of(rows: Sequence[Row]) -> list[Prediction]:
    """The rows of a sweep of one kernel on one machine, as an autotuner's configurations. Swept
    sizes count as parameters. Raises CaseError for a sweep of several kernels or machines, and for
    one without parameters."""
    kernels = {(row.task.case, row.task.machine_name) for row in rows}
    if len(kernels) > 1:
        raise CaseError(
            "an autotuner's file holds one kernel on one machine",
            hint=f"the sweep has {len(kernels)} pairs of kernel and machine",
        )
    found: list[Prediction] = [
        ({**dict(r.task.parameters), **dict(r.task.sizes)}, r.outcome) for r in rows
    ]
    if not found or not found[0][0]:
        raise CaseError("the sweep varies no parameter", hint="give --parameter NAME=VALUE,…")
    return found


def cache_document(
    predictions: Sequence[Prediction],
    *,
    kernel: str,
    machine: str,
    problem_size: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Content of Kernel Tuner's cache file, with a predicted time in milliseconds for each
    configuration; those without a time are marked as invalid. All configurations have the same
    parameters, in the same order."""
    names = list(predictions[0][0])
    entries = {}
    for values, outcome in predictions:
        key = ",".join(str(values[name]) for name in names)
        entries[key] = {**values, **_times(outcome)}
    document = {
        "device_name": f"{machine} ({PREDICTED})",
        "kernel_name": kernel,
        "tune_params_keys": names,
        "tune_params": {n: list(dict.fromkeys(v[n] for v, _ in predictions)) for n in names},
        "objective": "time",
        "cache": entries,
    }
    return document if problem_size is None else document | {"problem_size": list(problem_size)}


def cache_text(document: Mapping[str, Any]) -> str:
    """The text of a finished cache file, as Kernel Tuner writes it."""
    return json.dumps(document, default=_plain).removesuffix("}}") + "}\n}"


def t4_document(predictions: Sequence[Prediction], *, machine: str) -> dict[str, Any]:
    """Results in the T4 format 1.0.0: for each configuration the predicted time and its interval in
    milliseconds, or that it is invalid."""
    return {
        "schema_version": T4_VERSION,
        "metadata": {"device": f"{machine} ({PREDICTED})", "timeunit": "milliseconds"},
        "results": [_result(values, outcome) for values, outcome in predictions],
    }


def _result(values: Mapping[str, Parameter], outcome: Outcome) -> dict[str, Any]:
    measurements = []
    if outcome.milliseconds is not None:
        low, high = outcome.range_ms or (outcome.milliseconds, outcome.milliseconds)
        named = (("time", outcome.milliseconds), ("time_low", low), ("time_high", high))
        measurements = [{"name": n, "value": value, "unit": "ms"} for n, value in named]
    return {
        "configuration": dict(values),
        "objectives": ["time"],
        "times": {"runtimes": []},
        "invalidity": "correct" if measurements else _invalidity(outcome),
        "correctness": 1 if measurements else 0,
        "measurements": measurements,
    }


def _times(outcome: Outcome) -> dict[str, Any]:
    """Entries of a configuration in Kernel Tuner's cache besides its parameters. Times of Kernel
    Tuner's own work, which its simulation adds up, are 0 for predictions."""
    work = dict.fromkeys(
        ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"),
        0.0,
    )
    stamp = {"timestamp": time.strftime("%Y-%m-%d %H:%M:%S+00:00", time.gmtime())}
    if outcome.milliseconds is None:
        error = "CompilationFailedConfig" if _invalidity(outcome) == "compile" else "InvalidConfig"
        return {"time": error, "__error__": error, **work, **stamp}
    return {"time": outcome.milliseconds, "times": [outcome.milliseconds], **work, **stamp}


def _invalidity(outcome: Outcome) -> str:
    return "compile" if "does not compile" in (outcome.error or "") else "constraints"


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number, for JSON."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be the value of a parameter")
