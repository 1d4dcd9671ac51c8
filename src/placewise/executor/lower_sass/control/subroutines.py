"""Subroutines: where they start, who calls them, and where they return to.

A subroutine gets a copy of its own at each call, since lanes that parted before different calls
must not meet inside; a copy is named by the calls that lead to it. One that may call itself, or
that calls such a one, is lowered once. (Subroutines without cycles never are, however many calls
there are: where each of them may return to any of many places, LLVM takes longer than for copies.)
The register that a return goes by holds what the caller put into it: the compiler loads a literal
right before the call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from placewise.executor.passes import cfg
from placewise.kernel.binary.cubin import CubinKernel, Function
from placewise.kernel.binary.sass import (
    INSTRUCTION_BYTES,
    Immediate,
    Instruction,
    Name,
    Operand,
    Register,
)

Calls = tuple[int, ...]
"""Offsets of the call instructions that lead to a copy, outermost first. Those inside a subroutine
that is lowered once come behind the complement of its start."""

MAY_END = frozenset({"BRA", "BRX", "JMP", "CALL", "RET", "EXIT", "BPT", "KILL", "BAR", "JMX"})
"""Instructions after which a block starts."""


class Subroutines:
    """What is called in a kernel's section, and from where.

    ``pointers`` are the addresses of functions that pointers may hold, by their names in the PTX.
    """

    def __init__(
        self, facts: CubinKernel, code: tuple[Instruction, ...], pointers: Mapping[str, int]
    ) -> None:
        self.code = code
        self.functions = {f.name: f for f in facts.functions}
        self.starts = frozenset({0} | {f.offset for f in facts.functions})
        own = f"${facts.entry}$"
        self.pointed = tuple(
            (f.offset, pointers[name])
            for f in facts.functions
            if (name := f.name.removeprefix(own)) in pointers
        )
        """Start and address of each function that a pointer may hold."""
        self.recursive = False
        """Whether some subroutine may call itself."""
        self.shared = self._lowered_once()
        """Starts of the subroutines that are lowered once."""

    def start_of(self, callee: Operand) -> int | None:
        """Where a callee starts; None where it is none of this section."""
        if isinstance(callee, Name):
            found = self.functions.get(callee.text)
            return found.offset if found is not None else None
        if isinstance(callee, Immediate) and isinstance(callee.value, int):
            return callee.value
        return None

    def callees(self, i: Instruction) -> tuple[int, ...]:
        """Where the subroutines start that a call may reach; none for functions of the driver."""
        if "ABS" in i.parts:
            return ()
        if isinstance(i.operands[0], Register):
            return tuple(start for start, _ in self.pointed)
        start = self.start_of(i.operands[0])
        return (start,) if start is not None else ()

    def return_address(self, i: Instruction, registers: Collection[Operand]) -> int:
        """Where a call returns to: what was put last into one of the registers that its subroutine
        returns by."""
        after = i.offset + INSTRUCTION_BYTES
        for at in range(i.offset - INSTRUCTION_BYTES, -1, -INSTRUCTION_BYTES):
            earlier = self.code[at // INSTRUCTION_BYTES]
            if earlier.parts[0] in MAY_END:
                break
            if earlier.operands and earlier.operands[0] in registers:
                value = earlier.operands[-1]
                if isinstance(value, Immediate) and isinstance(value.value, int):
                    return value.value
                break
        return after

    def return_registers(self, start: int) -> set[Operand]:
        """Registers in which a subroutine is told where to return to."""
        function = next((f for f in self.functions.values() if f.offset == start), None)
        if function is None:
            return set()
        return {self.return_register(i) for i in self._body(function) if i.parts[0] == "RET"}

    def return_register(self, i: Instruction) -> Operand:
        """The register that the one of a return was copied from right before: until then that one
        may hold an argument."""
        found = i.operands[0]
        for earlier in reversed(self.code[: i.offset // INSTRUCTION_BYTES]):
            if earlier.parts[0] in MAY_END:
                break
            if earlier.operands and earlier.operands[0] == found:
                copied = earlier.operands[-1]
                if "MOV" not in earlier.parts or not isinstance(copied, Register):
                    break
                found = copied
        return found

    # --- which are lowered once

    def _body(self, function: Function) -> tuple[Instruction, ...]:
        first = function.offset // INSTRUCTION_BYTES
        return self.code[first : first + function.size // INSTRUCTION_BYTES]

    def _calls(self) -> Iterator[tuple[int, int]]:
        """(start of the subroutine, start of what it calls); 0 is the kernel itself."""
        owner = dict.fromkeys(range(len(self.code)), 0)
        for function in self.functions.values():
            first = function.offset // INSTRUCTION_BYTES
            owner.update(
                dict.fromkeys(range(first, first + len(self._body(function))), function.offset)
            )
        for n, i in enumerate(self.code):
            if i.parts[0] == "CALL":
                yield from ((owner[n], start) for start in self.callees(i) if start in self.starts)

    def _lowered_once(self) -> frozenset[int]:
        calls = list(self._calls())
        numbers = {start: n for n, start in enumerate(sorted(self.starts))}
        goes_to = {
            n: tuple(numbers[b] for a, b in calls if a == start) for start, n in numbers.items()
        }
        cycles = {
            n
            for component in cfg.components(set(goes_to), goes_to)
            for n in component
            if len(component) > 1 or n in goes_to[n]
        }
        once = {start for start, n in numbers.items() if n in cycles}
        self.recursive = bool(once)
        more = set(once)
        while more:
            # Of a caller there must be one, too, for the return to be to one place.
            more = {a for a, b in calls if b in once} - once - {0}
            once |= more
        return frozenset(once - {0})
