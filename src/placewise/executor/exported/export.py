"""The traces of a case as files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.cases import CaseLike, load_case
from placewise.errors import UnsupportedError
from placewise.executor.exported.accel_sim import write_accel_sim
from placewise.executor.exported.accesses import write_accesses
from placewise.executor.exported.warp_trace import BlockTrace, array_places, block_traces
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import for_machine
from placewise.machine import MachineLike, load_machine
from placewise.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class Exported:
    """What was traced."""

    case: Case
    arch: str
    blocks: int
    warp_instructions: int
    accesses: int
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise trace --json`` prints."""
        return {
            "schema": "placewise-trace",
            "schema_version": 1,
            "case": self.case.name,
            "kernel": self.case.kernel,
            "arch": self.arch,
            "blocks": self.blocks,
            "blocks_of_launch": self.case.launch.blocks,
            "warp_instructions": self.warp_instructions,
            "accesses": self.accesses,
            "files": [str(file) for file in self.files],
        }


class _Counted:
    """Traces that pass by, counted."""

    blocks = instructions = accesses = 0

    def of(self, traces: Iterator[BlockTrace]) -> Iterator[BlockTrace]:
        """``traces``, counted from the start."""
        self.blocks = self.instructions = self.accesses = 0
        for trace in traces:
            self.blocks += 1
            for warp in trace.warps:
                self.instructions += len(warp)
                self.accesses += sum(executed.touched is not None for executed in warp)
            yield trace


def export_traces(
    case: CaseLike,
    machine: MachineLike,
    *,
    accel_sim: Path | None = None,
    parquet: Path | None = None,
    blocks: int | None = None,
    nvrtc: str | None = None,
    progress: Progress = silent,
) -> Exported:
    """Trace the first ``blocks`` blocks of ``case`` (None: all), compiled for ``machine``.

    Writes the folder ``accel_sim``, the file ``parquet``, or both. Raises UnsupportedError for
    machines before compute capability 7.0 and for kernels whose blocks cannot be followed alone,
    and CaseError, CompileError and MachineError for bad input.
    """
    chosen, case = load_machine(machine), load_case(case)
    major, minor = chosen.limits.compute_capability
    if 10 * major + minor < OLDEST_DISASSEMBLED:
        raise UnsupportedError(
            "machine code is read for compute capability 7.0 and later",
            where=chosen.name,
            hint="give --machine A100, for example",
        )
    check_case(case, chosen.limits)
    case, _ = for_machine(case, chosen, nvrtc)
    kernel = compile_case(case)
    case = named_case(case)
    launch, inputs = case.launch, case.inputs
    counted = _Counted()
    files: tuple[Path, ...] = ()

    def traces() -> Iterator[BlockTrace]:
        return counted.of(block_traces(kernel, launch, inputs, blocks=blocks, progress=progress))

    if accel_sim is not None:
        places = [(at, size) for _, at, size in array_places(kernel, inputs)]
        files += write_accel_sim(accel_sim, kernel, launch, places, traces())
    if parquet is not None:
        write_accesses(parquet, kernel, traces())
        files += (parquet,)
    return Exported(
        case, kernel.arch, counted.blocks, counted.instructions, counted.accesses, files
    )
