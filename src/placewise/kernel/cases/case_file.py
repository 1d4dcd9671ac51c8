"""Reads a declarative case file (TOML) into a case; nothing in it is evaluated as code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_model import CaseModel, ProfileModel
from placewise.kernel.cases.case_text import read_model, validated
from placewise.kernel.cases.given_accesses import GivenAccesses, read_accesses
from placewise.kernel.cases.make_case import dims, make_case
from placewise.kernel.cases.reading.file_reader import FileReader
from placewise.kernel.cases.strict_model import Parameter
from placewise.kernel.launch import Dim3


def read_case_file(path: Path) -> Case:
    """Case that the TOML file ``path`` declares; relative paths in it start from its folder.

    Raises CaseError located at the file and the key.
    """
    return read_case_family(path).case({})


def read_case_family(path: Path) -> CaseFamily:
    """All cases that the TOML file ``path`` stands for, one for each choice of its parameters.

    Raises CaseError located at the file and the key.
    """
    return CaseFamily(path, read_model(path))


def case_from(document: dict[str, Any], path: Path) -> Case:
    """Case of a parsed document; ``path`` is its name in messages, and its folder."""
    return CaseFamily(path, validated(document, path)).case({})


class LaunchShape(NamedTuple):
    """The launch of a case as far as it is known without its arguments."""

    grid: Dim3
    block: Dim3
    covered: float
    """Elements that the grid covers over those of the problem; 1 where the file gives the grid
    itself."""


class CaseFamily:
    """The cases of one file, one for each choice of its parameters. What does not depend on the
    parameters is made once for all of them."""

    def __init__(self, path: Path, model: CaseModel) -> None:
        self.path = path
        self._model = model
        self._reader = _CaseReader(path, model)

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self._model.kernel

    @property
    def description(self) -> str:
        """What the case is, in a line."""
        return self._model.description

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Each parameter with the file's own value."""
        return dict(self._model.parameters)

    @property
    def placement_parameters(self) -> tuple[str, ...]:
        """Names of the tuning parameters that decide only where data lives."""
        return tuple(self._model.placement_parameters)

    def case(self, chosen: Mapping[str, Parameter]) -> Case:
        """The case with these values in place of the file's own.

        Raises CaseError for a name that is no parameter, and as :func:`read_case_file`.
        """
        for name in chosen:
            if name not in self._model.parameters:
                raise CaseError(
                    f"no parameter '{name}'",
                    where=f"{self.path}: parameters",
                    hint=f"declared: {', '.join(self._model.parameters) or 'none'}",
                )
        return self._reader.case({**self._model.parameters, **chosen})

    def shape(self, chosen: Mapping[str, Parameter]) -> LaunchShape:
        """Shape of the launch with these values in place of the file's own. Raises CaseError for a
        name that is no parameter, located at the file and the key."""
        return self._reader.shape({**self._model.parameters, **chosen})


class _CaseReader(FileReader):
    """One case file being read."""

    def __init__(self, path: Path, model: CaseModel) -> None:
        super().__init__(path, model)
        self.model = model

    def case(self, parameters: Mapping[str, Parameter]) -> Case:
        model = self.model
        self.parameters = parameters
        with self.locating():
            arguments = self.arguments()
            made = make_case(
                model.kernel,
                self.source(),
                list(arguments.values()) if model.in_order else arguments,
                **self.shape_of(model.launch, "launch"),
                **self.options(),
            )
        return made if model.profile is None else replace(made, profile=self.profile(model.profile))

    def profile(self, model: ProfileModel) -> Case | GivenAccesses:
        """What the launch is profiled by."""
        if model.accesses is not None:
            return read_accesses(self._file(model.accesses))
        path = self._file(str(model.case))
        other = read_model(path)
        if other.profile is not None:
            self.fail("profile.case", f"{path.name} has a profile of its own")
        return CaseFamily(path, other).case({})

    def shape(self, parameters: Mapping[str, Parameter]) -> LaunchShape:
        launch = self.model.launch
        self.parameters = parameters
        block = dims("block", self.extent(launch.block, "launch.block"))
        if launch.problem is None:
            grid = self.extent(launch.grid or [], "launch.grid")
            return LaunchShape(dims("grid", grid), block, 1.0)
        problem = dims("problem", self.extent(launch.problem, "launch.problem"))
        own = launch.per_block
        per_block = dims("per_block", self.extent(own, "launch.per_block")) if own else block
        x, y, z = (-(-size // per) for size, per in zip(problem, per_block, strict=True))
        whole = x * y * z * math.prod(per_block)
        return LaunchShape((x, y, z), block, whole / math.prod(problem))
