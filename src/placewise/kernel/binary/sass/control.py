"""Control information: how the compiler schedules each instruction.

Since Volta the hardware does not check registers before it issues; the compiler says in bits 105
to 125 of every instruction how long the warp has to wait, and through six scoreboards per warp
which results of variable latency must have arrived. The fields are those that Jia et al. 2018
("Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", section 2.1) found; Huerta
et al. 2025 (arXiv 2503.20481, section 4) confirm them up to Ampere. For compute capability 7.0 to
12.0 the tests check that compiled code keeps to their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_FIRST_BIT = 105
_NONE = 7
SCOREBOARDS = 6
REUSE_SLOTS = 4
_CONFIRMED = (70, 90)
"""Targets for which publications confirm the fields; later ones are laid out in the same way."""


@dataclass(frozen=True)
class Control:
    """Control information of one instruction."""

    stall: int
    """Cycles from this instruction's issue to the warp's next."""
    yields: bool
    """Hint that another warp may go first; ends the reuse of operands."""
    write_barrier: int | None
    """Scoreboard that is released when the result is there."""
    read_barrier: int | None
    """Scoreboard that is released when the operands have been read."""
    waits: tuple[int, ...]
    """Scoreboards that must be released before this instruction issues."""
    reuse: tuple[int, ...]
    """Source operand slots whose register is kept at hand for the next instruction."""

    def __str__(self) -> str:
        """Five columns: waits, read barrier, write barrier, yield, stall."""
        waits = "".join(str(n) if n in self.waits else "-" for n in range(SCOREBOARDS))
        read = "-" if self.read_barrier is None else str(self.read_barrier)
        write = "-" if self.write_barrier is None else str(self.write_barrier)
        return f"B{waits} R{read} W{write} {'Y' if self.yields else '-'} S{self.stall:02}"


def control(encoding: int) -> Control:
    """Control information of a 128-bit instruction of compute capability 7.0 or later."""
    return _of_bits(encoding >> _FIRST_BIT)


@cache
def _of_bits(bits: int) -> Control:
    """Decode the control bits. Results are kept, since a kernel of thousands of instructions has a
    few dozen different ones."""
    return Control(
        stall=bits & 0xF,
        yields=not bits >> 4 & 1,
        write_barrier=_scoreboard(bits >> 5 & 7),
        read_barrier=_scoreboard(bits >> 8 & 7),
        waits=_set_bits(bits >> 11, SCOREBOARDS),
        reuse=_set_bits(bits >> 17, REUSE_SLOTS),
    )


def is_confirmed(target: int) -> bool:
    """Whether publications confirm the fields for compute capability ``target`` / 10."""
    return _CONFIRMED[0] <= target <= _CONFIRMED[1]


def _scoreboard(field: int) -> int | None:
    return None if field == _NONE else field


def _set_bits(field: int, count: int) -> tuple[int, ...]:
    return tuple(n for n in range(count) if field >> n & 1)
