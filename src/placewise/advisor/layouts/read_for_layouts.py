"""The first step of advice on layouts: a case, compiled for a machine and read."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import ReadCase, read_case
from placewise.kernel.target import for_machine
from placewise.machine import Machine
from placewise.progress import Progress


def read_for_layouts(
    case: Case, machine: Machine, nvrtc: str | None, progress: Progress
) -> tuple[ReadCase, tuple[str, ...]]:
    """``case`` compiled for ``machine`` by the compiler ``nvrtc`` (None: the case's own) and read,
    with notes on what stands in for the machine's target.

    Raises UnsupportedError where the kernel is not CUDA C++; CaseError or CompileError where the
    launch does not fit the machine or the source is wrong.
    """
    if case.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {case.language}; layouts are read from CUDA C++", where=case.filename
        )
    check_case(case, machine.limits)
    case, stand_in = for_machine(case, machine, nvrtc)
    progress("compiling", 0, 0)
    read = read_case(case)
    check_case(read.case, machine.limits, read.kernel.static_shared_bytes)
    return read, (*machine.warnings, *([stand_in] if stand_in else []), *read.notes)
