"""The shape of a file with several launches: strict models, so that a wrong key is a located
error."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from placewise.kernel.cases.case_model import SourceModel
from placewise.kernel.cases.strict_model import DtypeName, LaunchModel, Name, Shape, Strict


class SharedValue(Strict):
    """A value of the program that a launch gets; type and shape are checked where given."""

    value: Name
    dtype: DtypeName | None = None
    shape: Shape | None = None


class ProgramLaunchModel(LaunchModel):
    """One launch of a program."""

    kernel: str
    arguments: list[Name | SharedValue] | dict[Name, Name | SharedValue]
    """Names of the program's values in the order of the kernel's parameters, or by parameter."""
    times: Annotated[int, Field(ge=1, lt=2**31)] = 1
    """How often it is launched in a row."""


class ProgramModel(SourceModel):
    """A whole file of a program: several launches that share values."""

    launches: Annotated[list[ProgramLaunchModel], Field(min_length=1)]
    rounds: Annotated[int, Field(ge=1, lt=2**31)] = 1
    """How often all launches run, one after another."""
