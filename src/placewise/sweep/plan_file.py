"""The plan of a sweep, read from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from placewise.errors import CaseError, reading
from placewise.kernel.cases.strict_model import Name, Parameter, Strict

Values = Annotated[list[Parameter], Field(min_length=1)]
SizeValues = Annotated[list[Annotated[int, Field(ge=0, lt=2**63)]], Field(min_length=1)]


class SweptKernel(Strict):
    """A case, and the values that its sizes and its parameters take in turn."""

    case: str
    """A bundled case, or a case file's path."""
    sizes: dict[Name, SizeValues] = Field(default_factory=dict)
    """Values of entries of the case's ``[sizes]``; the others stay as the case has them."""
    parameters: dict[Name, Values] = Field(default_factory=dict)
    """Values of entries of the case's ``[parameters]``; the others stay as the case has them."""
    all_configurations: bool = False
    """Whether to take all parameter values that a tuning problem's (T1) own conditions allow."""
    conditions: list[str] = Field(default_factory=list)
    """Conditions on sizes and parameters, such as ``"tile_x * tile_y <= 1024"``; other combinations
    are left out."""


class SweepPlan(Strict):
    """Everything that a sweep predicts: each kernel with each of its values on each machine."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    machines: Annotated[list[str], Field(min_length=1)]
    """Known GPUs, or paths of machine files."""
    kernels: Annotated[list[SweptKernel], Field(min_length=1)]
    nvrtc: str | None = None
    """Version of the CUDA compiler in place of the cases' own."""


def read_plan(path: Path) -> SweepPlan:
    """The plan in the TOML file ``path``. Paths of cases and machines in it are relative to its
    folder.

    Raises CaseError located at the file and the key.
    """
    with reading("TOML file", path, CaseError):
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    try:
        plan = SweepPlan.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        key = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        unknown = first["type"] == "extra_forbidden"
        what = "unknown key" if unknown else first["msg"][:1].lower() + first["msg"][1:]
        raise CaseError(
            what, where=f"{path}: {key}", hint="docs/how-to/sweep.md shows a plan"
        ) from None
    kernels = [k.model_copy(update={"case": _from(path, k.case)}) for k in plan.kernels]
    machines = [_from(path, name) for name in plan.machines]
    return plan.model_copy(update={"kernels": kernels, "machines": machines})


def _from(plan: Path, name: str) -> str:
    """The path of ``name`` relative to the plan's folder if it is a file there; else ``name``, for
    something bundled."""
    if Path(name).suffix in (".toml", ".json", ".msl"):
        return str(plan.parent / Path(name).expanduser())
    return name
