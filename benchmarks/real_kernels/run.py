"""One program run by one engine: outcomes, counts, or the reason why it did not run."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check
from benchmarks.real_kernels.registry import RealProgram
from benchmarks.real_kernels.touched import Touched
from placewise.errors import PlacewiseError
from placewise.kernel.case import CompileOptions


@dataclass(frozen=True, eq=False)
class Run:
    """What one engine made of a program."""

    checks: tuple[Check, ...]
    refused: str
    """Why it did not run; empty where it did."""
    memory: dict[str, NDArray[np.generic]]
    """Every array of the device after the last launch."""
    touched: Touched | None
    warp_instructions: int
    thread_instructions: int
    launches: int
    seconds: float
    """In launches."""
    wall: float
    """With compilation and the reference."""

    @property
    def agrees(self) -> bool:
        return not self.refused and all(check.worst <= 1 for check in self.checks)


def run(program: RealProgram, suites: Path, arch: str = "sm_80", traced: bool = False) -> Run:
    """Drive ``program``; what the engine refuses or finds wrong is part of the result."""
    source = suites / program.suite / program.file
    start = time.perf_counter()
    checks: tuple[Check, ...] = ()
    refused = ""
    device = None
    with tempfile.TemporaryDirectory() as folder:
        for header in program.empty_headers:
            (Path(folder) / header).touch()
        includes = (*(suites / f for f in program.includes), Path(folder))
        options = CompileOptions(arch, program.defines, includes, program.std)
        try:
            device = Device(source, program.kernels, options, Touched() if traced else None)
            checks = tuple(program.drive(device))
        except PlacewiseError as error:
            refused = str(error).replace(str(suites) + "/", "").splitlines()[0]
    wall = time.perf_counter() - start
    if device is None:
        return Run((), refused, {}, None, 0, 0, 0, 0.0, wall)
    return Run(
        checks,
        refused,
        {name: array.download() for name, array in device.arrays.items()},
        device.touched,
        device.warp_instructions,
        device.thread_instructions,
        device.launches,
        device.seconds,
        wall,
    )
