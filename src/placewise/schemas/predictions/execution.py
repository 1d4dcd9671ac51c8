"""Documents of `placewise run` and `placewise machine-code`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import CaseLaunch, CaseNames, Extent, HintFate, Output, document


class ArrayAfter(TypedDict):
    """An array argument after the run."""

    name: str
    """Name of the array."""
    dtype: str
    """Type of its elements, as NumPy names it."""
    shape: list[int]
    """Elements along each dimension."""
    written: bool
    """The kernel stored to it."""
    least: float | int | str | None
    """Smallest number; `"inf"` or `"-inf"` as text; null where elements have no order."""
    most: float | int | str | None
    """Largest number, like `least`."""
    nans: int
    """Elements that are not a number."""
    sha256: str
    """SHA-256 of its bytes in C order."""


class LineCount(TypedDict):
    """What one source line did in the whole launch."""

    file: str
    """Source file."""
    line: int
    """Line number."""
    warp_instructions: int
    """Instructions that warps executed."""
    thread_instructions: int
    """Instructions that threads executed."""
    accesses: dict[str, int]
    """Warp accesses by kind, such as `load global`."""


class Printed(TypedDict):
    """What the kernel printed with `printf`."""

    text: str
    """The text."""
    dropped: int
    """Calls whose text did not fit the buffer."""


class Place(TypedDict):
    """A line of source."""

    file: str
    """Source file."""
    line: int | None
    """Line number; null where the compiler gave none."""
    instruction: str
    """Opcode, as in the PTX."""
    ptx_line: int
    """Line of the PTX."""


class Thread(TypedDict):
    """A thread of the launch."""

    block: Extent
    """Block of the thread."""
    thread: Extent
    """Place of the thread in the block."""


class Finding(TypedDict):
    """One mistake of a kernel: its first occurrence, and how often it occurred."""

    kind: str
    """Kind of mistake, such as `out-of-bounds` or `shared-race`."""
    severity: Literal["error", "warning", "note"]
    """How certain it is that this is a mistake."""
    message: str
    """The mistake in a sentence."""
    place: Place
    """Where it occurred."""
    thread: Thread | None
    """The thread that made the mistake."""
    other_place: Place | None
    """Place of a race's earlier access, or of the other barrier."""
    other_thread: Thread | None
    """The thread of `other_place`."""
    array: str | None
    """Array, shared variable, or space of memory."""
    index: list[int] | None
    """Element of the array, a number for each dimension."""
    byte_offset: int | None
    """Byte of the array."""
    count: int
    """Occurrences: accesses of single lanes."""
    hint: str
    """How to mend it."""
    kernel: str
    """Kernel that it occurred in."""
    launch: int
    """First launch that it occurred in, from 0."""
    launches: int
    """Launches that it occurred in."""


class Check(TypedDict):
    """What `--check` found."""

    clean: bool
    """There are no errors and no warnings."""
    findings: list[Finding]
    """The mistakes."""
    not_checked: list[str]
    """What was not checked, in sentences."""


@document
class RunDocument(TypedDict):
    """A run on the CPU: `placewise run --json`."""

    schema: Literal["placewise-run"]
    schema_version: Literal[1]
    case: CaseLaunch
    """The launch."""
    arch: str
    """Target that the kernel was compiled for."""
    compile_seconds: float
    """Time of the compilation."""
    seconds: float
    """Time of the run."""
    warp_instructions: int
    """Instructions that warps executed."""
    thread_instructions: int
    """Instructions that threads executed."""
    arrays: list[ArrayAfter]
    """Array arguments after the run."""
    lines: list[LineCount]
    """What each source line did."""
    printed: Printed
    """What the kernel printed."""
    check: Check | None
    """Null without `--check`."""
    notes: list[str]
    """Remarks, in sentences."""


class Target(TypedDict):
    """What the kernel was compiled for."""

    arch: str
    """Target, such as `sm_80`."""
    nvrtc: str
    """The compiler and its version."""


class Spills(TypedDict):
    """Local memory traffic of spilled registers, as the assembler reports it."""

    store_bytes: int
    """Bytes stored."""
    load_bytes: int
    """Bytes loaded."""


class CodeOccupancy(TypedDict):
    """Resident blocks of an SM of a machine."""

    machine: str
    """Name of the machine."""
    blocks_per_sm: int
    """Resident blocks."""
    warps_per_sm: int
    """Resident warps."""
    max_warps_per_sm: int
    """The most warps that an SM can hold."""
    bound_by: list[str]
    """What allows no more blocks."""
    blocks_allowed: dict[str, int]
    """Blocks that threads, registers and shared memory each would allow."""


class GroupCount(TypedDict):
    """Instructions of one group of opcodes."""

    static: int
    """Instructions in the code."""
    executed: int | None
    """Warp instructions executed; null without `--run`."""


class CodeRun(TypedDict):
    """A run of the machine code beside one of the PTX."""

    warp_instructions: int
    """Machine instructions that warps executed."""
    thread_instructions: int
    """Machine instructions that threads executed."""
    ptx_warp_instructions: int
    """PTX instructions that warps executed."""
    outputs: list[Output]
    """Outputs of the machine code compared with those of the PTX."""


class InstructionControl(TypedDict):
    """Control information of an instruction."""

    stall: int
    """Cycles from its issue to the warp's next instruction."""
    yields: bool
    """Whether the scheduler may let another warp go first (the yield hint)."""
    write_barrier: int | None
    """Scoreboard that is released when the result is there."""
    read_barrier: int | None
    """Scoreboard that is released when the operands have been read."""
    waits: list[int]
    """Scoreboards that it waits for."""
    reuse: list[int]
    """Source operands whose register is kept for the next instruction."""


class LiveRegisters(TypedDict):
    """Registers in use at an instruction."""

    general: int
    """General registers."""
    predicate: int
    """Predicate registers."""
    uniform: int
    """Uniform registers."""


class MachineInstruction(TypedDict):
    """One instruction of the listing."""

    offset: int
    """Byte in the code."""
    text: str
    """The instruction as the disassembler prints it."""
    group: str
    """Group of its opcode."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line."""
    control: InstructionControl
    """Stall count and scoreboards."""
    live_registers: LiveRegisters | None
    """Registers in use; null where the disassembler does not say."""
    executions: int | None
    """Warps that executed it; null without `--run`."""


@document
class MachineCodeDocument(TypedDict):
    """Machine code of a kernel: `placewise machine-code --json`."""

    schema: Literal["placewise-machine-code"]
    schema_version: Literal[1]
    case: CaseNames
    """The kernel."""
    target: Target
    """What it was compiled for."""
    registers: int
    """Registers of a thread."""
    live_registers: int | None
    """The most registers that are in use at once."""
    static_shared_bytes: int
    """Static shared memory of a block."""
    dynamic_shared_bytes: int
    """Dynamic shared memory of a block."""
    local_bytes: int
    """Local memory of a thread."""
    spills: Spills | None
    """Spilled registers; null where the assembler does not say."""
    barriers: int
    """Barriers that a block uses."""
    code_bytes: int
    """Size of the code."""
    occupancy: CodeOccupancy | None
    """Null where no machine was named."""
    mix: dict[str, GroupCount]
    """Instructions by group of opcodes."""
    run: CodeRun | None
    """Null without `--run`."""
    instructions: list[MachineInstruction]
    """The listing."""
    hints: list[HintFate]
    """What the compiler made of the cache hints of the kernel's loads."""
    notes: list[str]
    """Remarks, in sentences."""
