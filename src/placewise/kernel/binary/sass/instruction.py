"""What a machine-code listing consists of, as far as executing it needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

INSTRUCTION_BYTES = 16
"""Bytes of one instruction since compute capability 7.0."""


class Register(NamedTuple):
    """``R4``, ``UR6``, ``P0``, ``UP1``, ``B2``, ``SB0`` with what the operand does to its value."""

    file: str
    """R, UR, P, UP, B or SB."""
    number: int | None
    """None for RZ and URZ (zero) and for PT and UPT (true)."""
    negated: bool = False
    inverted: bool = False
    """``~R`` of bits, ``!P`` of predicates."""
    absolute: bool = False
    suffixes: tuple[str, ...] = ()
    """``H0_H0``, ``64``, ``X4`` and the like; the hint ``reuse`` is left out."""


class Immediate(NamedTuple):
    """A literal. ``value`` is an int, or a float where it is printed as one."""

    value: int | float
    negated: bool = False
    inverted: bool = False
    absolute: bool = False


class Constant(NamedTuple):
    """``c[bank][base + offset]``"""

    bank: int
    base: Register | None
    offset: int
    negated: bool = False
    inverted: bool = False
    absolute: bool = False
    suffixes: tuple[str, ...] = ()


class Memory(NamedTuple):
    """``[base + uniform + offset]``, with the descriptor before it where it has one."""

    base: Register | None
    uniform: Register | None
    offset: int
    descriptor: Register | None = None
    suffixes: tuple[str, ...] = ()


class Name(NamedTuple):
    """Anything else that is named: ``SR_TID.X``, ``PR``, ``SRZ``, a function."""

    text: str
    inverted: bool = False


Operand = Register | Immediate | Constant | Memory | Name


_SIGNED = (Register, Immediate, Constant)
_COMPLEMENTED = (*_SIGNED, Name)


def is_negated(operand: Operand) -> bool:
    """Whether the operand has a minus sign."""
    return isinstance(operand, _SIGNED) and operand.negated


def is_inverted(operand: Operand) -> bool:
    """Whether the operand is complemented."""
    return isinstance(operand, _COMPLEMENTED) and operand.inverted


def unsigned(operand: Operand) -> Operand:
    """The operand without sign and complement."""
    if isinstance(operand, Register):
        return operand._replace(negated=False, inverted=False)
    if isinstance(operand, Immediate):
        return operand._replace(negated=False, inverted=False)
    if isinstance(operand, Constant):
        return operand._replace(negated=False, inverted=False)
    return operand


class Instruction(NamedTuple):
    """One instruction; ``opcode`` is the full dotted text, ``parts`` the same split at the dots."""

    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    """Predicate under which it has an effect, ``inverted`` for ``@!P0``."""
    offset: int
    """Bytes from the start of the section."""
    encoding: int
    """The instruction's 128 bits."""
    place: tuple[str, int] | None
    """(source file, line), calls inlined by the compiler traced back to their call."""

    @property
    def word(self) -> int:
        """Bits 32 to 63: the 32-bit literal of instructions that have one."""
        return self.encoding >> 32 & 0xFFFFFFFF


@dataclass(frozen=True)
class Listing:
    """The instructions of a kernel's section, subroutines included, by offset."""

    entry: str
    instructions: tuple[Instruction, ...]
