"""Reads a file with several launches (TOML, ``[[launches]]``) into a program."""

from __future__ import annotations

import tomllib
from os import PathLike
from pathlib import Path
from typing import NoReturn

import numpy as np

from placewise.kernel.cases import array_sources as arrays
from placewise.kernel.cases.case_text import read_document, validated_as
from placewise.kernel.cases.make_case import Value
from placewise.kernel.cases.reading.file_reader import FileReader
from placewise.kernel.cases.values import Uninitialised
from placewise.kernel.programs.program import KernelLaunch, Program, make_program
from placewise.kernel.programs.program_model import ProgramLaunchModel, ProgramModel, SharedValue

ProgramLike = Program | str | PathLike[str]
"""What is taken as a program: the value, or a file's path."""


def holds_program(path: str | PathLike[str]) -> bool:
    """Whether a file has several launches; False where there is no such file, or where it cannot be
    read as TOML."""
    file = Path(path)
    if file.suffix != ".toml" or not file.is_file():
        return False
    try:
        return "launches" in tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False


def load_program(program: ProgramLike) -> Program:
    """The program that a path or a :class:`Program` stands for; raises CaseError located at the
    file and the key."""
    return program if isinstance(program, Program) else read_program(Path(program))


def read_program(path: Path) -> Program:
    """Program that the TOML file ``path`` declares; relative paths in it start from its folder.

    Raises CaseError located at the file and the key.
    """
    model = validated_as(ProgramModel, read_document(path), path)
    reader = FileReader(path, model)
    reader.parameters = model.parameters
    with reader.locating():
        values = reader.arguments()
        launches = [
            _launch(reader, launch, values, f"launches.{number}")
            for number, launch in enumerate(model.launches, start=1)
        ]
        return make_program(
            reader.source(), values, launches, rounds=model.rounds, **reader.options()
        )


def _launch(
    reader: FileReader, launch: ProgramLaunchModel, values: dict[str, Value], key: str
) -> KernelLaunch:
    """The launch, its values' names, types and shapes checked."""
    given = launch.arguments
    items = given.items() if isinstance(given, dict) else enumerate(given, start=1)
    names: dict[str | int, str] = {}
    for parameter, value in items:
        name = value.value if isinstance(value, SharedValue) else value
        where = f"{key}.arguments.{parameter}"
        if name not in values:
            declared = ", ".join(values) or "none"
            reader.fail(where, f"the program has no value '{name}'", f"declared: {declared}")
        if isinstance(value, SharedValue):
            _check(reader, value, values[name], where)
        names[parameter] = name
    return KernelLaunch(
        launch.kernel,
        {str(p): n for p, n in names.items()} if isinstance(given, dict) else [*names.values()],
        times=launch.times,
        **reader.shape_of(launch, key),
    )


def _check(reader: FileReader, asked: SharedValue, value: Value, where: str) -> None:
    """An error where a launch says another type or shape than the program's value has."""

    def differ(what: str, wanted: object, has: object) -> NoReturn:
        reader.fail(
            f"{where}.{what}", f"the launch says {wanted}, the program's '{asked.value}' has {has}"
        )

    if isinstance(value, Uninitialised):
        value = value.placeholder()
    if not isinstance(value, np.ndarray | np.generic):
        reader.fail(where, f"'{asked.value}' has neither dtype nor shape to compare")
    if asked.dtype is not None and arrays.stored_type(asked.dtype) != value.dtype:
        differ("dtype", asked.dtype, value.dtype)
    if asked.shape is not None:
        shape = tuple(reader.extent(asked.shape, f"{where}.shape"))
        if shape != value.shape:
            differ("shape", shape, value.shape)
