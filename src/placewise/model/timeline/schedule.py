"""Instructions as the timeline needs them: on which pipe they run, for how long, and what they wait
for.

Instructions of fixed latency have the compiler's stall counts. Each other instruction releases its
scoreboard a latency after it began; that is the latency of its pipe in the machine file, or of a
memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError, UnsupportedError
from placewise.kernel.binary.machine_code import listing_of
from placewise.kernel.binary.sass.classes import group, without_padding
from placewise.kernel.binary.sass.control import control
from placewise.kernel.binary.sass.instruction import Immediate, Instruction, Register
from placewise.kernel.kernel import Kernel
from placewise.machine.machine import Machine, Pipe
from placewise.machine.opcode_pipes import pipes_of, timing_of
from placewise.memory.occupancy import WARP_SIZE

FETCHED = 8
"""Instructions in a line of code: 128 bytes, at 16 bytes each."""
LOAD_STORE, TEXTURE = "lsu", "tex"
"""Pipes that all partitions of an SM share; the others belong to a partition each."""
READ_CYCLES = 10.0
"""Cycles from when a shared pipe takes an instruction until its operands have been read, where a
scoreboard protects them. Assumed; 4 in its place changes predictions by 1 %
(docs/explanation/models.md)."""
IDLE_PASSES = 1.0
"""Cycles that a shared pipe takes for an instruction whose predicate holds for no lane: it is
handed over as others are, without lanes to process. No document says so. Of 0, 1 and a full
turn (2 cycles with 16 lanes), 1 fits published reductions whose warps are mostly idle best
(``reduce 3`` and ``reduce 4`` of benchmarks/breadth)."""
ALL_BANKS_BYTES = 128.0
"""32 banks of four bytes."""
TAGS = 4
"""Lines whose tags L1 looks up in a cycle, where the machine file does not give their number."""
COPY, COMMIT_COPIES, AWAIT_COPIES = 1, 2, 3
"""Values of ``Row.copies``: an asynchronous copy to shared memory (``LDGSTS``), the end of a group
of them (``LDGDEPBAR``), and a wait until at most so many groups are unfinished as the value is
above ``AWAIT_COPIES`` (``DEPBAR``)."""
_SHARED_GROUPS = ("shared", "shared atomic", "warp exchange")
_ARRAY_GROUPS = ("global", "global atomic", "local")
_STORES = ("ST", "RED")


class Row(NamedTuple):
    """What the timeline must know of one instruction; times are in cycles of the SM."""

    pipe: int
    """Number of its pipe among the machine's pipes."""
    busy: float
    """Cycles that it occupies its partition's pipe."""
    server: int
    """1 for the load/store pipe and 2 for the texture pipe, which all partitions share, else 0."""
    passes: float
    """Cycles that it occupies a shared pipe."""
    latency: float
    """Cycles to its result, from the end of its service by a shared pipe, or from its issue where
    it uses none."""
    read: float
    """Cycles until its operands have been read, counted as those of ``latency``."""
    stall: float
    """Cycles until its warp can issue the next instruction (the compiler's stall count)."""
    write_barrier: int
    """Scoreboard that is released with its result; -1: none."""
    read_barrier: int
    """Scoreboard that is released when its operands have been read; -1: none."""
    waits: int
    """Scoreboards that it waits for, one bit each."""
    barrier: int
    """1 if it waits for the block's other warps, else 0."""
    l2_bytes: float
    """Bytes of one execution that miss the SM's caches and go to L2."""
    dram_bytes: float
    """Bytes of one execution that DRAM moves."""
    misses: float
    """Share of its executions that wait for L2."""
    far: float
    """Share of the misses that wait for DRAM."""
    line: int = 0
    """Number of the instruction cache line that it lies in."""
    farther: float = 0.0
    """Cycles that its misses take longer on the average because L2 holds some of the data in
    another partition than the SM's."""
    l1_passes: float = 0.0
    """Cycles in which the load/store unit waits for L1, which a texture fetch keeps busy."""
    copies: int = 0
    """What it does with asynchronous copies: :data:`COPY`, :data:`COMMIT_COPIES`, at least
    :data:`AWAIT_COPIES`; 0: nothing."""
    issue: float = 1.0
    """Cycles until its partition can issue another instruction, whichever warp's."""
    early: float = 0.0
    """1 if the executions that miss are the first ones on a warp's path, 0 if they are spread."""


COLUMNS = Row._fields


@dataclass(frozen=True, eq=False)
class Reach:
    """How one execution of a memory instruction uses each memory level."""

    passes: float
    """Cycles of shared memory, constant memory or L1's data array, for executions in which some
    lane accesses memory."""
    lines: float
    """Lines whose tags are looked up, for executions in which some lane accesses memory; 0 for
    shared memory."""
    l2_bytes: float = 0.0
    """Bytes that miss the SM's caches and go to L2."""
    dram_bytes: float = 0.0
    """Bytes that DRAM moves."""
    misses: float = 0.0
    """Share of executions that wait for L2."""
    far: float = 0.0
    """Share of the misses that wait for DRAM."""
    active: float = 1.0
    """Share of executions in which some lane accesses. The others, whose predicate holds for no
    lane, take an issue slot and :data:`IDLE_PASSES` of the shared pipe, and nothing else."""
    full: float | None = None
    """Turns of L1's data array that its words would take if every turn moved a word of each bank;
    None for shared memory, where every turn takes as long as a full one."""
    farther: float = 0.0
    """Cycles that a miss of L1 takes longer on the average because L2 holds some of the data in
    another partition than the SM's; of a load of constant memory, cycles that it takes longer on
    the average because constant caches miss."""
    stored: float = 0.0
    """Turns in which an asynchronous copy writes to shared memory what it has loaded."""
    early: bool = False
    """Whether the executions that miss are the first ones of each warp."""

    def data_cycles(self, full_turn: float) -> float:
        """Cycles of the data array, which needs ``full_turn`` for a turn that moves a word of each
        bank.

        Turns of few words take as long in shared memory, by counters of an RTX 2080 Ti. Through L1
        they do not: of a matrix and a vector with a thread to a row, where each of the 32 lanes has
        a turn of its own, the RTX 2060 takes the time of one cycle each, as do GPUs whose full turn
        is one cycle (benchmarks/breadth)."""
        stored = self.stored * full_turn
        if self.full is None:
            return self.passes * full_turn + stored
        return max(self.passes, self.full * full_turn) + stored


def partitions(machine: Machine) -> int:
    """Number of schedulers of an SM; raises MachineError where the machine file does not give
    it."""
    if machine.limits.schedulers_per_sm is None:
        raise MachineError(
            "the machine file does not give the number of schedulers of an SM",
            where=machine.name,
            hint="limits { schedulers_per_sm = 4; }",
        )
    return machine.limits.schedulers_per_sm


def instructions(kernel: Kernel) -> tuple[Instruction, ...]:
    """The kernel's machine code. Raises UnsupportedError where it cannot be listed."""
    assert kernel.cubin is not None
    return without_padding(listing_of(kernel.cubin, kernel.entry).instructions)


def table(
    code: tuple[Instruction, ...],
    machine: Machine,
    reach: Mapping[int, Reach],
    barriers: frozenset[int],
    executed: frozenset[int],
) -> NDArray[np.float64]:
    """(instructions, columns) of :class:`Row`, in the order of ``code``.

    ``reach`` is by offset, ``barriers`` and ``executed`` are offsets. Raises UnsupportedError,
    naming the instruction, where the machine file has no pipe for one that is executed.
    """
    rows = []
    known: dict[str, _Unit] = {}
    for i in code:
        unit = None
        if i.offset in executed:
            unit = known[i.opcode] = known.get(i.opcode) or _unit(i, machine)
        rows.append(_row(i, unit, machine, reach.get(i.offset), i.offset in barriers))
    found = np.array(rows, np.float64).reshape(len(rows), len(COLUMNS))
    found[:, COLUMNS.index("copies")] = copies(code)
    found[:, COLUMNS.index("line")] = np.arange(len(rows)) // FETCHED
    return found


def copies(code: Sequence[Instruction]) -> list[int]:
    """``Row.copies`` of each instruction. The compiler keeps one scoreboard for the ends of groups,
    and ``DEPBAR`` of that scoreboard waits for them; of another one it has other uses."""
    ends = {control(i.encoding).write_barrier for i in code if i.parts[0] == "LDGDEPBAR"}
    return [_copies(i, ends) for i in code]


def _copies(i: Instruction, ends: set[int | None]) -> int:
    match i.parts[0], i.operands:
        case "LDGSTS", _:
            return COPY
        case "LDGDEPBAR", _:
            return COMMIT_COPIES
        case "DEPBAR", (Register("SB", number), Immediate(int(left))) if number in ends:
            return AWAIT_COPIES + left
    return 0


def row_of(values: NDArray[np.float64]) -> Row:
    """A row of :func:`table` as a :class:`Row`."""
    row = Row(*values.tolist())
    whole = {name: int(getattr(row, name)) for name in ("pipe", "server", "line", "copies")}
    return row._replace(**whole)


def _pipe(i: Instruction, machine: Machine) -> Pipe:
    found = pipes_of(machine, i.opcode)
    if not found or found[0].lanes_per_cycle is None:
        place = f"{i.place[0]}:{i.place[1]}" if i.place else f"machine code at {i.offset:#06x}"
        raise UnsupportedError(
            f"no pipe of {machine.name} is known to run '{i.opcode}'",
            where=place,
            hint="add the opcode to a pipe of the machine file",
        )
    return found[0]


class _Unit(NamedTuple):
    """The pipe that runs an opcode."""

    number: int
    """Number of the pipe."""
    name: str
    width: float
    """Lanes that it takes in a cycle."""
    latency: float
    issue: float
    """Cycles until the partition can issue another instruction."""


def _unit(i: Instruction, machine: Machine) -> _Unit:
    pipe = _pipe(i, machine)
    timing = timing_of(machine, i.opcode)
    width = (timing and timing.lanes_per_cycle) or pipe.lanes_per_cycle or WARP_SIZE
    latency = (timing and timing.latency_cycles) or pipe.latency_cycles or 0.0
    issue = (timing and timing.issue_cycles) or 1.0
    return _Unit(machine.pipes.index(pipe), pipe.name, width, latency, issue)


def _row(
    i: Instruction, unit: _Unit | None, machine: Machine, reach: Reach | None, barrier: bool
) -> Row:
    c = control(i.encoding)
    waits = sum(1 << n for n in c.waits)
    write = -1 if c.write_barrier is None else c.write_barrier
    read = -1 if c.read_barrier is None else c.read_barrier
    if unit is None:
        return Row(0, 1, 0, 0, 0, 0, c.stall, write, read, waits, barrier, 0, 0, 0, 0)
    number, name, width, latency, issue = unit
    if name not in (LOAD_STORE, TEXTURE):
        # A load from constant memory takes a cycle for each different address of its lanes.
        turns = max(1.0, reach.passes) if reach else 1.0
        busy = WARP_SIZE / (width / partitions(machine)) * turns
        latency += busy * (1.0 - 1.0 / turns) + (reach.farther if reach else 0.0)
        return Row(
            number, busy, 0, 0, latency, latency, c.stall, write, read, waits, barrier, 0, 0, 0, 0,
            issue=issue,
        )  # fmt: skip
    server = 1 if name == LOAD_STORE else 2
    least = WARP_SIZE / width
    kind = group(i.opcode)
    reach = reach or Reach(least, 0.0)
    data = reach.data_cycles(_pass_cycles(machine))
    in_l1 = max(data, tag_cycles(reach.lines, machine))
    passes = max(least, in_l1)
    result = _latency(kind, machine) if i.parts[0][:2] not in _STORES else 0.0
    return Row(
        number, 1, server, passes * reach.active + IDLE_PASSES * (1.0 - reach.active),
        (result or latency) * reach.active,
        READ_CYCLES * reach.active, c.stall, write, read, waits,
        barrier, reach.l2_bytes, reach.dram_bytes, reach.misses, reach.far, farther=reach.farther,
        l1_passes=in_l1 * reach.active if name == TEXTURE else 0.0, issue=issue,
        early=reach.early,
    )  # fmt: skip


def tag_cycles(lines: float, machine: Machine) -> float:
    """Cycles of L1's tags for a load of ``lines`` lines: one for the first, and for each further
    line one over the number of lines that are looked up at a time.

    Measured with gpu-benches' gpu-strides on A100, A40 and H200, which look up several lines at a
    time: 1.00 for one line, 1.24 for 2, 1.89 for 4, 2.83 for 8, 4.67 for 16, 8.3 for 32.
    """
    if lines <= 1.0:
        return lines
    known = (m.detail.tags_per_cycle for m in machine.memories)
    at_once = next(filter(None, known), TAGS)
    return 1.0 + (lines - 1.0) / at_once


def _pass_cycles(machine: Machine) -> float:
    """Cycles in which the array of L1 and shared memory delivers one word of each bank; 1 where the
    machine file does not give its bytes per cycle."""
    nearest = machine.direct_space.levels[0]
    moved = next(m.detail.bytes_per_cycle for m in machine.memories if m.name == nearest)
    return max(1.0, ALL_BANKS_BYTES / moved) if moved else 1.0


def _latency(kind: str, machine: Machine) -> float:
    """Latency of a load that is served in the SM."""
    nearest = machine.direct_space.levels[0]
    for memory in machine.memories:
        if kind in _SHARED_GROUPS and memory.banks:
            return memory.latency_cycles
        if kind in _ARRAY_GROUPS and memory.name == nearest:
            return memory.latency_cycles
    return 0.0
