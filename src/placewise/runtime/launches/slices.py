"""Backward slices of a kernel's PTX: the parameters that a register's value comes from.

Weiser, "Program slicing" (IEEE Transactions on Software Engineering, 1984), without control
dependence: callers also slice from branch conditions. All definitions of a register count, in
whatever order, so a slice may contain too much but never too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from placewise.kernel.ptx import (
    Address,
    Arguments,
    Function,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from placewise.kernel.ptx.module import Selected

_READS = frozenset({"ld", "ldu", "atom", "tex", "tld4", "suld", "ldmatrix"})
_WRITES = frozenset({"st", "atom", "red", "sust", "sured", "stmatrix", "cp", "multimem"})
_PRIVATE = frozenset({"shared", "local"})


@dataclass(frozen=True)
class Reached:
    """The sources of a value."""

    parameters: frozenset[str]
    """Names of parameters in the PTX."""
    reads: tuple[Instruction, ...]
    """Loads, and atomics that return a value; loads of parameters are not included."""


class Slices:
    """The definitions of a function's registers.

    ``arrays`` names the parameters that hold arrays' addresses.
    """

    def __init__(self, function: Function, arrays: frozenset[str]) -> None:
        self.instructions = tuple(i for i in function.body if isinstance(i, Instruction))
        self._parameters = frozenset(p.name for p in function.parameters)
        self._arrays = arrays
        self._definitions: dict[str, list[Instruction]] = {}
        for instruction in self.instructions:
            for register in _defined(instruction):
                self._definitions.setdefault(register, []).append(instruction)

    @property
    def calls(self) -> bool:
        """Whether the function calls others; values are not traced through calls."""
        return any(i.parts[0] == "call" for i in self.instructions)

    def reached(self, registers: Iterable[str], *, behind_reads: bool = True) -> Reached:
        """Parameters and reads that the registers' values come from through registers. With
        ``behind_reads`` also those that the addresses of these reads come from."""
        waiting, seen = list(registers), set[str]()
        parameters, reads = set[str](), dict[int, Instruction]()
        done = set[int]()
        while waiting:
            register = waiting.pop()
            if register in seen:
                continue
            seen.add(register)
            for instruction in self._definitions.get(register, ()):
                if id(instruction) in done:
                    continue
                done.add(id(instruction))
                named = self._named(instruction)
                parameters |= named
                if instruction.parts[0] in _READS and not named:
                    reads[id(instruction)] = instruction
                    if not behind_reads:
                        continue
                waiting += _used(instruction)
        return Reached(frozenset(parameters), tuple(reads.values()))

    def arrays_at(self, instruction: Instruction) -> frozenset[str]:
        """Parameters with addresses of arrays that a memory access's address comes from. A loaded
        number counts as an index; if it is a pointer instead, the result may be empty."""
        found = self.reached(_addresses(instruction), behind_reads=False)
        return found.parameters & self._arrays

    def writes(self) -> Iterator[Instruction]:
        """Instructions that write to memory."""
        return (i for i in self.instructions if i.parts[0] in _WRITES)

    def deciding(self) -> frozenset[str]:
        """Parameters on which some address, branch or predicate depends, directly or through memory
        that the kernel itself writes. The other parameters affect only values, never where or
        whether the kernel accesses memory."""
        roots = set[str]()
        for instruction in self.instructions:
            roots |= set(_addresses(instruction))
            if instruction.guard is not None:
                roots.add(instruction.guard.name)
            if instruction.parts[0] in ("brx", "bar", "barrier", "call"):
                roots |= set(_used(instruction))
        found = self.reached(roots)
        while more := self._stored_for(found.reads) - roots:
            roots |= more
            found = self.reached(roots)
        return found.parameters

    def _stored_for(self, reads: tuple[Instruction, ...]) -> set[str]:
        """Registers whose values the kernel stores where one of ``reads`` may read them."""
        stored = set[str]()
        for write in self.writes():
            if any(self._may_meet(read, write) for read in reads):
                stored |= set(_used(write))
        return stored

    def _may_meet(self, read: Instruction, write: Instruction) -> bool:
        if "nc" in read.parts or "const" in read.parts or read.parts[0] in ("tex", "tld4"):
            return False
        of_read, of_write = set(read.parts) & _PRIVATE, set(write.parts) & _PRIVATE
        if of_read and of_write:
            return bool(of_read & of_write)
        if ("global" in read.parts and of_write) or ("global" in write.parts and of_read):
            return False
        one, other = self.arrays_at(read), self.arrays_at(write)
        return not one or not other or bool(one & other)

    def _named(self, instruction: Instruction) -> set[str]:
        """Parameters that an instruction names."""
        found = set[str]()
        for operand in instruction.operands:
            base = operand.base if isinstance(operand, Address) else operand
            if isinstance(base, Symbol) and base.name in self._parameters:
                found.add(base.name)
        return found


def _registers(operand: Operand) -> Iterator[str]:
    """Names of the registers in an operand."""
    match operand:
        case Register(name=name):
            yield name
        case Negated(register=register) | Selected(register=register):
            yield register.name
        case Vector(elements=elements) | Arguments(elements=elements):
            for element in elements:
                yield from _registers(element)
        case Pair(first=first, second=second):
            yield from _registers(first)
            yield from _registers(second)
        case Address(base=base, coordinates=coordinates):
            if isinstance(base, Register):
                yield base.name
            for coordinate in coordinates:
                yield from _registers(coordinate)
        case _:
            return


def _defined(instruction: Instruction) -> Iterator[str]:
    """Registers that an instruction may write: those of its first operand, unless that is an
    address; for a call, all its registers."""
    if instruction.parts[0] == "call":
        for operand in instruction.operands:
            yield from _registers(operand)
    elif instruction.operands and not isinstance(instruction.operands[0], Address):
        yield from _registers(instruction.operands[0])


def _used(instruction: Instruction) -> list[str]:
    found = [name for operand in instruction.operands for name in _registers(operand)]
    return [*found, instruction.guard.name] if instruction.guard is not None else found


def _addresses(instruction: Instruction) -> Iterator[str]:
    for operand in instruction.operands:
        if isinstance(operand, Address):
            yield from _registers(operand)
