"""Launches of public programs as cases: each kernel's first launch, with the memory it found."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.real_kernels.device import Device, Given, Shape
from benchmarks.real_kernels.registry import RealProgram
from benchmarks.real_kernels.run import compile_program
from placewise import make_case
from placewise.errors import PlacewiseError
from placewise.executor import DeviceArray
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel


@dataclass(frozen=True)
class Recorded:
    """A launch as a case, or why it is none."""

    kernel: str
    case: Case | None
    why_not: str = ""


class _AllSeenError(Exception):
    """Every kernel of the program was launched."""


class RecordingDevice(Device):
    """Keeps the first launch of every kernel and runs the program until all were seen."""

    def __init__(
        self, program: RealProgram, kernels: Sequence[Kernel], source: Path,
        includes: tuple[Path, ...],
    ) -> None:  # fmt: skip
        super().__init__(kernels)
        self.recorded: dict[str, Recorded] = {}
        self._program = program
        self._source = source
        self._includes = includes
        self._constants: dict[str, NDArray[np.generic]] = {}
        self._wanted = {kernel.name for kernel in kernels}

    def constant(self, symbol: str, data: ArrayLike) -> None:
        """Set a ``__constant__`` symbol, and keep what it was set to."""
        self._constants[symbol] = np.array(data)
        super().constant(symbol, data)

    def launch(
        self, name: str, grid: Shape, block: Shape, *arguments: Given, shared: int = 0
    ) -> None:
        """Keep the launch as a case if it is the kernel's first, and run it."""
        if name not in self.recorded:
            self.recorded[name] = self._record(name, grid, block, arguments, shared)
        if self._wanted <= set(self.recorded):
            raise _AllSeenError
        super().launch(name, grid, block, *arguments, shared=shared)

    def _record(
        self, name: str, grid: Shape, block: Shape, arguments: Sequence[Given], shared: int
    ) -> Recorded:
        arrays = [id(a) for a in arguments if isinstance(a, DeviceArray)]
        if len(arrays) > len(set(arrays)):
            return Recorded(name, None, "one array is passed twice")
        given: list[object] = []
        for argument in arguments:
            if isinstance(argument, DeviceArray):
                given.append(np.ascontiguousarray(argument.view()).copy())
            elif isinstance(argument, np.generic):
                given.append(argument)
            elif isinstance(argument, int):
                given.append(np.int32(argument))
            elif isinstance(argument, float):
                given.append(np.float32(argument))
            else:
                what = "null pointer" if argument is None else type(argument).__name__
                return Recorded(name, None, f"an argument is a {what}")
        program = self._program
        try:
            case = make_case(
                name, self._source, given, grid=grid, block=block, shared_bytes=shared,
                constants=self._constants, defines=dict(program.defines),
                include_paths=self._includes, std=program.std, name=program.name,
            )  # fmt: skip
        except PlacewiseError as error:
            return Recorded(name, None, error.message)
        return Recorded(name, case)


@contextmanager
def recorded(program: RealProgram, suites: Path) -> Iterator[list[Recorded]]:
    """First launches of the program's kernels; their files live as long as the context.

    Raises PlacewiseError where the program does not compile.
    """
    with tempfile.TemporaryDirectory() as folder:
        for header in program.empty_headers:
            (Path(folder) / header).touch()
        source = suites / program.suite / program.file
        includes = (*(suites / f for f in program.includes), Path(folder))
        kernels = compile_program(program, suites, "sm_80")
        device = RecordingDevice(program, kernels, source, includes)
        missing = "the program does not launch it"
        try:
            program.drive(device)
        except _AllSeenError:
            pass
        except PlacewiseError as error:
            missing = error.message
        yield [
            device.recorded.get(kernel.name, Recorded(kernel.name, None, missing))
            for kernel in kernels
        ]
