"""Runs a program's launches one after another on the CPU, each on the data that earlier ones
left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor import DEFAULT_LIMIT, Execution, execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import ReadCase, compile_case, read_case
from placewise.kernel.programs.program import Program, ProgramLaunch, with_arrays
from placewise.kernel.target import for_machine
from placewise.machine import Machine
from placewise.progress import Progress, silent

State = dict[str, NDArray[np.generic]]
"""Content of the program's arrays that a launch has written, by name."""


@dataclass(frozen=True, eq=False)
class Step:
    """One launch of a program with the inputs that it gets in the first round."""

    number: int
    """From 1, in the order of the launches."""
    launch: ProgramLaunch
    case: Case
    """The launch as a case, its arguments named after the kernel's parameters."""
    arrays: Mapping[str, str]
    """Name of the program's array, by the kernel's parameter that receives it."""
    written: frozenset[str]
    """Arrays of the program that it writes."""

    @property
    def title(self) -> str:
        """The launch in messages and reports, such as ``2 (update)``."""
        return f"{self.number} ({self.case.kernel})"

    @property
    def function(self) -> str:
        """Name of the kernel in the source, which all instances of a template share."""
        return self.case.kernel.split("<")[0].strip()

    def sizes(self) -> dict[str, int]:
        """Size in bytes of each of the program's arrays that the launch receives."""
        sizes = dict(self.case.inputs.array_bytes)
        return {array: sizes[parameter] for parameter, array in self.arrays.items()}


def run_chain(
    program: Program, machine: Machine, nvrtc: str | None = None,
    instruction_limit: int = DEFAULT_LIMIT, progress: Progress = silent,
) -> tuple[Step, ...]:  # fmt: skip
    """Run one round of ``program``, each launch once, and return each launch with the inputs that
    it receives.

    Raises CaseError where a launch or its arguments do not fit its kernel or the machine, and
    CompileError, UnsupportedError or ExecutionError where a launch cannot be compiled or run.
    Errors in arguments name the launch's kernel.
    """
    state: State = {}
    steps = []
    for number, launch in enumerate(program.launches, start=1):
        progress("running the launches", number - 1, len(program.launches))
        check_case(launch.case, machine.limits)
        read = read_launch(launch, machine, nvrtc)
        arrays = launch.arrays_of(read.case)
        case = with_arrays(read.case, arrays, state)
        run = execute(read.kernel, case.launch, case.inputs, instruction_limit=instruction_limit)
        written = keep(state, run, arrays)
        steps.append(Step(number, launch, case, arrays, written))
    return tuple(steps)


def read_launch(launch: ProgramLaunch, machine: Machine, nvrtc: str | None = None) -> ReadCase:
    """A launch's case with the values that the program starts with, compiled for ``machine`` and
    read. Raises CaseError, CompileError and UnsupportedError as the front end does."""
    return read_case(for_machine(launch.case, machine, nvrtc)[0])


def run_case(case: Case, instruction_limit: int) -> Execution:
    """Compile a case and run it."""
    kernel = compile_case(case)
    return execute(kernel, case.launch, case.inputs, instruction_limit=instruction_limit)


def keep(state: State, run: Execution, arrays: Mapping[str, str]) -> frozenset[str]:
    """Put what a launch wrote into ``state``. Returns the names of the program's arrays that it
    wrote."""
    outputs: dict[str, Any] = dict(run.outputs)
    written = {arrays.get(name, name): outputs[name] for name in run.written if name in outputs}
    state.update(written)
    return frozenset(written)
