"""Facts from the machine code of a case's kernel: registers, occupancy, instructions, stall
counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from placewise.advisor.documents.machine_code import executions, machine_code_document
from placewise.cases import CaseLike, load_case
from placewise.dataframe import dataframe
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import execute
from placewise.executor.compare import OutputCheck, compare
from placewise.executor.result import InstructionCount
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED, MachineCode, machine_code
from placewise.kernel.binary.sass.control import is_confirmed
from placewise.kernel.binary.surviving_hints import HintFate, hint_fates
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import target_for
from placewise.kernel.toolchain import Target
from placewise.machine import Machine, MachineLike, load_machine, machine_names
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.short_repr import ShortRepr

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class CodeRun:
    """A run of the machine code on the case's inputs, compared with a run of the PTX."""

    warp_instructions: int
    thread_instructions: int
    ptx_warp_instructions: int
    counts: Mapping[int, InstructionCount]
    """Executions of each instruction, by its offset in bytes."""
    outputs: tuple[OutputCheck, ...]
    """Arrays that the kernel writes, compared with those of the PTX run."""


@dataclass(frozen=True, eq=False, repr=False)
class CodeReport(ShortRepr):
    """Machine code of a case's kernel for one target."""

    case: Case
    target: Target
    code: MachineCode
    machine: Machine | None
    """The machine whose limits give the occupancy."""
    occupancy: Occupancy | None
    """None where no machine of that compute capability is known."""
    run: CodeRun | None
    notes: tuple[str, ...]
    hints: tuple[HintFate, ...] = ()
    """What the compiler made of the cache hints of the kernel's loads."""

    def _in_short(self) -> str:
        code = self.code
        return f"{code.kernel.name} for {self.target.arch}: {len(code.text)} machine instructions"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise machine-code --json`` prints."""
        return machine_code_document(self)

    def to_dataframe(self) -> DataFrame:
        """One row per machine instruction. Needs pandas."""
        return dataframe(
            [
                {
                    "offset": i.offset,
                    "text": self.code.text[i.offset],
                    "file": None if i.place is None else i.place[0],
                    "line": None if i.place is None else i.place[1],
                    "executions": executions(self, i),
                }
                for i in self.code.instructions
            ]
        )


def inspect_machine_code(
    case: CaseLike,
    machine: MachineLike | None = None,
    *,
    arch: str | None = None,
    nvrtc: str | None = None,
    run: bool = False,
) -> CodeReport:
    """Compile ``case`` for ``machine``, or for ``arch``, and report the facts of its machine code.

    ``nvrtc`` replaces the case's own compiler.

    With ``run`` the machine code is executed, too, and its outputs are compared with those of the
    PTX. Raises CaseError where neither ``machine`` nor ``arch`` is given or the two do not fit,
    CompileError, and ExecutionError.
    """
    loaded = load_case(case)
    chosen = load_machine(machine) if machine is not None else None
    notes: list[str] = []
    nvrtc = nvrtc or loaded.options.nvrtc
    if arch is None:
        if chosen is None:
            raise CaseError(
                "say for which machine or architecture",
                where="machine-code",
                hint="--machine A4000 or --arch sm_86 (machine= or arch= in Python)",
            )
        arch, stand_in = target_for(chosen.limits.compute_capability, nvrtc)
        notes += [stand_in] if stand_in else []
    loaded = replace(loaded, options=replace(loaded.options, arch=arch, nvrtc=nvrtc))
    kernel = compile_case(loaded)
    code = machine_code(kernel)
    if chosen is None:
        chosen = _machine_of(code.facts.target)
        if chosen is not None:
            notes.append(f"occupancy with the limits of the {chosen.name}")
        else:
            notes.append(f"no machine of sm_{code.facts.target} is known: no occupancy")
    if code.listing is None:
        notes.append(f"instructions are listed for sm_{OLDEST_DISASSEMBLED} and later only")
    elif not is_confirmed(code.facts.target):
        notes.append(
            f"control information of sm_{code.facts.target} is read as that of sm_90: "
            "no publication confirms its fields"
        )
    ran, refusal = _run(named_case(loaded), code) if run else (None, None)
    notes += [refusal] if refusal else []
    return CodeReport(
        loaded,
        loaded.options.target,
        code,
        chosen,
        _occupancy(loaded, code, chosen) if chosen else None,
        ran,
        tuple(notes),
        hint_fates(kernel),
    )


def _machine_of(target: int) -> Machine | None:
    """The first bundled machine of a compute capability; the limits of an SM are the same for all
    of them."""
    for name in machine_names():
        machine = load_machine(name)
        major, minor = machine.limits.compute_capability
        if 10 * major + minor == target:
            return machine
    return None


def _occupancy(case: Case, code: MachineCode, machine: Machine) -> Occupancy:
    return occupancy(
        case.launch,
        machine,
        registers=code.facts.registers,
        shared_bytes=code.facts.static_shared_bytes + case.launch.shared_bytes,
        barriers=code.facts.barriers,
    )


def _run(case: Case, code: MachineCode) -> tuple[CodeRun | None, str | None]:
    """The run of the machine code, or a note on why there is none."""
    if code.listing is None:
        return None, "the machine code was not executed"
    try:
        own = execute(replace(code.kernel, machine_code=True), case.launch, case.inputs)
    except UnsupportedError as error:
        return None, f"the machine code was not executed: {error.as_reason}"
    ptx = execute(code.kernel, case.launch, case.inputs)
    written = own.written | ptx.written
    return (
        CodeRun(
            own.warp_instructions,
            own.thread_instructions,
            ptx.warp_instructions,
            {count.place: count for count in own.instruction_counts()},
            tuple(
                compare(name, ptx.output(name), array)
                for name, array in own.outputs
                if name in written
            ),
        ),
        None,
    )
