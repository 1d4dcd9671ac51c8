"""Run a case as it is: outputs, counts by source line, and what the checker finds."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from placewise.cases import load_case
from placewise.dataframe import dataframe
from placewise.executor.check import Checker
from placewise.executor.device_memory.fill import constant_notes
from placewise.executor.one_launch import execute
from placewise.executor.result import Execution
from placewise.executor.run_document import run_document
from placewise.executor.runtime.run import CHECKED_LIMIT, DEFAULT_LIMIT
from placewise.executor.translate import parsed
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Instruction, Module
from placewise.kernel.target import target_for
from placewise.machine import Machine, load_machine
from placewise.notebook import ShownInNotebooks
from placewise.progress import Progress, silent

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ArraySummary:
    """An array argument after the run."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    written: bool
    """The kernel stored to it."""
    least: float | int | None
    """Smallest number that is no NaN; None where there is none, or no order (structs, complex)."""
    most: float | int | None
    nans: int
    sha256: str
    """SHA-256 of the bytes in C order."""


@dataclass(frozen=True)
class LineCount:
    """What one source line did, whole launch."""

    file: str
    line: int
    warp_instructions: int
    thread_instructions: int
    accesses: tuple[tuple[str, int], ...]
    """(kind and space, warp accesses), such as ("load global", 1024)."""


@dataclass(frozen=True, eq=False, repr=False)
class CaseRun(ShownInNotebooks):
    """A case that was run."""

    case: Case
    kernel: Kernel
    execution: Execution
    arrays: tuple[ArraySummary, ...]
    lines: tuple[LineCount, ...]
    """In the order of the source."""
    checker: Checker | None
    compile_seconds: float
    notes: tuple[str, ...]

    def output(self, array: str) -> NDArray[np.generic]:
        """An array argument after the run; raises CaseError, with the names, for an unknown
        one."""
        return self.execution.output(array)

    def _in_short(self) -> str:
        written = ", ".join(sorted(self.execution.written)) or "nothing"
        checked = "not checked"
        if self.checker is not None:
            found = len(self.checker.findings)
            checked = "checked, no mistakes" if not found else f"checked, {found} findings"
        return f"{self.kernel.name}: wrote {written}; {checked}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types, the contents of arrays excepted."""
        return run_document(self)

    def to_dataframe(self) -> DataFrame:
        """A row for each source line: ``file``, ``line``, ``warp_instructions``,
        ``thread_instructions``, and warp accesses of each kind, such as ``load global``."""
        rows = [
            {
                "file": line.file,
                "line": line.line,
                "warp_instructions": line.warp_instructions,
                "thread_instructions": line.thread_instructions,
                **dict(line.accesses),
            }
            for line in self.lines
        ]
        return dataframe(rows)


def run_case(
    name: str | Path | Case,
    *,
    machine: Machine | str | Path | None = None,
    arch: str | None = None,
    nvrtc: str | None = None,
    checker: Checker | None = None,
    threads: int | None = None,
    instruction_limit: int | None = None,
    progress: Progress = silent,
) -> CaseRun:
    """Compile and run a case: a bundled one by name, a case file, or a :class:`Case`.

    It is compiled for ``arch`` (such as sm_86), else for the machine, else as the case says, by
    version ``nvrtc`` of the compiler, else the case's own. With a ``checker`` the kernel's mistakes
    are collected there; without one the first is raised.

    Raises CaseError, CompileError, UnsupportedError, MachineError and ExecutionError.
    """
    case = load_case(name)
    notes: list[str] = []
    if nvrtc is not None:
        case = replace(case, options=replace(case.options, nvrtc=nvrtc))
    if machine is not None and arch is None:
        known = load_machine(machine)
        arch, stand_in = target_for(known.limits.compute_capability, case.options.nvrtc)
        notes += [stand_in] if stand_in else []
    if arch is not None:
        case = replace(case, options=replace(case.options, arch=arch))
    progress("compiling", 0, 0)
    start = time.perf_counter()
    kernel = compile_case(case)
    compile_seconds = time.perf_counter() - start
    case = named_case(case)
    notes += constant_notes(kernel, case.inputs)
    what = "running" if checker is None else "running and checking"
    progress(what, 0, 0)
    execution = execute(
        kernel,
        case.launch,
        case.inputs,
        instruction_limit=instruction_limit or (CHECKED_LIMIT if checker else DEFAULT_LIMIT),
        progress=lambda done, total: progress(what, done, total),
        threads=threads,
        check=checker,
    )
    return CaseRun(
        case=case,
        kernel=kernel,
        execution=execution,
        arrays=tuple(
            summary(array, data, written=array in execution.written)
            for array, data in execution.outputs
        ),
        lines=line_counts(execution, parsed(kernel)),
        checker=checker,
        compile_seconds=compile_seconds,
        notes=tuple(notes),
    )


def summary(name: str, data: NDArray[Any], *, written: bool) -> ArraySummary:
    """Describe an array."""
    least = most = None
    nans = 0
    if data.dtype.kind in "fiub" and data.size:
        numbers = data
        if data.dtype.kind == "f":
            missing = np.isnan(data)
            nans = int(missing.sum())
            numbers = data[~missing]
        if numbers.size:
            least, most = numbers.min().item(), numbers.max().item()
    digest = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    return ArraySummary(name, str(data.dtype), data.shape, written, least, most, nans, digest)


def line_counts(execution: Execution, module: Module) -> tuple[LineCount, ...]:
    """Instructions and accesses by source line; nothing for code without lines."""
    places = {
        item.line: item.place
        for function in module.functions.values()
        for item in function.body
        if isinstance(item, Instruction) and item.place is not None
    }
    executed: dict[tuple[str, int], tuple[int, int]] = {}
    for count in execution.instruction_counts():
        place = places.get(count.place)
        if place is not None and count.warps:
            key = (module.files.get(place[0], ""), place[1])
            warps, threads = executed.get(key, (0, 0))
            executed[key] = (warps + count.warps, threads + count.threads)
    accesses: dict[tuple[str, int], dict[str, int]] = {}
    for site, executions in zip(execution.sites, execution.site_executions.tolist(), strict=True):
        if site.source_line is not None and executions:
            key = (site.source_file or "", site.source_line)
            kinds = accesses.setdefault(key, {})
            what = f"{site.kind} {site.space}"
            kinds[what] = kinds.get(what, 0) + executions
    return tuple(
        LineCount(
            file,
            line,
            *executed.get((file, line), (0, 0)),
            tuple(sorted(accesses.get((file, line), {}).items())),
        )
        for file, line in sorted({*executed, *accesses})
    )
