"""A program: launches of one source that share values, in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import Extent, Value, is_positional, make_case, positional
from placewise.kernel.launch import ArrayArgument, Inputs
from placewise.short_repr import ShortRepr


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    """One launch of a program, as :func:`make_program` takes it.

    ``arguments`` are names of the program's values, in the order of the kernel's parameters or by
    parameter; a NumPy scalar may stand for a name. Grid and block are those of
    :func:`placewise.make_case`; ``times`` is how often it is launched in a row.
    """

    kernel: str
    arguments: Sequence[str | np.generic] | Mapping[str, str | np.generic]
    block: Extent
    grid: Extent | None = None
    problem: Extent | None = None
    per_block: Extent | None = None
    shared_bytes: int = 0
    times: int = 1


@dataclass(frozen=True, eq=False, repr=False)
class ProgramLaunch(ShortRepr):
    """One launch of a program: its case, and which of the program's arrays it gets."""

    case: Case
    """With the values that the program starts with."""
    shared: tuple[tuple[str, str], ...]
    """(argument of the case, name of the program's array), for arrays only."""
    times: int

    def _in_short(self) -> str:
        return f"{self.case.kernel}, {self.times} times"

    def arrays_of(self, named: Case) -> dict[str, str]:
        """Program's array by parameter, of this launch's case with its arguments ``named`` after
        the kernel's parameters."""
        found = {}
        for argument, array in self.shared:
            if is_positional(argument):
                argument = named.inputs.arguments[int(argument[1:]) - 1].name
            found[argument] = array
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Program(ShortRepr):
    """Launches that run one after another, all of them ``rounds`` times. Build it with
    :func:`make_program` or :func:`read_program`."""

    name: str
    launches: tuple[ProgramLaunch, ...]
    rounds: int = 1
    description: str = ""

    @property
    def source(self) -> str:
        """Text of the source that all launches are of."""
        return self.launches[0].case.source

    @property
    def filename(self) -> str:
        """File of the source, or what stands for it in messages."""
        return self.launches[0].case.filename

    @property
    def file_name(self) -> str:
        """Name of a file with the source: of its own one, else from the first kernel's name."""
        return self.launches[0].case.file_name

    def _in_short(self) -> str:
        kernels = ", ".join(launch.case.kernel for launch in self.launches)
        return f"{self.name}: {kernels}; {self.rounds} rounds"


def make_program(
    source: Any,
    values: Mapping[str, Value],
    launches: Sequence[KernelLaunch],
    *,
    rounds: int = 1,
    name: str | None = None,
    description: str = "",
    **options: Any,
) -> Program:
    """A program of several ``launches`` of kernels in ``source``, which share ``values`` by name.

    ``values`` are arrays and scalars as :func:`placewise.make_case` takes them; an array that
    several launches name is one array in memory, and what a launch writes the next one reads. All
    launches run in their order, ``rounds`` times. ``options`` are further options of
    :func:`placewise.make_case` (``defines``, ``std``, ``constants`` …), the same for all launches.

    Raises CaseError, located at the launch: for a name that is no value, a launch without an
    extent, values that cannot be passed.
    """
    if not launches:
        raise CaseError("a program has at least one launch", where="launches")
    for what, number in (("rounds", rounds), *((f"launch {n}: times", launch.times)
                         for n, launch in enumerate(launches, start=1))):  # fmt: skip
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise CaseError(f"{number!r} is not a whole number of at least 1", where=what)
    made = []
    for number, launch in enumerate(launches, start=1):
        where = f"launch {number} ({launch.kernel})"
        given, shared = _arguments(launch, values, where)
        try:
            case = make_case(
                launch.kernel, source, given, block=launch.block, grid=launch.grid,
                problem=launch.problem, per_block=launch.per_block,
                shared_bytes=launch.shared_bytes, description=description,
                name=re.sub(r"\W+", "-", launch.kernel).strip("-"), **options,
            )  # fmt: skip
        except CaseError as error:
            at = f"{where}: {error.where}" if error.where else where
            raise CaseError(error.message, where=at, hint=error.hint) from error
        arrays = {a.name for a in case.inputs.arrays}
        kept = tuple((argument, array) for argument, array in shared if argument in arrays)
        made.append(ProgramLaunch(case, kept, launch.times))
    first = made[0].case
    if name is None:
        name = first.path.stem if first.path else "program"
    return Program(name, tuple(made), rounds, description)


def _arguments(
    launch: KernelLaunch, values: Mapping[str, Value], where: str
) -> tuple[list[Value] | dict[str, Value], list[tuple[str, str]]]:
    """The launch's arguments, and (argument, value's name) of those that are shared."""
    by_name = isinstance(launch.arguments, Mapping)
    items = (
        list(launch.arguments.items())
        if isinstance(launch.arguments, Mapping)
        else [(positional(n), a) for n, a in enumerate(launch.arguments, start=1)]
    )
    given: dict[str, Value] = {}
    shared = []
    for argument, name in items:
        if isinstance(name, np.generic):
            given[argument] = name
            continue
        if not isinstance(name, str):
            raise CaseError(
                f"expected the name of a value or a NumPy scalar, not {type(name).__name__}",
                where=f"{where}: {_called(argument)}",
                hint="arrays go among the program's values, so that launches can share them",
            )
        if name not in values:
            raise CaseError(
                f"the program has no value '{name}'",
                where=f"{where}: {_called(argument)}",
                hint=f"declared: {', '.join(values) or 'none'}",
            )
        given[argument] = values[name]
        shared.append((argument, name))
    return (given if by_name else list(given.values())), shared


def _called(argument: str) -> str:
    return f"argument {argument[1:]}" if is_positional(argument) else f"argument '{argument}'"


def with_arrays(case: Case, named: Mapping[str, str], state: Mapping[str, Any]) -> Case:
    """``case`` with the arrays of the program as they are in ``state``, where they are there.

    ``named`` gives the program's array of each parameter. Arrays with pointers in them stay.
    """

    def now(argument: ArrayArgument) -> ArrayArgument:
        data = state.get(named.get(argument.name, argument.name))
        if data is None or argument.pointers:
            return argument
        return replace(argument, data=data.reshape(argument.data.shape), uninitialised=False)

    inputs: Inputs = replace(
        case.inputs,
        arguments=tuple(
            now(a) if isinstance(a, ArrayArgument) else a for a in case.inputs.arguments
        ),
        buffers=tuple(now(b) for b in case.inputs.buffers),
    )
    return replace(case, inputs=inputs)
