"""One program run by one engine: outcomes, counts, or the reason why it did not run."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check
from benchmarks.real_kernels.registry import RealProgram
from benchmarks.real_kernels.touched import Touched, differences
from placewise.errors import PlacewiseError
from placewise.executor.compare import compare
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.kernel import Kernel


@dataclass(frozen=True, eq=False)
class Run:
    """What one engine made of a program."""

    checks: tuple[Check, ...]
    refused: str
    """Why it did not run to its end; empty where it did."""
    memory: dict[str, NDArray[Any]]
    """Every array of the device after the last launch."""
    touched: Touched | None
    warp_instructions: int
    thread_instructions: int
    launches: int
    seconds: float
    """In launches."""

    @property
    def agrees(self) -> bool:
        """Whether all results are as near to the reference as they have to be."""
        return not self.refused and all(check.worst <= 1 for check in self.checks)


def compile_program(program: RealProgram, suites: Path, arch: str) -> tuple[Kernel, ...]:
    """The program's kernels in one module; raises CompileError or CaseError."""
    source = suites / program.suite / program.file
    text = source.read_text(encoding="utf-8", errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        for header in program.empty_headers:
            (Path(folder) / header).touch()
        includes = (*(suites / f for f in program.includes), Path(folder))
        options = CompileOptions(arch, program.defines, includes, program.std)
        return compile_module(text, str(source), program.kernels, options)


def run(
    program: RealProgram,
    kernels: Sequence[Kernel],
    *,
    machine_code: bool = False,
    traced: bool = False,
) -> Run:
    """Drive ``program``; what the engine refuses or finds wrong is part of the result."""
    chosen = [replace(kernel, machine_code=machine_code) for kernel in kernels]
    device = Device(chosen, Touched() if traced else None)
    checks: tuple[Check, ...] = ()
    refused = ""
    try:
        checks = tuple(program.drive(device))
    except PlacewiseError as error:
        refused = str(error).splitlines()[0]
    except RuntimeError as error:
        # A mistake of Placewise's own; the table says so, and the other programs still run.
        refused = f"internal error: {' '.join(str(error).split())}"
    return Run(
        checks,
        refused,
        {name: _content(array.view()) for name, array in device.arrays.items()},
        device.touched,
        device.warp_instructions,
        device.thread_instructions,
        device.launches,
        device.seconds,
    )


def _content(array: NDArray[Any]) -> NDArray[Any]:
    """A copy to compare: real and imaginary parts apart, structures as bytes with their padding."""
    if array.dtype.kind == "c":
        return array.view(array.real.dtype).copy()
    return array.view(np.uint8).copy() if array.dtype.names else array.copy()


@dataclass(frozen=True)
class Agreement:
    """How the machine code's run compares with the PTX's."""

    agrees: bool
    said: str
    """In a few words, such as ``same bits`` or the instruction that prevents it."""


def agreement(program: RealProgram, ptx: Run, sass: Run) -> Agreement:
    """Outputs and touched bytes of two runs.

    Agreement is: the same bytes read and written equally often, in all arrays, and outputs that
    are the same bits, or are floats within the reference's tolerance like the PTX's (ptxas may
    still contract products and sums that the PTX keeps apart).
    """
    if sass.refused:
        return Agreement(False, sass.refused)
    assert ptx.touched is not None
    assert sass.touched is not None
    outputs, said = _outputs(program, ptx, sass)
    accesses = differences(ptx.touched, sass.touched)
    if accesses:
        return Agreement(False, f"other accesses ({said}): {'; '.join(accesses)}")
    return Agreement(outputs, said)


def _outputs(program: RealProgram, ptx: Run, sass: Run) -> tuple[bool, str]:
    unlike = []
    worst = 0.0
    for name, expected in ptx.memory.items():
        found = sass.memory[name]
        if name in program.unsteady or compare(name, expected, found).identical:
            continue
        unlike.append(name)
        if expected.dtype.kind == "f":
            step = np.finfo(expected.dtype).eps * max(float(abs(expected).max()), 1e-300)
            worst = max(worst, float(abs(expected - found).max()) / float(step))
        else:
            worst = float("inf")
    if not unlike:
        return True, "same bits"
    if not sass.agrees or not np.isfinite(worst):
        return False, f"other results in {', '.join(unlike)}"
    return True, f"within {worst:.2g} eps of the largest value in {', '.join(unlike)}"
