"""Makes single tasks of a plan, each with the key under which its result is stored."""

from __future__ import annotations

import importlib.metadata
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.advisor.predictions.predicted_time import predict_compiled
from placewise.cases.library import case_names, case_path
from placewise.compiled_code import text_digest
from placewise.disk_cache import key_of
from placewise.errors import CaseError
from placewise.kernel.cases.case_model import CaseModel
from placewise.kernel.cases.case_text import read_model
from placewise.kernel.cases.strict_model import Parameter
from placewise.kernel.cases.tuning.tuning_conditions import Condition
from placewise.kernel.cases.tuning.tuning_file import tuning_space
from placewise.kernel.host_code.includes import includes, resolve
from placewise.machine import load_machine
from placewise.machine.msl.located import nearest
from placewise.sweep.plan_file import SweepPlan, SweptKernel

MOST_TASKS = 1_000_000
"""A plan with more tasks is refused, since it is more likely a mistake."""
PREDICTING = predict_compiled.__module__
"""The module that makes the predictions. The text of it and of the modules that it imports is part
of a task's key, so that results of different versions are not mixed."""


@dataclass(frozen=True)
class Task:
    """One prediction to make. It can be sent to another process."""

    key: str
    """Hash of all that the result depends on: the files of the case, the values, the machine, the
    compiler and the program."""
    case: str
    """The case's name in the plan."""
    path: Path
    """The case's file."""
    machine: str
    """The machine's name in the plan."""
    machine_name: str
    sizes: tuple[tuple[str, int], ...]
    """(name, value) of the swept sizes."""
    parameters: tuple[tuple[str, Parameter], ...]
    """(name, value) of the swept parameters."""
    nvrtc: str | None


def tasks_of(plan: SweepPlan) -> tuple[Task, ...]:
    """All tasks of ``plan``, in an order in which neighbours share as much as possible.

    Raises CaseError for a case that cannot be read, a size or parameter that it does not have, an
    invalid condition, and a plan without any task; MachineError for an unknown machine.
    """
    machines = [(name, load_machine(name)) for name in dict.fromkeys(plan.machines)]
    program = key_of(importlib.metadata.version("placewise"), text_digest(PREDICTING))
    found: dict[str, Task] = {}
    for kernel in plan.kernels:
        path = _path(kernel.case)
        model = read_model(path)
        if kernel.all_configurations:
            kernel = _with_whole_space(kernel, path)
        _check(kernel, model, path)
        digest = case_digest(path, model)
        for name, machine in machines:
            on = key_of(program, digest, machine.digest, plan.nvrtc or "")
            for sizes, parameters in _points(kernel):
                key = key_of(on, repr(sorted(sizes)), repr(sorted(parameters)))
                found.setdefault(
                    key,
                    Task(key, kernel.case, path, name, machine.name, sizes, parameters, plan.nvrtc),
                )
    if not found:
        raise CaseError("no combination of values satisfies the conditions", where="conditions")
    return tuple(found.values())


def shard_of(tasks: Sequence[Task], shard: tuple[int, int]) -> tuple[Task, ...]:
    """The tasks of part ``shard[0]`` of ``shard[1]`` parts, counted from 1. Neighbours stay
    together, every task is in exactly one part, and the sizes of parts differ by at most one."""
    part, parts = shard
    start, end = (len(tasks) * n // parts for n in (part - 1, part))
    return tuple(tasks[start:end])


def case_digest(path: Path, model: CaseModel) -> str:
    """Hash of the case file and of every file that it uses: source, headers, data."""
    parts: list[str | bytes] = [path.read_bytes()]
    for file in sorted(set(_files(path, model))):
        if file.is_file():
            parts += [str(file), file.read_bytes()]
    return key_of(*parts)


def _files(path: Path, model: CaseModel) -> Iterator[Path]:
    folder = path.parent
    paths = [folder / name for name in model.include]
    if model.source is not None:
        yield from _with_headers(folder / model.source, paths)
    for name in _file_names(model.model_dump()):
        yield folder / Path(name).expanduser()


def _with_headers(source: Path, include_paths: Sequence[Path]) -> Iterable[Path]:
    """A source and all files that it includes, directly or indirectly."""
    found: set[Path] = set()
    todo = [source.resolve()]
    while todo:
        file = todo.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        for include in includes(file.read_text(encoding="utf-8", errors="replace")):
            target = resolve(include, file.parent, include_paths)
            todo += [target] if target is not None else []
    return found


def _file_names(values: Any) -> Iterator[str]:
    """All values of the key ``file`` anywhere in a case."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key == "file" and isinstance(value, str):
                yield value
            else:
                yield from _file_names(value)
    elif isinstance(values, list):
        for value in values:
            yield from _file_names(value)


def _path(case: str) -> Path:
    if case in case_names():
        return case_path(case)
    path = Path(case)
    if path.suffix not in (".toml", ".json"):
        raise CaseError(
            "no such case",
            where=f"'{case}'",
            hint="`placewise cases` lists the bundled ones; or give the path of a .toml file",
        )
    return path.absolute()


def _check(kernel: SweptKernel, model: CaseModel, path: Path) -> None:
    """Raises CaseError for names that the case does not have, and for too many tasks."""
    names: dict[str, Mapping[str, Any]] = {"sizes": model.sizes, "parameters": model.parameters}
    asked: dict[str, Mapping[str, Any]] = {"sizes": kernel.sizes, "parameters": kernel.parameters}
    for what, known in names.items():
        for name in asked[what]:
            if name not in known:
                close = nearest(name, list(known)) if known else None
                raise CaseError(
                    f"the case has no '{name}' in its [{what}]",
                    where=str(path),
                    hint=close or f"it has no [{what}] at all",
                )
    counts = [len(values) for what in asked.values() for values in what.values()]
    number = math.prod(counts)
    if number > MOST_TASKS:
        raise CaseError(
            f"{number} combinations of values are too many",
            where=kernel.case,
            hint=f"{MOST_TASKS} at most",
        )


def _with_whole_space(kernel: SweptKernel, path: Path) -> SweptKernel:
    """The kernel with the values and conditions of its tuning problem, where the plan does not give
    others."""
    if path.suffix != ".json":
        raise CaseError(
            "only a tuning problem (T1, .json) says which values its parameters take",
            where=kernel.case,
            hint="give the values as parameters",
        )
    choices, conditions = tuning_space(path)
    return kernel.model_copy(
        update={
            "parameters": {**choices, **kernel.parameters},
            "conditions": [*conditions, *kernel.conditions],
        }
    )


Point = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, Parameter], ...]]


def _points(kernel: SweptKernel) -> Iterator[Point]:
    """(sizes, parameters) of every combination that the conditions allow. Sizes vary fastest, since
    all sizes share the kernel that the parameters compile to."""
    try:
        conditions = [Condition(text) for text in kernel.conditions]
    except ValueError as error:
        raise CaseError(str(error), where=f"{kernel.case}: conditions") from None
    for choice in itertools.product(*kernel.parameters.values()):
        parameters = tuple(zip(kernel.parameters, choice, strict=True))
        for numbers in itertools.product(*kernel.sizes.values()):
            sizes = tuple(zip(kernel.sizes, numbers, strict=True))
            try:
                if all(c.holds({**dict(parameters), **dict(sizes)}) for c in conditions):
                    yield sizes, parameters
            except ValueError as error:
                raise CaseError(
                    str(error),
                    where=f"{kernel.case}: conditions",
                    hint="conditions can use the swept sizes and parameters",
                ) from None
