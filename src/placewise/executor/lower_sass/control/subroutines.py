"""Finds subroutines in machine code: where they start, who calls them, and where they return to.

A subroutine is inlined at each call, so that lanes that diverged before different calls do not
reconverge inside it. A copy is named by the calls that lead to it. Recursive subroutines, and those
that call them, are lowered once instead. Others are always inlined, however many calls there are:
LLVM compiles copies faster than returns to many places. The compiler loads the return address, a
literal, into a register right before the call.
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
"""Name of a copy of a subroutine: code offsets of the calls that lead to it, outermost first. For a
subroutine that is lowered once, the complement of its start comes first instead."""

MAY_END = frozenset({"BRA", "BRX", "JMP", "CALL", "RET", "EXIT", "BPT", "KILL", "BAR", "JMX"})
"""Instructions that may end a basic block."""


class Subroutines:
    """The subroutines of a kernel's code section, and the calls among them.

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
        """(code offset, address) of each function that a pointer may hold."""
        self.recursive = False
        """Whether some subroutine is recursive."""
        self.shared = self._lowered_once()
        """Code offsets of the subroutines that are lowered once."""

    def start_of(self, callee: Operand) -> int | None:
        """Code offset of a callee; None if it is not in this section."""
        if isinstance(callee, Name):
            found = self.functions.get(callee.text)
            return found.offset if found is not None else None
        if isinstance(callee, Immediate) and isinstance(callee.value, int):
            return callee.value
        return None

    def callees(self, i: Instruction) -> tuple[int, ...]:
        """Code offsets of the subroutines that a call may reach; none for driver functions."""
        if "ABS" in i.parts:
            return ()
        if isinstance(i.operands[0], Register):
            return tuple(start for start, _ in self.pointed)
        start = self.start_of(i.operands[0])
        return (start,) if start is not None else ()

    def return_address(self, i: Instruction, registers: Collection[Operand]) -> int:
        """Code offset that a call returns to: the last literal loaded into one of ``registers``.

        ``registers`` are those by which the subroutine returns. Without such a load it is the
        instruction behind the call.
        """
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
        """Registers in which the caller passes a subroutine its return address."""
        function = next((f for f in self.functions.values() if f.offset == start), None)
        if function is None:
            return set()
        return {self.return_register(i) for i in self._body(function) if i.parts[0] == "RET"}

    def return_register(self, i: Instruction) -> Operand:
        """The register in which the caller passed the return address of a RET.

        If the RET's own register was copied from another one right before, it is that other one.
        """
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
        """(caller, callee) by code offset; 0 is the kernel itself."""
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
            # A caller must exist only once too, so that the return goes to one place.
            more = {a for a, b in calls if b in once} - once - {0}
            once |= more
        return frozenset(once - {0})
