"""The list of programs that are run: where their kernels are and what drives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check

SUITES = {
    "cuda-samples": "https://github.com/NVIDIA/cuda-samples",
    "rodinia": "https://github.com/yuhc/gpu-rodinia",
    "shoc": "https://github.com/vetter/shoc",
}
"""Folders in the folder of suites, and what is to be checked out there."""

Drive = Callable[[Device], Sequence[Check]]


@dataclass(frozen=True)
class RealProgram:
    """Kernels of one source file that one host loop launches."""

    name: str
    suite: str
    file: str
    """Path within the suite."""
    kernels: tuple[str, ...]
    """As launched; a template's instance with its arguments."""
    computes: str
    drive: Drive
    std: str = "c++17"
    includes: tuple[str, ...] = ()
    """Include folders within the folder of suites."""
    defines: tuple[tuple[str, str], ...] = ()
    empty_headers: tuple[str, ...] = ()
    """Headers that the suite's own set-up writes, of which the kernels need nothing."""
    unsteady: tuple[str, ...] = ()
    """Arrays whose content depends on the machine, such as clocks."""


PROGRAMS: list[RealProgram] = []


def real_program(
    suite: str,
    file: str,
    *kernels: str,
    computes: str,
    std: str = "c++17",
    includes: tuple[str, ...] = (),
    defines: tuple[tuple[str, str], ...] = (),
    empty_headers: tuple[str, ...] = (),
    unsteady: tuple[str, ...] = (),
) -> Callable[[Drive], Drive]:
    """Enter a driver into the list; its name is the function's."""

    def enter(drive: Drive) -> Drive:
        PROGRAMS.append(
            RealProgram(
                drive.__name__,
                suite,
                file,
                kernels,
                computes,
                drive,
                std,
                includes,
                defines,
                empty_headers,
                unsteady,
            )
        )
        return drive

    return enter
