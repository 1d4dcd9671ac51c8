"""Requests of the browser, as strict models with limits on every size."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from placewise.cases import case_names, load_case
from placewise.errors import CaseError, MachineError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import case_from
from placewise.machine import Machine, load_machine, machine_names
from placewise.studio.includes import check_includes
from placewise.studio.machine_text import parsed_machine

MOST_SOURCE = 500_000
"""Most characters of a source or a machine file."""
MOST_BYTES = 1 << 30
"""Most bytes of all arrays of a case together."""
MOST_MACHINES = 4
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Extent = Annotated[
    list[Annotated[int, Field(ge=1, le=1 << 31)]], Field(min_length=1, max_length=3)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Filling(_Strict):
    """How an array or a scalar is filled; only ways that need no file."""

    kind: Literal["value", "fill", "uniform", "integers", "arange"]
    value: float = 0
    low: float = 0
    high: float = 1
    seed: int = Field(default=0, ge=0)


class AskedArgument(_Strict):
    """One argument of the kernel."""

    name: _Name
    dtype: Annotated[str, Field(max_length=20)]
    shape: _Extent | None = None
    """None for a scalar."""
    filling: Filling


class OwnCase(_Strict):
    """A kernel that the user pasted, with its launch and inputs."""

    source: Annotated[str, Field(max_length=MOST_SOURCE)]
    kernel: _Name
    block: _Extent
    grid: _Extent | None = None
    problem: _Extent | None = None
    arguments: Annotated[list[AskedArgument], Field(max_length=64)]


class Example(_Strict):
    """A bundled case; ``source`` is the edited source, None: the original."""

    example: _Name
    source: Annotated[str, Field(max_length=MOST_SOURCE)] | None = None


class AskedMachine(_Strict):
    """A known machine, or the text of a machine file."""

    name: _Name | None = None
    text: Annotated[str, Field(max_length=MOST_SOURCE)] | None = None


class AskedRun(_Strict):
    """A run of one of the commands."""

    kind: Literal["advise", "layout", "time", "counters", "lint", "run"]
    case: OwnCase | Example
    machines: Annotated[list[AskedMachine], Field(min_length=1, max_length=MOST_MACHINES)]


def asked_run(text: bytes) -> AskedRun:
    """The request in ``text``. Raises CaseError that names the first invalid key."""
    try:
        return AskedRun.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CaseError(first["msg"], where=where or "request") from None


def machine_of(asked: AskedMachine) -> Machine:
    """The requested machine. No file is read. Raises MachineError for an unknown name or an invalid
    text."""
    if asked.text is not None:
        return parsed_machine(asked.text)
    if asked.name not in machine_names():
        raise MachineError(f"no machine named '{asked.name}'", where="machine")
    return load_machine(asked.name)


def case_of(asked: OwnCase | Example, folder: Path) -> Case:
    """The requested case. ``folder`` is an empty folder, in which its includes are looked up.

    Raises CaseError for sizes beyond the limits, includes that lead out of the folder, and all
    errors that a case file can have.
    """
    if asked.source is not None:
        check_includes(asked.source)
    if isinstance(asked, Example):
        if asked.example not in case_names():
            raise CaseError(f"no example named '{asked.example}'", where="case")
        case = load_case(asked.example)
        return case if asked.source is None else replace(case, source=asked.source)
    total = sum(16 * math.prod(a.shape) for a in asked.arguments if a.shape)
    if total > MOST_BYTES:
        raise CaseError(
            f"the arrays may take {total / 2**20:,.0f} MB; the studio runs up to "
            f"{MOST_BYTES // 2**20:,} MB",
            where="arguments",
            hint="give smaller shapes; the command line has no such bound",
        )
    launch: dict[str, Any] = {"block": asked.block}
    if asked.grid is not None:
        launch["grid"] = asked.grid
    if asked.problem is not None:
        launch["problem"] = asked.problem
    document = {
        "schema": 1,
        "name": "kernel",
        "kernel": asked.kernel,
        "code": asked.source,
        "launch": launch,
        "arguments": [_argument(a) for a in asked.arguments],
    }
    return case_from(document, folder / "case.toml")


def _argument(asked: AskedArgument) -> dict[str, Any]:
    filling = asked.filling
    named: dict[str, Any] = {"name": asked.name, "dtype": asked.dtype}
    whole = asked.dtype.startswith(("int", "uint", "bool"))
    if asked.shape is None:
        return named | {"value": _number(filling.value, whole)}
    named["shape"] = asked.shape
    match filling.kind:
        case "uniform":
            span = {"low": filling.low, "high": filling.high, "seed": filling.seed}
            return named | {"uniform": span}
        case "integers":
            low, high = int(filling.low), int(filling.high)
            return named | {"integers": {"low": low, "high": high, "seed": filling.seed}}
        case "arange":
            return named | {"arange": {}}
        case _:
            return named | {"fill": _number(filling.value, whole)}


def _number(value: float, whole: bool) -> int | float:
    return int(value) if whole else value
